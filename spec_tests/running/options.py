"""The options of the command line.

Each has a spelling with the prefix --spec-, which every pytest run takes where the plugin is installed. The spelling without
the prefix, such as --backend, is for runs that name spec_tests: other projects have a --backend of their own.

Every pytest run imports this module, so that it must stay light.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

import pytest

from ..specification.run_settings import MEMORY_BUDGET_GB, Limits

VERDICT_PROPERTY = "spec_tests"  # among the properties of an item, which --junitxml writes, too
PREFIX = "--spec-"
MARKER = "spec_tests_run"  # an option that nobody types: whether the run takes the spellings without the prefix
LISTS: dict[str, Any] = {"action": "append", "default": []}
SWITCH: dict[str, Any] = {"action": "store_true"}
STRICT = "strict"  # the value of the option in --isolate=strict, which argparse takes for an option of its own

OPTIONS: dict[str, dict[str, Any]] = {
    "backend": LISTS
    | {
        "metavar": "NAME",
        "help": "the implementation to test: a .py file, a name of --spec-list-backends, a dotted module name, "
        "file.py:attribute, module:attribute, process:COMMAND, or a .toml file of one; may be repeated (default: numpy-cpu)",
    },
    "list-backends": SWITCH | {"help": "print the names that --spec-backend takes, and exit"},
    "list-deviations": SWITCH | {"help": "print the known bugs that the suite can name, and exit"},
    "dtype": LISTS
    | {
        "metavar": "DTYPE",
        "help": "test in this dtype only: float64, float32, bfloat16, float16; may be repeated (default: all)",
    },
    "precision": {
        "metavar": "CLASS",
        "help": "the loosest precision class that passes: fused, mixed or eager (default: each operation's own)",
    },
    "effort": {
        "default": "default",
        "metavar": "EFFORT",
        "help": "how many examples to try: smoke (seconds), default (a minute or more) or thorough (hours)",
    },
    "domain": {
        "metavar": "JSON",
        "help": 'the domain to test, or a file of it, in place of what the backend states: {"rms_norm": {"d": [64, 128]}}; '
        "{} is everything",
    },
    "memory-budget": {
        "default": f"{MEMORY_BUDGET_GB:g}",
        "metavar": "GB",
        "help": "the gigabytes that the arrays of one call may take at thorough effort "
        f"(default: {MEMORY_BUDGET_GB:g}; results of 2^31 elements need 20)",
    },
    "shapes": {
        "metavar": "N",
        "help": "use N different shapes for each operation, for a backend that compiles anew for each shape (default: no limit)",
    },
    "operation": LISTS
    | {
        "metavar": "OPERATION",
        "help": "try the laws of this operation, or of this gradient, only; may be repeated (default: all)",
    },
    "require": LISTS | {"metavar": "OPERATION", "help": "fail if the backend does not implement this operation; may be repeated"},
    "require-level": LISTS
    | {
        "metavar": "LEVEL",
        "help": "fail if this optional property does not hold, such as batch-invariant; may be repeated",
    },
    "require-tier": LISTS
    | {
        "metavar": "TIER",
        "help": "fail if a law of this tier of a contract does not hold: calls (layouts, empty arrays, repeated calls) or "
        "surroundings (default dtype, autocast, inference mode); courses and imported formats are held to the equation alone",
    },
    "report": {
        "metavar": "DIR",
        "help": "write a report into this folder: report.jsonl during the run, a page and a badge at its end",
    },
    "isolate": SWITCH | {"help": "run the backend in a process of its own, apart from the code that judges it"},
    f"isolate={STRICT}": {
        "action": "store_const",
        "const": STRICT,
        "dest": "spec_isolate",
        "help": "and keep this process from others and from the judge's files, as far as the system allows",
    },
    "python": {
        "metavar": "COMMAND",
        "help": "run the backend in this Python, in which the suite need not be installed, such as .venv/bin/python, or uv run",
    },
    "device": {
        "metavar": "DEVICE",
        "help": "the device of a backend of PyTorch, in place of the one that it states, such as cuda:1, mps or xpu",
    },
    "world-size": {
        "metavar": "N",
        "help": "the number of ranks of a sharded backend (default: the first that it states)",
    },
    "time-limit": {"metavar": "SECONDS", "help": f"the seconds that one call may take (default: {Limits.seconds:g})"},
    "max-calls": {
        "metavar": "N",
        "help": "draw no further example after N calls of a backend; the run is then cut, and claims nothing (default: no limit)",
    },
    "memory-limit": {
        "metavar": "SIZE",
        "help": "the memory that the process of --spec-isolate may take, such as 4GiB (default: half of the machine's)",
    },
    "example": {"metavar": "ROW", "help": "try only the example that a failure has printed, such as 3.0.17"},
    "seeds": {"metavar": "A-B", "help": "try the examples of each of these seeds, such as 0-9, which --hypothesis-seed adds to"},
    "known-failing": {"metavar": "FILE", "help": "a file of tests that are known to fail: they fail no run while they do"},
    "known-flaky": {"metavar": "FILE", "help": "a file of tests that sometimes fail: they fail no run"},
    "update-known": SWITCH | {"help": "write the failures of this run into these files, and remove what holds now"},
    "skill": SWITCH | {"help": "measure how far the answers are above trivial ones, for spec-tests score"},
    "no-causes": SWITCH | {"help": "neither shrink failing examples nor look for the causes of failures: verdicts alone"},
    "resume": SWITCH | {"help": "continue the report in --spec-report=DIR: test what it lacks"},
}
LISTING_OPTIONS = ("list-backends", "list-deviations")
TITLE = (
    "spec_tests: conformance of transformer operations (a run that names spec_tests also takes these without spec-, as --backend)"
)


def add_options(parser: pytest.Parser) -> None:
    """Add the options with the prefix."""
    group = parser.getgroup("spec_tests", TITLE)
    for name, attributes in OPTIONS.items():
        group.addoption(f"{PREFIX}{name}", **{"dest": _destination(name), **attributes})


def add_short_spellings(parser: pytest.Parser) -> list[str]:
    """Let the run take the spellings without the prefix. Return those that others have taken for options of their own.

    A second call adds nothing: the conftest.py of a checkout may be loaded after the plugin has added them.
    """
    group, taken = parser.getgroup("spec_tests", TITLE), []
    try:
        group.addoption("--spec-tests-run", dest=MARKER, action="store_true", default=True, help=argparse.SUPPRESS)
    except ValueError:
        return []
    for name, attributes in OPTIONS.items():
        try:
            group.addoption(f"--{name}", **{"dest": _destination(name), **attributes, "help": argparse.SUPPRESS})
        except (ValueError, argparse.ArgumentError):
            taken.append(f"--{name}")
    return taken


def concerns_suite(config: pytest.Config) -> bool:
    """Whether the run takes the spellings without the prefix: it names spec_tests, or runs in a checkout of it."""
    return bool(config.getoption(MARKER, False))


def read_option(config: pytest.Config, name: str) -> Any:
    """Return the value of an option, such as "time_limit"."""
    return config.getoption(_destination(name))


def find_used(args: Iterable[str], prefix: str, names: Iterable[str] = OPTIONS) -> list[str]:
    """Return the words of a command line that are options with one of these names, as they were typed."""
    spellings = {f"{prefix}{name}" for name in names}
    return [arg for arg in args if arg.partition("=")[0] in spellings]


def _destination(name: str) -> str:
    return f"spec_{name.replace('-', '_')}"


def split_names(values: Iterable[str]) -> list[str]:
    """Return the names in the values of an option, each of which may be a list with commas."""
    return [name for value in values for name in value.split(",") if name]
