"""Test that a server is recognized whose elements have the byte order of another machine."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from spec_tests.diagnosis.byte_order import swap_bytes

from ..support.pytest_process import suite
from ..support.servers import EXAMPLES

RIGHT = (EXAMPLES / "python" / "server.py").read_text()
READS = 'x["data"] = array.array(LETTERS[x["dtype"]], data[start:end])'
WRITES = 'parts.append(x["data"].tobytes())'
CHANGES = {
    "reads": (READS, f'{READS}; x["data"].byteswap()'),
    "writes": (WRITES, 'x["data"].byteswap(); ' + WRITES),
}
SENTENCES = {
    "reads": "it reads the elements of arguments in big-endian order",
    "writes": "it writes the elements of its results in big-endian order",
    "reads writes": "it reads and writes elements in big-endian order",
}


@pytest.mark.rotating
@pytest.mark.parametrize("what", ["", *SENTENCES])
def test_a_big_endian_server_is_recognized(what: str, tmp_path: Path) -> None:
    """In relu, whose right answer for other numbers is known. One that is wrong otherwise is not said to be big-endian."""
    source = RIGHT if what else RIGHT.replace("0.0 if v < 0 else v", "-v if v < 0 else v")
    for word in what.split():
        old, new = CHANGES[word]
        assert old in source
        source = source.replace(old, new)
    (tmp_path / "server.py").write_text(source)
    (tmp_path / "server.json").write_text(json.dumps({"command": [sys.executable, "server.py"]}))
    run = suite(tmp_path, "--backend=server.json", "--effort=smoke", "-k", "relu")
    assert run.code == 1
    assert [sentence for sentence in SENTENCES.values() if sentence in run.text] == ([SENTENCES[what]] if what else [])


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_bytes_are_swapped(dtype: str) -> None:
    x = np.asarray([1.0, -2.5, 0.0, 3.25], dtype)
    assert np.array_equal(swap_bytes(x.astype(np.float64), dtype), x.byteswap().astype(np.float64))
    assert np.array_equal(swap_bytes(swap_bytes(x, dtype), dtype), x)


def test_bytes_of_bfloat16_are_swapped() -> None:
    one_and_half, two = 0x3FC0, 0x4000
    swapped = swap_bytes(np.array([1.5, 2.0]), "bfloat16").astype(np.float32).view(np.uint32) >> 16
    assert swapped.tolist() == [0xC03F, 0x0040]
    assert [(code >> 8 | code << 8) & 0xFFFF for code in swapped.tolist()] == [one_and_half, two]
