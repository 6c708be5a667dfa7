"""Exceptions that end the program, raised in the thread that judges while no call is under way."""

from collections.abc import Generator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from spec_tests.running.last_words import ENDED, WHO, describe_foreign
from spec_tests.running.raised_between_calls import EndingsWatch, describe_raised
from spec_tests.trials.engine import RaisedBetweenCalls

from ..support.hostile_process import run_hostile
from ..support.paths import BACKENDS
from ..support.pytest_process import NUMPY, RELU, python, write

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
    run, watch = (
        SimpleNamespace(shouldstop=""),
        EndingsWatch(SimpleNamespace(undo_replacements=lambda: replaced, list_loaded_files=set)),
    )  # type: ignore[arg-type]
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


ENDERS = (
    "calls_back_after_collection",
    "exits_in_an_audit_hook",
    "raises_a_storm_in_the_main_thread",
    "raises_in_an_audit_hook",
    "raises_in_the_main_thread",
    "replaces_a_builtin",
    "rings_a_clock_of_its_own",
)


@pytest.mark.rotating
@pytest.mark.parametrize("name", ENDERS)
def test_a_run_that_meets_it_has_no_traceback_and_is_not_green(name: str) -> None:
    path = BACKENDS / "dishonest" / f"{name}.py"
    run = run_hostile(
        "--pyargs", "spec_tests", "--effort=smoke", f"--backend={path}", "-k", "sigmoid.reference or relu.reference"
    )
    assert run.status in (1, 2)
    assert "INTERNALERROR" not in run.text
    assert "Traceback" not in run.text.partition("warnings summary")[0]  # where pytest quotes what Python ignored
    assert "another project" not in run.text


def test_a_run_in_a_program_arranges_nothing_for_its_end(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RELU)
    words = ["-p", "spec_tests.plugin", "--pyargs", "spec_tests", "--backend=mine.py", "--effort=smoke", "-k", "relu.reference"]
    done = python(tmp_path, "-c", f"import pytest, sys\npytest.main({words!r})\nsys.exit(7)")
    assert done.returncode == 7
    assert ENDED not in done.stderr


def raise_in(file: Path) -> BaseException:
    """Return an error that code of a file has raised, in the context of which another one was raised."""
    try:
        try:
            exec(compile("def hook():\n    raise RuntimeError('no')\nhook()", str(file), "exec"), {})
        finally:
            raise LookupError
    except LookupError as error:
        return error


def test_what_code_under_test_raises_in_the_judge_is_told_from_errors_of_the_suite(tmp_path: Path) -> None:
    error = raise_in(tmp_path / "mine.py")
    assert describe_foreign(error, {tmp_path / "mine.py"}) == f"{ENDED}: hook raised RuntimeError where the suite judges, {WHO}"
    assert not describe_foreign(error, {tmp_path / "another.py"})
    assert not describe_foreign(None, {tmp_path / "mine.py"})
