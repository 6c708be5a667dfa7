"""Which spellings of the options a run takes: with the prefix --spec- always, without it where the run names spec_tests."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from .options import LISTING_OPTIONS, PREFIX, add_short_spellings, concerns_suite, find_used


def leave_out_conftests(config: pytest.Config, args: list[str]) -> None:
    """Load no conftest file in a run with --python: they are of that environment, and may need what this one lacks."""
    if find_used(args, PREFIX, ["python"]) or (find_used(args, "--", ["python"]) and names_suite(config, args)):
        config.known_args_namespace.noconftest = True


@contextmanager
def explain_conftests(config: pytest.Config, args: list[str]) -> Iterator[None]:
    """Raise UsageError with what to write where a conftest file cannot be imported, as one in the syntax of a newer Python."""
    try:
        yield
    except Exception as error:
        if type(error).__name__ != "ConftestImportFailure" or not names_suite(config, args):  # a private class of pytest
            raise
        raised, path = getattr(error, "cause", error), getattr(error, "path", "conftest.py")
        raise pytest.UsageError(
            f"Python {platform.python_version()} cannot import {path}: {type(raised).__name__}: {raised}; "
            "add --noconftest, or name the Python of that project, as in --python=.venv/bin/python"
        ) from None


def take_spellings(config: pytest.Config, parser: pytest.Parser, args: list[str]) -> None:
    """Add the options without the prefix, if the run names spec_tests. Raise UsageError if it is unclear whose option one is.

    This has to follow the loading of conftest files, whose options of the same names then stay theirs.
    """
    if concerns_suite(config):  # the conftest.py of a checkout has added them
        return
    if not names_suite(config, args):
        _refuse_lost_backend(config, parser, args)
        return
    taken = add_short_spellings(parser)
    ambiguous = find_used(args, "--", [name.removeprefix("--") for name in taken])
    if ambiguous and not find_used(args, PREFIX):
        name = ambiguous[0].partition("=")[0]
        raise pytest.UsageError(
            f"{ambiguous[0]}: {name} is also an option of a conftest.py or of another plugin here; "
            f"write {PREFIX}{ambiguous[0].removeprefix('--')} for that of spec_tests"
        )


def names_suite(config: pytest.Config, args: list[str]) -> bool:
    """Whether the run concerns this suite: a word of its command line or of the configured test paths names it."""
    words = (*args, *config.getini("testpaths"))
    named = any("spec_tests" in word and "spec_tests.plugin" not in word for word in words)  # not -p spec_tests.plugin
    return named or bool(find_used(args, "--", LISTING_OPTIONS))


def _refuse_lost_backend(config: pytest.Config, parser: pytest.Parser, args: list[str]) -> None:
    """Raise UsageError if the command line has a backend, and does not name spec_tests, whose option that is."""
    unknown = find_used(parser.parse_known_and_unknown_args(args)[1], "--", ["backend"])
    typed = [str(arg) for arg in config.invocation_params.args]  # without what a configuration file adds
    if lost := unknown + find_used(typed, PREFIX, ["backend"]):
        words = " ".join(map(shlex.quote, typed))
        raise pytest.UsageError(
            f"{lost[0]} is an option of spec_tests, and this run does not name it: write pytest --pyargs spec_tests {words}"
        )
