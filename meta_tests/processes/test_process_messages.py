"""Test the messages of the process protocol: the published bytes, the page that explains them, and the suite's reader of them."""

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from spec_tests.processes import message as wire

from ..support.paths import DOCS

PROTOCOL = DOCS / "protocol"
INDEX = json.loads((PROTOCOL / "messages.json").read_text())
RIGHT = [entry for entry in INDEX["answers"] if "malformed" not in entry]
ITEM_BYTES = {"F64": 8, "I64": 8, "F32": 4, "I32": 4, "F16": 2, "BF16": 2, "U32": 4, "BOOL": 1, "I8": 1, "U8": 1}
MALFORMED = [entry for entry in INDEX["answers"] if "malformed" in entry]


def load_script(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read(data: bytes) -> wire.Answer:
    """Read an answer as the suite does: its length, its header, its arrays."""
    if len(data) < 8:
        raise wire.MalformedMessage("it ends in the length of its header")
    size = wire.read_length(data[:8])
    if len(data) < 8 + size:
        raise wire.MalformedMessage("it ends in its header")
    header = wire.read_header(data[8 : 8 + size])
    if len(data) < 8 + size + header.data_bytes:
        raise wire.MalformedMessage("it ends in its arrays")
    return wire.read_answer(header, data[8 + size :][: header.data_bytes])


def test_the_published_messages_are_those_that_the_script_writes(tmp_path: Path) -> None:
    script: Any = load_script(PROTOCOL / "make_messages.py")
    script.FOLDER = tmp_path / "messages"
    script.write()
    assert (tmp_path / "messages.json").read_text() == (PROTOCOL / "messages.json").read_text()
    written = {path.name: path.read_bytes() for path in (tmp_path / "messages").iterdir()}
    assert written == {path.name: path.read_bytes() for path in (PROTOCOL / "messages").iterdir()}


def test_the_page_shows_the_published_bytes() -> None:
    blocks = re.findall(r"<!-- message: (\S+) -->\n```text\n(.*?)```", (DOCS / "protocol.md").read_text(), re.DOTALL)
    assert len(blocks) == 2
    for file, dump in blocks:
        digits = "".join(line[8:58] for line in dump.splitlines())
        assert bytes.fromhex(digits) == (PROTOCOL / "messages" / file).read_bytes()


def test_the_schema_is_one_and_describes_the_page_s_example() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((PROTOCOL / "describe.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    (example,) = re.findall(r"```json\n(.*?)```", (DOCS / "protocol.md").read_text(), re.DOTALL)
    described = [json.loads(example), *(entry["describe"] for entry in RIGHT if "describe" in entry)]
    for description in described:
        jsonschema.validate(description, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**described[0], "dtypes": ["float8"]}, schema)


@pytest.mark.parametrize("entry", RIGHT, ids=lambda entry: entry["file"])
def test_a_right_answer_is_read(entry: dict[str, Any]) -> None:
    answer = read((PROTOCOL / "messages" / entry["file"]).read_bytes())
    if "arrays" in entry:
        assert answer.kind == "arrays"
        assert answer.arrays.keys() == entry["arrays"].keys()
        for name, (dtype, shape, elements) in entry["arrays"].items():
            found = answer.arrays[name]
            expected = np.array(elements, dtype=float)
            if dtype == "BF16":
                expected = (np.array(elements, np.uint32) << 16).view(np.float32).astype(float)
            assert (found.dtype, found.values.shape) == (wire.DTYPES[dtype], tuple(shape))
            assert np.array_equal(found.values.astype(float).ravel(), expected)
            assert np.array_equal(np.signbit(found.values.astype(float).ravel()), np.signbit(expected))
    else:
        assert answer.kind in entry
        expected = entry[answer.kind]
        assert (expected if isinstance(expected, str) else json.loads(answer.text)) == (
            answer.text if isinstance(expected, str) else expected
        )
        assert answer.lost == entry.get("lost", False)


@pytest.mark.parametrize("entry", MALFORMED, ids=lambda entry: entry["file"])
def test_a_malformed_answer_is_refused(entry: dict[str, Any]) -> None:
    with pytest.raises(wire.MalformedMessage):
        read((PROTOCOL / "messages" / entry["file"]).read_bytes())


@pytest.mark.parametrize("entry", [e for e in INDEX["requests"] if "answer" in e], ids=lambda entry: entry["file"])
def test_the_suite_writes_what_the_page_promises(entry: dict[str, Any]) -> None:
    """Written again by the suite, a published request has the same content, is padded, and its arrays are aligned."""
    data = (PROTOCOL / "messages" / entry["file"]).read_bytes()
    header = wire.read_header(data[8 : 8 + wire.read_length(data[:8])])
    arrays = wire.unpack(header, data[8 + wire.read_length(data[:8]) :])
    again = wire.pack(header.metadata, arrays)
    size = wire.read_length(again[:8])
    entries = json.loads(again[8 : 8 + size])
    assert size % 8 == 0
    assert again[8 : 8 + size].isascii()
    assert b"\\" not in again[8 : 8 + size]
    for name, entry in entries.items():
        if name != "__metadata__":
            assert entry["data_offsets"][0] % ITEM_BYTES[entry["dtype"]] == 0
    header = wire.read_header(again[8 : 8 + size])
    found = wire.unpack(header, again[8 + size :])
    assert found.keys() == arrays.keys()
    assert all(found[name].dtype == x.dtype and np.array_equal(found[name].values, x.values) for name, x in arrays.items())


def test_keywords_are_plain_texts() -> None:
    texts = {"null": None, "-1": -1, "1e-05": 1e-5, "true": True, "interleaved": "interleaved", "0.5": np.float64(0.5)}
    assert {wire.format_keyword(value): value for value in texts.values()} == texts


def test_the_library_reads_what_the_suite_writes_and_the_suite_what_the_library_writes() -> None:
    library = pytest.importorskip("safetensors.numpy")
    dtypes = [dtype for dtype in wire.CODES if dtype != "bfloat16"]
    arrays = {f"{dtype}.{size}": np.arange(size, dtype=np.int64).astype(dtype) for dtype in dtypes for size in (0, 1, 3)}
    metadata = {"request": "call", "eps": "1e-05"}
    ours = wire.pack(metadata, {name: wire.ProcessArray(name.partition(".")[0], x) for name, x in arrays.items()})
    theirs = library.save(arrays, metadata)
    found = library.load(ours)
    assert all(found[name].dtype == x.dtype and np.array_equal(found[name], x) for name, x in arrays.items())
    size = wire.read_length(theirs[:8])
    header = wire.read_header(theirs[8 : 8 + size])
    assert header.metadata == metadata
    read_back = wire.unpack(header, theirs[8 + size :])
    assert all(
        read_back[name].values.dtype == x.dtype and np.array_equal(read_back[name].values, x) for name, x in arrays.items()
    )
