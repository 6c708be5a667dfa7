"""Test the files of vectors: what they hold, that they catch what they say, and that checkers in other languages read them."""

import itertools
import json
import random
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spec_tests.commands import main
from spec_tests.deviations import OracleBackend, find
from spec_tests.specification.registry import specification
from spec_tests.vectors.cover import choose

from ..support.in_process import invariants
from ..support.paths import MEASURED, ROOT

pytest.importorskip("safetensors")
CHECKERS = ROOT / "examples" / "vectors"
LAWS = {test.invariant.id_for(name) for test in invariants() for name in ("softmax", "rms_norm")}
NUMPY = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "BOOL": "?"}


# --- the choice -------------------------------------------------------------------------------------------------------


def fewest(caught: dict[str, set[int]], count: int) -> int:
    """Return how many candidates are needed at least to catch all that can be caught, found by trying all."""
    targets = [numbers for numbers in caught.values() if numbers]
    for size in range(count + 1):
        if any(all(numbers & set(chosen) for numbers in targets) for chosen in itertools.combinations(range(count), size)):
            return size
    raise AssertionError


@pytest.mark.parametrize("seed", range(40))
def test_the_choice_catches_all_that_can_be_caught_with_few(seed: int) -> None:
    chance = random.Random(seed)
    count = chance.randint(1, 8)
    caught = {f"d{i}": {n for n in range(count) if chance.random() < 0.3} for i in range(chance.randint(0, 12))}
    chosen = choose(caught, [chance.randint(1, 9) for _ in range(count)])
    assert all(numbers & set(chosen) for numbers in caught.values() if numbers)
    assert len(chosen) == len(set(chosen))
    assert len(chosen) <= (1 + np.log(max(len(caught), 1))) * fewest(caught, count)


def test_of_two_that_catch_alike_the_smaller_is_chosen() -> None:
    assert choose({"a": {0, 1}, "b": {0, 1}}, [7, 3]) == [1]


# --- the files --------------------------------------------------------------------------------------------------------


def read(path: Path) -> tuple[dict[str, str], dict[str, Any]]:
    """Read a file without the suite: its metadata, and its arrays with bfloat16 as float32."""
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    metadata, arrays = header.pop("__metadata__"), {}
    for name, entry in header.items():
        part = data[8 + size + entry["data_offsets"][0] : 8 + size + entry["data_offsets"][1]]
        if entry["dtype"] == "BF16":
            values = (np.frombuffer(part, "<u2").astype(np.uint32) << 16).view(np.float32)
        else:
            values = np.frombuffer(part, NUMPY[entry["dtype"]])
        arrays[name] = values.reshape(entry["shape"])
    return metadata, arrays


def list_vectors(path: Path) -> list[tuple[dict[str, str], dict[str, Any]]]:
    """Return what the file says of each vector, and its arrays, by names without the vector's number."""
    metadata, arrays = read(path)

    def cut(entries: dict[str, Any], number: int) -> dict[str, Any]:
        return {name.partition(".")[2]: x for name, x in entries.items() if name.split(".")[0] == str(number)}

    return [(cut(metadata, number), cut(arrays, number)) for number in range(int(metadata["count"]))]


def passes(backend: Any, operation: str, about: dict[str, str], arrays: dict[str, Any]) -> bool:
    """Check a function on one vector, as a stranger's program would: nothing but the file and the function is used."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtype = ml_dtypes.bfloat16 if about["dtype"] == "bfloat16" else about["dtype"]
    given = {k: x for k, x in arrays.items() if k not in ("value", "low", "high")}
    given = {k: x.astype(dtype) if x.dtype.kind == "f" else x.copy() for k, x in given.items()}
    positional = [given.pop(name) for name in specification(operation).positional if name in given]
    keywords = {k.removeprefix("keywords."): json.loads(v) for k, v in about.items() if k.startswith("keywords.")}
    with np.errstate(all="ignore"):
        try:
            y = np.asarray(getattr(backend, operation)(*positional, **given, **keywords))
        except Exception:
            return False
    low, high = (arrays[name].astype(float) for name in ("low", "high"))
    if y.shape != low.shape or y.dtype != np.dtype(dtype):
        return False
    y = y.astype(float)
    return bool(np.all(((low <= y) & (y <= high)) | (np.isneginf(low) & np.isposinf(high))))


@pytest.fixture(scope="module", params=["softmax", pytest.param("rms_norm", marks=pytest.mark.nightly)])
def operation(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def folder(operation: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("vectors")
    assert main(["vectors", f"--export={path}", "--count=4", operation]) == 0
    return path


@pytest.mark.rotating
def test_a_file_catches_what_it_says_and_nothing_right(operation: str, folder: Path) -> None:
    right = OracleBackend()
    vectors = list_vectors(folder / f"{operation}.safetensors")
    (record,) = json.loads((folder / "vectors.json").read_text())["operations"]
    assert record["operation"] == operation
    assert record["vectors"] == len(vectors) == record["chosen"] + 4
    assert all(passes(right, operation, about, arrays) for about, arrays in vectors)
    caught: set[str] = set()
    for about, arrays in vectors:
        assert arrays["value"].dtype == np.float64
        assert np.all(arrays["low"].astype(float) <= arrays["high"].astype(float))
        assert about["law"] in LAWS, "a law of this operation, or of another that calls it"
        assert about["class"] in ("fused", "mixed", "eager")
        for name in about["catches"].split():
            assert find(name)
            assert not passes(OracleBackend(find(name)), operation, about, arrays), (name, about)  # whose state is fresh
            caught.add(name)
    assert len(caught) == record["caught"]
    assert caught.isdisjoint(record["missed"])
    assert len(caught) + len(record["missed"]) == record["deviations"]


def test_every_wrong_equation_that_shows_is_caught(folder: Path) -> None:
    """What vectors miss is memory, state, layouts, and what only levels ask of NaN: no equation, and no arithmetic."""
    for record in json.loads((folder / "vectors.json").read_text())["operations"]:
        kinds = record["caught of each kind"]
        for kind in {"equation", "convention", "arithmetic"} & kinds.keys():
            caught, count = kinds[kind]
            assert caught >= count - 1, (record["operation"], kind)


@pytest.mark.rotating
def test_gradients_several_results_and_nested_weights_have_names(tmp_path: Path) -> None:
    names = ["linear_vjp", "attention_with_lse", "transformer_block"]
    assert main(["vectors", f"--export={tmp_path}", "--count=1", "--dtype=float32", *names]) == 0
    found = {name: set(list_vectors(tmp_path / f"{name}.safetensors")[0][1]) for name in names}
    assert any(x.startswith("low.") for x in found["linear_vjp"]) or "low.x" in found["linear_vjp"]
    assert {"low.out", "low.lse"} & found["attention_with_lse"] or len(
        [x for x in found["attention_with_lse"] if x[:4] == "low."]
    ) == 2
    assert {"weights.w_q", "weights.ffn_norm", "x", "low"} <= found["transformer_block"]


def test_what_cannot_be_exported_is_refused_in_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    for words, sentence in (
        (["softmaxx"], "there is no operation 'softmaxx'. Did you mean softmax"),
        (["--dtype=float8"], "there is no dtype 'float8'"),
        (["--effort=none"], "there is no effort 'none'"),
    ):
        with pytest.raises(SystemExit) as end:
            main(["vectors", f"--export={tmp_path}", *words])
        assert end.value.code == 4
        assert sentence in capsys.readouterr().err
    with pytest.raises(SystemExit) as end:
        main(["vectors", f"--export={tmp_path / 'file'}", "relu"])
    assert end.value.code == 4


# --- checkers in other languages ----------------------------------------------------------------------------------------

# the checker's file, the programs that it needs, what makes its softmax wrong, and the name of that bug
LANGUAGES = {
    "check.py": ((), ("return [v / sum(e) for v in e]", "return e"), "softmax/not-normalized"),
    "check.js": (("node",), ("Math.exp(v - largest)", "Math.exp(v)"), "softmax/no-maximum-subtracted"),
    "check.c": (("cc",), ("expf(x[j] - largest)", "expf(x[j])"), "softmax/no-maximum-subtracted"),
}


@pytest.fixture(scope="module")
def in_float32(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("float32")
    assert main(["vectors", f"--export={path}", "--dtype=float32", "softmax"]) == 0
    return path / "softmax.safetensors"


@pytest.mark.rotating
@pytest.mark.parametrize("name", LANGUAGES)
def test_a_checker_passes_the_right_function_and_names_the_wrong_one(name: str, in_float32: Path, tmp_path: Path) -> None:
    tools, (right, wrong), deviation = LANGUAGES[name]
    if missing := [tool for tool in tools if shutil.which(tool) is None]:
        pytest.skip(f"{missing[0]} is not installed")
    text = (CHECKERS / name).read_text()
    assert len(text.splitlines()) < 60
    assert right in text
    for source, code in ((text, 0), (text.replace(right, wrong), 1)):
        path = tmp_path / name
        path.write_text(source)
        if name == "check.c":
            subprocess.run(["cc", "-O2", str(path), "-o", str(tmp_path / "check"), "-lm"], check=True, timeout=120)
        start = {"check.py": [sys.executable, str(path)], "check.js": ["node", str(path)], "check.c": [str(tmp_path / "check")]}[
            name
        ]
        done = subprocess.run([*start, str(in_float32)], capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stderr) == (code, ""), done.stdout
        assert (deviation in done.stdout) == (code == 1)


def test_the_published_shares_are_those_of_the_data() -> None:
    records = json.loads((MEASURED / "vectors.json").read_text())["operations"]
    text = (MEASURED / "vectors.txt").read_text()
    caught, count = (sum(record[key] for record in records) for key in ("caught", "deviations"))
    assert f"{caught} of {count} deviations ({caught / count:.0%})" in text
