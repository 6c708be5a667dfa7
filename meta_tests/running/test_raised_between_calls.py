"""Exceptions that end the program, raised in the thread that judges while no call is under way."""

from collections.abc import Generator
from types import SimpleNamespace
from typing import Any

import pytest

from spec_tests.running.raised_between_calls import EndingsWatch, describe_raised
from spec_tests.trials.engine import RaisedBetweenCalls

from ..support.hostile_process import run_hostile
from ..support.paths import BACKENDS

WHO = "as a thread or a signal of the code under test can do; --isolate keeps the two apart"
SENTENCE = f"SystemExit was raised between two calls, {WHO}"
REPLACED = "the suite fails with ValueError, since the backend replaced builtins.any"


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (SystemExit(0), SENTENCE),
        (RaisedBetweenCalls("SystemExit"), SENTENCE),
        (ValueError(), ""),
        (KeyboardInterrupt(), ""),
        (None, ""),
    ],
    ids=["itself", "in an example", "another", "of a person", "none"],
)
def test_what_is_raised_is_a_sentence(error: BaseException | None, sentence: str) -> None:
    assert describe_raised(error) == sentence


def end_loop(error: BaseException, replaced: list[str]) -> tuple[Any, str]:
    """Return what the loop of a run returns that an exception has ended, and why the run stops."""
    run, watch = SimpleNamespace(shouldstop=""), EndingsWatch(SimpleNamespace(undo_replacements=lambda: replaced))  # type: ignore[arg-type]
    loop: Generator[None, Any, Any] = watch.pytest_runtestloop(run)  # type: ignore[arg-type]
    next(loop)
    with pytest.raises(StopIteration) as end:
        loop.throw(error)
    return end.value.value, run.shouldstop


@pytest.mark.parametrize(
    ("error", "replaced", "sentence"), [(SystemExit(0), [], SENTENCE), (ValueError(), ["builtins.any"], REPLACED)]
)
def test_the_run_is_stopped_and_ends_as_other_runs_do(error: BaseException, replaced: list[str], sentence: str) -> None:
    assert end_loop(error, replaced) == (True, sentence)


@pytest.mark.parametrize("error", [ValueError(), KeyboardInterrupt(), pytest.exit.Exception("now")], ids=repr)
def test_errors_of_the_suite_and_interruptions_pass(error: BaseException) -> None:
    with pytest.raises(type(error)):
        end_loop(error, [])


@pytest.mark.rotating
@pytest.mark.parametrize("name", ["raises_in_the_main_thread", "rings_a_clock_of_its_own", "replaces_a_builtin"])
def test_a_run_that_meets_it_has_no_traceback_and_is_not_green(name: str) -> None:
    path = BACKENDS / "dishonest" / f"{name}.py"
    run = run_hostile(
        "--pyargs", "spec_tests", "--effort=smoke", f"--backend={path}", "-k", "sigmoid.reference or relu.reference"
    )
    assert run.status in (1, 2)
    assert "INTERNALERROR" not in run.text
    assert "another project" not in run.text
