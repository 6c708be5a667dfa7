"""Definitions and solutions of flashinfer-bench and SOL-ExecBench: results returned or written, and other languages."""

import shutil
from importlib import import_module
from pathlib import Path

import pytest

from ..support.paths import ROOT
from ..support.pytest_process import environment, suite
from .importing import IMPORTED, find_passed, flatten, try_import

pytest.importorskip("torch")

RIGHT = {
    "rms_norm/right.json": ("rms_norm", "eps = 1e-05; results are written into its last arguments"),
    "rms_norm/definition.json": ("rms_norm", "eps = 1e-05; results are returned"),
    "linear": ("linear", "x is A and the weight is B"),
    "paged_attention/definition.json": ("paged_attention", "one new token a row"),
}
WRONG = {"rms_norm/wrong.json": ("rms_norm", "bfloat16"), "paged_attention/wrong.json": ("paged_attention", "float32")}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_solution_conforms(tmp_path: Path, name: str) -> None:
    operation, words = RIGHT[name]
    run = try_import(tmp_path, f"flashinfer_bench/{name}", operation)
    assert run.code == 0, run.text
    assert find_passed(run) == {operation}
    assert words in flatten(run.text)


@pytest.mark.parametrize("more", [(), ("--isolate",)])
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_solution_fails(tmp_path: Path, name: str, more: tuple[str, ...]) -> None:
    operation, dtype = WRONG[name]
    run = try_import(tmp_path, f"flashinfer_bench/{name}", operation, more=more)
    assert run.code == 1, run.text
    assert [fact["dtype"] for fact in run.facts if fact["status"] == "failed"] == [dtype]


@pytest.mark.parametrize(("name", "code"), [("right", 0), ("wrong", 1)])
def test_triton_solutions_run_in_the_interpreter(tmp_path: Path, name: str, code: int) -> None:
    pytest.importorskip("triton")
    solution = IMPORTED / "flashinfer_bench" / "rms_norm_triton" / f"{name}.json"
    options = (f"--backend={solution}", "--effort=smoke", "--hypothesis-seed=1", "-k", "rms_norm.reference")
    run = suite(tmp_path, *options, env=environment(ROOT, TRITON_INTERPRET="1"))
    assert run.code == code, run.text
    assert ("epsilon stands outside the square root" in flatten(run.text)) == (name == "wrong")
    if not import_module("torch").cuda.is_available():
        refused = suite(tmp_path, *options, env=environment(ROOT, TRITON_INTERPRET="0"))
        assert refused.code == 4
        assert "is written in Triton, which finds no GPU here; with TRITON_INTERPRET=1" in flatten(refused.text)


REFUSED = {
    "rms_norm/compiled.json": "rmsnorm-cuda is written in cuda, which has to be compiled; Python and Triton solutions run",
    "rms_norm": "the folder has 3 solutions (compiled.json, right.json, wrong.json); name one of them",
    "unknown/definition.json": "it defines cumsum (x -> y), which is not taken: no operation has these arrays; write",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_run_is_refused_in_a_sentence(tmp_path: Path, name: str) -> None:
    run = suite(tmp_path, f"--backend={IMPORTED / 'flashinfer_bench' / name}")
    assert run.code == 4
    assert REFUSED[name] in flatten(run.text)
    assert "Traceback" not in run.text


def test_a_definition_is_found_in_a_data_set(tmp_path: Path) -> None:
    files = IMPORTED / "flashinfer_bench" / "rms_norm"
    solution = tmp_path / "data/solutions/me/rmsnorm/rmsnorm_h64/right.json"
    definition = tmp_path / "data/definitions/rmsnorm/rmsnorm_h64.json"
    for source, target in (("right.json", solution), ("definition.json", definition)):
        target.parent.mkdir(parents=True)
        shutil.copy(files / source, target)
    run = suite(tmp_path, f"--backend={solution}", "--effort=smoke", "-k", "rms_norm.reference")
    assert run.code == 0, run.text
