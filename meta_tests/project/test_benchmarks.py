"""Test that the benchmarks run and judge correctly, and that figures quoted from them agree with their data."""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from ..support.paths import ROOT

pytest.importorskip("tabulate")

from benchmarks import __main__ as every_part
from benchmarks import (
    against_rivals,
    compare_checkouts,
    cpu_time,
    import_cost,
    profile_of_a_run,
    rivals,
    scaling,
    servers,
    stack_sampler,
    survivors,
    time_to_detection,
    time_to_verdict,
)
from benchmarks.equivalence import find_difference
from benchmarks.mutation import list_mutations
from benchmarks.wrong_implementations import WrongImplementation, build_correct_backend, list_catalogued, list_mutants

COMMITTED = cpu_time.TABLES
MUTANTS = pytest.mark.xdist_group("project/mutants")  # which share the list of all mutants


@pytest.fixture(scope="module")
def all_mutants() -> list[WrongImplementation]:
    return list_mutants()


@pytest.fixture(scope="module")
def mutants(all_mutants: list[WrongImplementation]) -> dict[str, WrongImplementation]:
    return {mutant.id: mutant for mutant in all_mutants}


def find_catalogued(name: str) -> WrongImplementation:
    return next(wrong for wrong in list_catalogued() if wrong.id == name)


def find_mutant(mutants: dict[str, WrongImplementation], start: str, end: str) -> WrongImplementation:
    """Return the only mutant whose id begins and ends with these strings."""
    (found,) = (mutant for name, mutant in mutants.items() if name.startswith(start) and name.endswith(end))
    return found


# --- mutants ----------------------------------------------------------------------------------------------------------


def test_a_mutation_is_one_small_change(tmp_path: Path) -> None:
    file = tmp_path / "small.py"
    file.write_text(
        'def f(x: int, y=3):\n    """Text."""\n    if x < 0:\n        raise ValueError("no")\n    return -1 * g(x, axis=y)\n'
    )
    changes = {f"{mutation.before} → {mutation.after}" for mutation in list_mutations(file, "small.py")}
    assert {"-1 * g(x, axis=y) → -1 / g(x, axis=y)", "-1 → 0", "-1 → -2", "g(x, axis=y) → g(x)", "g(x, axis=y) → x"} <= changes
    assert not any(part in change for change in changes for part in ("Text", "no", "x < 0", "3"))


@MUTANTS
@pytest.mark.rotating
def test_every_mutant_has_its_own_name(all_mutants: list[WrongImplementation]) -> None:
    assert len({mutant.id for mutant in all_mutants}) == len(all_mutants) > 2000
    assert {mutant.origin for mutant in all_mutants} == {"equation", "backend"}


@MUTANTS
@pytest.mark.rotating
def test_a_mutated_helper_is_a_mutant_of_every_operation_that_calls_it(mutants: dict[str, WrongImplementation]) -> None:
    helper = next(
        mutant for name, mutant in mutants.items() if name.startswith("backends/_numpy_functions.py") and "frexp" in name
    )
    assert {"rms_norm", "layer_norm", "transformer_block"} <= set(helper.operations)
    assert "softmax" not in helper.operations


@MUTANTS
@pytest.mark.rotating
def test_equivalent_mutants_are_recognized(mutants: dict[str, WrongImplementation]) -> None:
    assert find_difference(find_mutant(mutants, "reference_numpy/relu.py", "→ np.maximum(0.0, float64(x))")) is None
    wrong = find_difference(find_mutant(mutants, "reference_numpy/relu.py", "→ np.minimum(float64(x), 0.0)"))
    assert wrong is not None
    assert wrong.share > 0.1


# --- rivals -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["cs336", "kernelbench", "kernelbench_former"])
@pytest.mark.parametrize("origin", ["equation", "backend"])
def test_correct_code_passes_the_rivals_tests(name: str, origin: str) -> None:
    judge, correct = rivals.load_rival(name).build_judge(), build_correct_backend(origin)
    assert [operation for operation in judge.calls if not judge.passes(correct, operation)] == []


def test_the_rivals_judge_by_their_own_tolerances() -> None:
    """A tolerance of 1e-2 hides a wrong eps; exchanged gate and signal are found by both rivals."""
    strict, loose = (rivals.load_rival(name).build_judge() for name in ("cs336", "kernelbench_former"))
    eps, gate = (
        find_catalogued("rms_norm/eps-outside-sqrt").backend(),
        find_catalogued("swiglu/gate-and-signal-exchanged").backend(),
    )
    assert loose.passes(eps, "rms_norm")
    assert not strict.passes(gate, "swiglu")
    assert not loose.passes(gate, "swiglu")


def test_a_rival_that_is_not_installed_raises_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx.helper", None)
    with pytest.raises(rivals.Absent, match=r"need the onnx package: pip install"):
        rivals.load_rival("onnx_nodes").build_judge()


def test_every_rival_has_a_title_and_a_start() -> None:
    for name in rivals.list_rivals():
        assert isinstance(rivals.load_rival(name).TITLE, str)
        assert isinstance(rivals.load_rival(name).START, str)


def test_every_rival_that_calls_the_operation_judges_a_bug() -> None:
    outcome = against_rivals.judge_implementation(find_catalogued("rms_norm/eps-outside-sqrt"), ("cs336", "kernelbench"))
    assert set(outcome.seen) == {"default", "smoke", "cs336", "kernelbench"}
    assert outcome.seen["default"][0]
    assert "rms_norm." in outcome.by


# --- what a run costs -------------------------------------------------------------------------------------------------


def test_the_cost_of_a_command_includes_its_children() -> None:
    work = "sum(i * i for i in range(2_000_000))"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', '{work}'], check=True)"
    alone, in_child = cpu_time.measure_command("-c", work), cpu_time.measure_command("-c", parent)
    assert in_child.cpu_seconds > 0.7 * alone.cpu_seconds
    assert alone.peak_mib > 1


def test_the_sampler_knows_the_part_of_each_function() -> None:
    assert stack_sampler._classify(str(ROOT / "backends" / "torch_cpu.py"), "softmax") == "backend"
    assert stack_sampler._classify(str(ROOT / "spec_tests" / "calls" / "call.py"), "value") == "oracle"
    assert stack_sampler._classify(str(ROOT / "spec_tests" / "bounds" / "rules.py"), "_add") == "bound"
    assert stack_sampler._classify(str(ROOT / "spec_tests" / "operations" / "rope.py"), "arguments") == "data"
    assert stack_sampler._classify(str(ROOT / "spec_tests" / "test_rope.py"), "test_scale") == "invariants"
    assert stack_sampler._classify(str(ROOT / "reference_numpy" / "rope.py"), "rope") == ""
    assert stack_sampler._classify("/site-packages/_pytest/python.py", "run") == "pytest"


def test_the_sampler_names_files_and_functions_that_exist() -> None:
    assert all((ROOT / "spec_tests" / folder).is_dir() for folder in stack_sampler.FOLDERS)
    files = {*stack_sampler.FILES, *stack_sampler.DECIDED_BY_CALLER, *(file for file, _ in stack_sampler.FUNCTIONS)}
    assert all((ROOT / "spec_tests" / f"{name}.py").is_file() for name in files)
    for file, function in stack_sampler.FUNCTIONS:
        assert f"def {function}(" in (ROOT / "spec_tests" / f"{file}.py").read_text()
    parts = {*stack_sampler.FOLDERS.values(), *stack_sampler.FILES.values(), *stack_sampler.FUNCTIONS.values()}
    assert parts <= {*stack_sampler.PARTS}


@pytest.mark.rotating
@pytest.mark.parametrize(
    ("part", "options"),
    [
        (import_cost, ["--times", "1"]),
        (time_to_detection, []),
        (survivors, ["reference_numpy/relu.py", "--workers", "1"]),
        (scaling, ["--calls", "1", "--largest", "64"]),
        (
            compare_checkouts,
            [
                str(ROOT),
                str(ROOT),
                "--backend=numpy-cpu",
                "--effort=smoke",
                "--rounds=1",
                "-k",
                "relu.reference or silu.reference",
            ],
        ),
        (profile_of_a_run, ["--backend", "numpy-cpu", "--effort", "smoke", "-k", "relu.reference"]),
        (servers, ["--times", "1", "--seconds", "0.05", "--effort", "smoke"]),
        (time_to_verdict, ["--backend", "numpy-cpu", "--effort", "smoke", "--workers", "0", "-k", "relu.reference"]),
    ],
    ids=lambda value: value.__name__.partition(".")[2] if hasattr(value, "main") else "",
)
def test_each_part_prints_a_table_and_writes_it(part: object, options: list[str], tmp_path: Path, capsys: object) -> None:
    if part is servers:
        pytest.importorskip("safetensors")
        if shutil.which("cc") is None:
            pytest.skip("cc is not installed")
    part.main([*options, "--write", str(tmp_path)])  # type: ignore[attr-defined]
    (text,), (data,) = tmp_path.glob("*.txt"), tmp_path.glob("*.json")
    assert text.read_text() in capsys.readouterr().out  # type: ignore[attr-defined]
    assert json.loads(data.read_text())


def test_a_run_over_the_wire_costs_little_more_than_one_in_process() -> None:
    """The committed measurement: the same C functions, at default effort, over the wire and through ctypes."""
    assert json.loads((COMMITTED / "servers.json").read_text())["ratio"] <= 1.5


def test_the_least_seconds_of_all_rounds_count_for_operations_that_both_checkouts_have() -> None:
    first = [{"(start)": 2.0, "relu": 1.0, "gone": 1.0}, {"(start)": 2.0, "relu": 0.5, "new": 9.0}]
    second = [{"(start)": 1.0, "relu": 3.0, "gone": 1.0}, {"(start)": 3.0, "relu": 0.4, "new": 9.0}]
    before, after = compare_checkouts.take_least([first, second])
    assert (before, after) == ({"(start)": 1.0, "relu": 1.0}, {"(start)": 2.0, "relu": 0.4})
    assert list(compare_checkouts.list_rows(before, after)) == [
        ("before the first law", "1.00", "2.00", "2.00"),
        ("1 operations", "1.00", "0.40", "0.40"),
        ("the median operation", "", "", "0.40"),
        ("relu", "1.00", "0.40", "0.40"),
    ]


def test_an_unknown_part_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        every_part.main(["speed"])
    assert "there is no part speed; there are import_cost, time_to_detection" in capsys.readouterr().err


# --- the committed figures --------------------------------------------------------------------------------------------


def test_the_committed_comparison_agrees_with_its_data() -> None:
    standings, outcomes = against_rivals.read_results(COMMITTED / "against_rivals.json")
    text = f"{against_rivals.format_report(standings, outcomes)}\n{against_rivals.format_headline(standings, outcomes)}\n"
    assert (COMMITTED / "against_rivals.txt").read_text() == text


def test_the_readme_quotes_the_comparison() -> None:
    readme = (ROOT / "README.md").read_text()
    assert against_rivals.format_headline(*against_rivals.read_results(COMMITTED / "against_rivals.json")) in readme


def test_the_readme_says_what_its_first_run_takes() -> None:
    runs = json.loads((COMMITTED / "time_to_verdict.json").read_text())["runs"]
    (cpu,) = (run["cpu"] for run in runs if (run["backend"], run["effort"], run["workers"]) == ("torch-cpu", "default", 2))
    assert f"[{cpu:.0f} CPU seconds](docs/benchmarks.md#time-to-a-verdict)" in (ROOT / "README.md").read_text()


def test_the_page_shows_every_table() -> None:
    page = (ROOT / "docs" / "benchmarks.md").read_text()
    for part in every_part.PARTS:
        assert f"benchmarks/{part}.txt" in page
        assert (COMMITTED / f"{part}.txt").exists()


def test_a_rival_draws_the_same_inputs_every_time() -> None:
    first, second = ([case.arguments for case in rivals.load_rival("cs336").cases()] for _ in range(2))
    assert all(np.array_equal(x, y) for x, y in zip(first[0], second[0], strict=True))
