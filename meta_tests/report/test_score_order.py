"""Test that the order of scores is the order of a person's judgement: trivial answers, attempts, right code."""

from pathlib import Path
from random import Random

import pytest

import spec_tests
from spec_tests.calls.violation import Violation
from spec_tests.implementation.backend import load
from spec_tests.specification.registry import operations
from spec_tests.specification.run_settings import using_settings
from spec_tests.trials.collection import invariants
from spec_tests.trials.random_choices import RandomChoices
from spec_tests.trials.skill import Skill
from spec_tests.trials.trial import Trial

from ..measure.score_orders import SEEDS, read_table, score_kernels, write_kernel
from ..support.graded_kernels import ATTEMPT, RIGHT, SIGNATURES, TRIVIAL, by_operation

EXAMPLES = 16
DAILY = ("zeros", "NaN", "a copy", "a fixed eps", "right")


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


@pytest.mark.parametrize("operation", SIGNATURES)
def test_the_recorded_scores_are_ordered(operation: str) -> None:
    recorded = read_table()[operation]
    assert recorded
    assert {*recorded} <= {*SEEDS}
    for values in recorded.values():
        assert set(values) == {kernel.name for kernel in by_operation()[operation]}
        check_order(operation, values)


@pytest.mark.rotating
@pytest.mark.slow
def test_scores_of_five_kernels_are_ordered(tmp_path: Path) -> None:
    kernels = [kernel for kernel in by_operation()["rms_norm"] if kernel.name in DAILY]
    assert len(kernels) == len(DAILY)
    values = score_kernels(tmp_path, kernels, SEEDS[0], "smoke")
    check_order("rms_norm", values)
    alone = spec_tests.score(str(tmp_path / "a_fixed_eps.py"), "rms_norm", effort="smoke", seed=SEEDS[0], causes=False)
    assert alone.value == values["a fixed eps"]
