"""Hypothesis's engine runs the examples of a trial, with the choices of a source: how many, which first, and what ends it."""

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis.internal import entropy
from hypothesis.internal.conjecture import providers

from spec_tests.calls.violation import Violation
from spec_tests.trials.engine import Ended, EngineChoices, run_examples
from spec_tests.trials.random_choices import RandomChoices

from ..support.pytest_process import EPS_OUTSIDE, NUMPY, suite, write

PROFILE = settings(deadline=None)


def sources(*, minimal: bool) -> Iterator[RandomChoices | None]:
    source = random.Random(7)
    if minimal:
        yield None
    while True:
        yield RandomChoices(source)


class Example:
    """An example of a law that draws three choices, and what it has drawn in each run."""

    def __init__(self, fails_at: int = -1, error: BaseException | None = None):
        self.fails_at, self.error, self.drawn = fails_at, error, list[list[int]]()

    def __call__(self, choices: EngineChoices) -> None:
        self.drawn.append([choices.draw_integer(0, 9), choices.draw_shape(5, 8), choices.draw_integer(0, 1 << 31)])
        if len(self.drawn) == self.fails_at and self.error:
            raise self.error


def test_the_engine_runs_as_many_examples_as_are_asked_for() -> None:
    for count in (1, 2, 40):
        example = Example()
        assert run_examples(example, sources(minimal=False), count, PROFILE, "law") is None
        assert len(example.drawn) == count
        assert len({tuple(drawn) for drawn in example.drawn}) == count


def test_the_choices_are_those_of_the_source() -> None:
    example, expected = Example(), random.Random(7)
    run_examples(example, sources(minimal=False), 20, PROFILE, "law")
    assert example.drawn == [[expected.randint(0, 9), expected.randint(5, 8), expected.randint(0, 1 << 31)] for _ in range(20)]


def test_numpys_global_generator_is_seeded_once_for_all_examples_and_put_back() -> None:
    seen = list[float]()

    def example(choices: EngineChoices) -> None:
        choices.draw_integer(0, 9)
        seen.append(np.random.random())  # noqa: NPY002  # the generator that Hypothesis manages

    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    for _ in range(2):
        run_examples(example, sources(minimal=False), 3, PROFILE, "law")
    assert len(set(seen)) == 3
    assert seen[:3] == seen[3:]
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002
    assert entropy.NP_RANDOM in entropy.RANDOMS_TO_MANAGE.values()


def test_the_simplest_example_comes_first_where_a_source_is_missing() -> None:
    example = Example()
    run_examples(example, sources(minimal=True), 3, PROFILE, "law")
    assert example.drawn[0] == [0, 5, 0]
    assert [0, 5, 0] not in example.drawn[1:]
    assert len(example.drawn) == 3


def test_an_example_that_fails_is_returned_and_not_run_again() -> None:
    example = Example(4, Violation("wrong"))
    failed = run_examples(example, sources(minimal=True), 10, PROFILE, "law")
    assert failed is not None
    assert failed.error is example.error
    assert failed.choices.numbers == example.drawn[-1]
    assert len(example.drawn) == 4


def test_an_error_of_another_kind_is_returned_as_well() -> None:
    failed = run_examples(Example(1, KeyError("a defect")), sources(minimal=False), 10, PROFILE, "law")
    assert failed is not None
    assert isinstance(failed.error, KeyError)


@pytest.mark.parametrize("error", [Ended(), KeyboardInterrupt()])
def test_what_is_no_failure_ends_the_engine_at_once(error: BaseException) -> None:
    example = Example(3, error)
    with pytest.raises(type(error)):
        run_examples(example, sources(minimal=False), 10, PROFILE, "law")
    assert len(example.drawn) == 3


def test_a_law_without_choices_is_run_as_often() -> None:
    calls = []
    assert run_examples(lambda choices: calls.append(1), sources(minimal=False), 6, PROFILE, "law") is None
    assert len(calls) == 6


def test_no_constants_of_loaded_modules_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading them takes seconds at the start of a run, and would make examples depend on what is loaded."""

    def fail() -> None:
        raise AssertionError("constants are read")

    monkeypatch.setattr(providers, "_get_local_constants", fail)
    assert run_examples(Example(), sources(minimal=True), 10, PROFILE, "law") is None


def test_statistics_are_those_of_the_engine(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + EPS_OUTSIDE)
    words = ("--backend=mine.py", "--effort=default", "-k", "rms_norm.reference", "--hypothesis-show-statistics")
    done = suite(tmp_path, *words, "--hypothesis-seed=1")
    assert done.code == 1
    statistics = done.text.partition("Hypothesis Statistics")[2]
    assert "test_every_operation.py::test_reference[rms_norm-mine-float32]" in statistics
    assert "during generate phase" in statistics
    assert "1 failing" in statistics
    assert "fails, of a cause that was found before" in statistics


REFUSES = """
calls = 0

def relu(x):
    global calls
    calls += 1
    if calls < {calls}:
        raise NotImplementedError("not yet")
    return np.maximum(x, 0)
"""


def test_further_examples_are_drawn_until_one_is_answered(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + REFUSES.format(calls=8), never=NUMPY + REFUSES.format(calls=1 << 20))
    done = suite(tmp_path, "--backend=mine.py", "--backend=never.py", "--effort=default", "-k", "relu.idempotent")
    answered, never = sorted(done.facts, key=lambda fact: fact["backend"])
    assert (answered["status"], answered["examples"], answered["refused"]) == ("passed", 1, 7)
    assert (never["status"], never["refused"]) == ("skipped", 32)
