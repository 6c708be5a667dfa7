"""The benchmarks run, judge rightly what is right and what is wrong, and the figures quoted from them are their own."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from ..support.paths import ROOT

pytest.importorskip("tabulate")

from benchmarks import __main__ as every_part
from benchmarks import (
    against_rivals,
    cpu_time,
    import_cost,
    profile_of_a_run,
    rivals,
    scaling,
    stack_sampler,
    survivors,
    time_to_detection,
    time_to_verdict,
)
from benchmarks.equivalence import difference
from benchmarks.mutation import mutations
from benchmarks.wrong_implementations import Subject, by_machine, by_name, clean

COMMITTED = cpu_time.TABLES


@pytest.fixture(scope="module")
def listed() -> list[Subject]:
    return by_machine()


@pytest.fixture(scope="module")
def mutants(listed: list[Subject]) -> dict[str, Subject]:
    return {one.id: one for one in listed}


def named(name: str) -> Subject:
    return next(one for one in by_name() if one.id == name)


def like(mutants: dict[str, Subject], start: str, end: str) -> Subject:
    (found,) = (one for name, one in mutants.items() if name.startswith(start) and name.endswith(end))
    return found


# --- mutants ----------------------------------------------------------------------------------------------------------


def test_a_mutation_is_one_small_change(tmp_path: Path) -> None:
    file = tmp_path / "small.py"
    file.write_text(
        'def f(x: int, y=3):\n    """Text."""\n    if x < 0:\n        raise ValueError("no")\n    return -1 * g(x, axis=y)\n'
    )
    changed = {f"{one.before} → {one.after}" for one in mutations(file, "small.py")}
    assert {"-1 * g(x, axis=y) → -1 / g(x, axis=y)", "-1 → 0", "-1 → -2", "g(x, axis=y) → g(x)", "g(x, axis=y) → x"} <= changed
    assert not any("Text" in one or "no" in one or "x < 0" in one or "3" in one for one in changed)


def test_every_mutant_has_a_name_of_its_own(listed: list[Subject]) -> None:
    assert len({one.id for one in listed}) == len(listed) > 2000
    assert {one.origin for one in listed} == {"equation", "backend"}


def test_a_mutant_of_a_helper_is_one_of_the_operations_that_use_it(mutants: dict[str, Subject]) -> None:
    helper = next(one for name, one in mutants.items() if name.startswith("backends/_numpy_functions.py") and "frexp" in name)
    assert {"rms_norm", "layer_norm", "transformer_block"} <= set(helper.operations)
    assert "softmax" not in helper.operations


def test_what_changes_nothing_is_told_from_what_does(mutants: dict[str, Subject]) -> None:
    assert difference(like(mutants, "reference_numpy/relu.py", "→ np.maximum(0.0, float64(x))")) is None
    wrong = difference(like(mutants, "reference_numpy/relu.py", "→ np.minimum(float64(x), 0.0)"))
    assert wrong is not None
    assert wrong.share > 0.1


# --- rivals -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["cs336", "kernelbench", "kernelbench_former"])
@pytest.mark.parametrize("origin", ["equation", "backend"])
def test_correct_code_passes_others_tests(name: str, origin: str) -> None:
    judging, right = rivals.rival(name).judging(), clean(origin)
    assert [operation for operation in judging.calls if not judging.passes(right, operation)] == []


def test_others_tests_judge_as_they_do() -> None:
    """The slip in eps is far below a hundredth; a gain that is one cannot be missed."""
    strict, loose = (rivals.rival(name).judging() for name in ("cs336", "kernelbench_former"))
    eps, gate = named("rms_norm/eps-outside-sqrt").backend(), named("swiglu/gate-and-signal-exchanged").backend()
    assert loose.passes(eps, "rms_norm")
    assert not strict.passes(gate, "swiglu")
    assert not loose.passes(gate, "swiglu")


def test_a_rival_that_is_not_installed_is_left_out_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx.helper", None)
    with pytest.raises(rivals.Absent, match=r"need the onnx package: pip install"):
        rivals.rival("onnx_nodes").judging()


def test_every_rival_says_who_it_is() -> None:
    for name in rivals.names():
        assert isinstance(rivals.rival(name).TITLE, str)
        assert isinstance(rivals.rival(name).START, str)


def test_a_bug_is_judged_by_all_that_call_the_operation() -> None:
    outcome = against_rivals.deviation_results(named("rms_norm/eps-outside-sqrt"), ("cs336", "kernelbench"))
    assert set(outcome.seen) == {"default", "smoke", "cs336", "kernelbench"}
    assert outcome.seen["default"][0]
    assert outcome.by.startswith("rms_norm.")


# --- what a run costs -------------------------------------------------------------------------------------------------


def test_the_cost_of_a_command_is_that_of_its_children_too() -> None:
    work = "sum(i * i for i in range(2_000_000))"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', '{work}'], check=True)"
    alone, beside = cpu_time.measured("-c", work), cpu_time.measured("-c", parent)
    assert beside.cpu > 0.7 * alone.cpu
    assert alone.peak > 1


def test_time_goes_to_who_spends_it() -> None:
    assert stack_sampler._part_of(str(ROOT / "backends" / "torch_cpu.py"), "softmax") == "backend"
    assert stack_sampler._part_of(str(ROOT / "spec_tests" / "calls" / "call.py"), "value") == "oracle"
    assert stack_sampler._part_of(str(ROOT / "spec_tests" / "bounds" / "rules.py"), "_add") == "bound"
    assert stack_sampler._part_of(str(ROOT / "spec_tests" / "operations" / "rope.py"), "arguments") == "data"
    assert stack_sampler._part_of(str(ROOT / "spec_tests" / "test_rope.py"), "test_scale") == "invariants"
    assert stack_sampler._part_of(str(ROOT / "reference_numpy" / "rope.py"), "rope") == ""
    assert stack_sampler._part_of("/site-packages/_pytest/python.py", "run") == "pytest"


def test_the_sampler_names_files_and_functions_that_exist() -> None:
    assert all((ROOT / "spec_tests" / folder).is_dir() for folder in stack_sampler.FOLDERS)
    files = {*stack_sampler.FILES, *stack_sampler.DECIDED_BY_CALLER, *(file for file, _ in stack_sampler.FUNCTIONS)}
    assert all((ROOT / "spec_tests" / f"{name}.py").is_file() for name in files)
    for file, function in stack_sampler.FUNCTIONS:
        assert f"def {function}(" in (ROOT / "spec_tests" / f"{file}.py").read_text()
    named = {*stack_sampler.FOLDERS.values(), *stack_sampler.FILES.values(), *stack_sampler.FUNCTIONS.values()}
    assert named <= {*stack_sampler.PARTS}


@pytest.mark.parametrize(
    ("part", "options"),
    [
        (import_cost, ["--times", "1"]),
        (time_to_detection, []),
        (survivors, ["reference_numpy/relu.py", "--workers", "1"]),
        (scaling, ["--calls", "1", "--largest", "64"]),
        (profile_of_a_run, ["--backend", "numpy-cpu", "--effort", "smoke", "-k", "relu.reference"]),
        (time_to_verdict, ["--backend", "numpy-cpu", "--effort", "smoke", "--workers", "0", "-k", "relu.reference"]),
    ],
    ids=lambda value: value.__name__.partition(".")[2] if hasattr(value, "main") else "",
)
def test_each_part_prints_a_table_and_writes_it(part: object, options: list[str], tmp_path: Path, capsys: object) -> None:
    part.main([*options, "--write", str(tmp_path)])  # type: ignore[attr-defined]
    (text,), (data,) = tmp_path.glob("*.txt"), tmp_path.glob("*.json")
    assert text.read_text() in capsys.readouterr().out  # type: ignore[attr-defined]
    assert json.loads(data.read_text())


def test_a_part_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        every_part.main(["speed"])
    assert "there is no part speed; there are import_cost, time_to_detection" in capsys.readouterr().err


# --- the committed figures --------------------------------------------------------------------------------------------


def test_the_table_of_the_comparison_is_that_of_its_data() -> None:
    standings, outcomes = against_rivals.read(COMMITTED / "against_rivals.json")
    text = f"{against_rivals.report(standings, outcomes)}\n{against_rivals.headline(standings, outcomes)}\n"
    assert (COMMITTED / "against_rivals.txt").read_text() == text


def test_the_readme_quotes_the_comparison() -> None:
    quoted = " ".join((ROOT / "README.md").read_text().split())
    assert against_rivals.headline(*against_rivals.read(COMMITTED / "against_rivals.json")) in quoted


def test_the_page_shows_every_table() -> None:
    page = (ROOT / "docs" / "benchmarks.md").read_text()
    for part in every_part.PARTS:
        assert f"benchmarks/{part}.txt" in page
        assert (COMMITTED / f"{part}.txt").exists()


def test_a_seed_of_a_rival_is_fixed() -> None:
    one, other = ([case.arguments for case in rivals.rival("cs336").cases()] for _ in range(2))
    assert all(np.array_equal(x, y) for x, y in zip(one[0], other[0], strict=True))
