"""Test that the order of scores is the order of a person's judgement: trivial answers, attempts, right code."""

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

import spec_tests
from spec_tests.calls.violation import Violation
from spec_tests.commands.score import judge
from spec_tests.implementation.backend import load
from spec_tests.report.score import compute_score
from spec_tests.specification.registry import operations
from spec_tests.specification.run_settings import using_settings
from spec_tests.trials.collection import invariants
from spec_tests.trials.random_choices import RandomChoices
from spec_tests.trials.skill import Skill
from spec_tests.trials.trial import Trial

from ..support.graded_kernels import ATTEMPT, RIGHT, SIGNATURES, TRIVIAL, Kernel, by_operation

SEEDS = (1, 2, 3)
EXAMPLES = 16
DAILY = ("zeros", "NaN", "a copy", "a fixed eps", "right")


def write_kernel(folder: Path, kernel: Kernel) -> Path:
    path = folder / f"{kernel.name.replace(' ', '_')}.py"
    path.write_text(kernel.source)
    return path


def measure_skill(path: Path, operation: str, seed: int) -> float:
    """Return the skill in the comparison with the oracle, without shrinking or explaining what fails."""
    (reference,) = (test for test in invariants() if test.invariant.id == "operation.reference")
    trial = Trial(load(str(path), path.parent, set(operations())), "float32", operation_name=operation)
    with using_settings(measures_skill=True):
        for number in range(EXAMPLES):
            try:
                reference.replay(trial, RandomChoices(Random(f"{seed} {number}"), operation))
            except Violation:
                continue
    skill: Skill = trial.tally.skill
    assert skill.calls == EXAMPLES
    return skill.earned / skill.possible


def score_kernels(folder: Path, kernels: list[Kernel], seed: int, effort: str) -> dict[str, float]:
    """Return the values of the scores of kernels of one operation. One run judges all, each in a process of its own."""
    operation = kernels[0].operation
    paths = [write_kernel(folder, kernel) for kernel in kernels]
    report, status = judge([str(path) for path in paths], operation, {}, effort, seed, "--spec-no-causes")

    def find_value(name: str) -> float:
        own = replace(report, verdicts=[verdict for verdict in report.verdicts if verdict.backend == name])
        return compute_score(own, operation, (), seed, status).value

    return {kernel.name: find_value(path.stem) for kernel, path in zip(kernels, paths, strict=True)}


def check_order(operation: str, values: dict[str, float]) -> None:
    """Every trivial answer is below every attempt, and right code has the whole score. An attempt may have it by chance."""
    grades = {kernel.name: kernel.grade for kernel in by_operation()[operation]}
    by_grade = {grade: [value for name, value in values.items() if grades[name] == grade] for grade in (TRIVIAL, ATTEMPT, RIGHT)}
    assert max(by_grade[TRIVIAL]) < min(by_grade[ATTEMPT]), values
    assert by_grade[RIGHT] == [1.0], values


def test_there_are_kernels_of_every_grade() -> None:
    kernels = by_operation()
    assert len(kernels) >= 5
    assert sum(map(len, kernels.values())) >= 30
    assert all({kernel.grade for kernel in own} == {TRIVIAL, ATTEMPT, RIGHT} for own in kernels.values())


@pytest.mark.rotating
@pytest.mark.slow
@pytest.mark.parametrize("operation", SIGNATURES)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_skill_is_ordered(tmp_path: Path, operation: str, seed: int) -> None:
    kernels = by_operation()[operation]
    check_order(operation, {k.name: measure_skill(write_kernel(tmp_path, k), operation, seed) for k in kernels})


@pytest.mark.nightly
@pytest.mark.parametrize("operation", SIGNATURES)
@pytest.mark.parametrize("seed", SEEDS)
def test_scores_are_ordered(tmp_path: Path, operation: str, seed: int) -> None:
    values = score_kernels(tmp_path, by_operation()[operation], seed, "default")
    check_order(operation, values)
    assert sorted(values.values())[-2] <= 0.25, values


@pytest.mark.rotating
@pytest.mark.slow
def test_scores_of_five_kernels_are_ordered(tmp_path: Path) -> None:
    kernels = [kernel for kernel in by_operation()["rms_norm"] if kernel.name in DAILY]
    assert len(kernels) == len(DAILY)
    values = score_kernels(tmp_path, kernels, SEEDS[0], "smoke")
    check_order("rms_norm", values)
    alone = spec_tests.score(str(tmp_path / "a_fixed_eps.py"), "rms_norm", effort="smoke", seed=SEEDS[0], causes=False)
    assert alone.value == values["a fixed eps"]
