"""A share of the slow tests, and of the cases of a test, runs daily, another one after each change; nightly, all run.

`rotate` is for the cases of one test. Their share changes with the sources that judge. The marker `rotating` is for tests that
take seconds, as those that start processes or a browser do, and for those of many cases of several parameters. Their share
changes with any source or document of the checkout. `rotating(one_in=4)` says how large it is.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from .paths import ROOT
from .sources import list_sources

ONE_IN = 10  # tests with the marker `rotating`, of which one runs daily
FOLDERS = ("spec_tests", "reference_numpy", "backends", "meta_tests", "docs", "examples", "benchmarks")
SUFFIXES = (".py", ".md", ".toml", ".html")


@cache
def hash_judging_sources() -> str:
    together = hashlib.sha256()
    for path in list_sources():
        _add(together, path)
    return together.hexdigest()


@cache
def hash_checkout() -> str:
    """Return a hash of the sources and documents of the checkout."""
    together = hashlib.sha256()
    for folder in ("", *FOLDERS):
        for path in sorted((ROOT / folder).glob("**/*" if folder else "*")):
            if path.suffix in SUFFIXES and "_build" not in path.parts:
                _add(together, path)
    return together.hexdigest()


def _add(together: Any, path: Path) -> None:
    together.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes().replace(b"\r\n", b"\n") + b"\0")


def is_due(case: str, one_in: int, sources: Callable[[], str] | None = None) -> bool:
    """Whether a case is tried with the sources as they are: one case in so many is."""
    return zlib.crc32(f"{(sources or hash_judging_sources)()} {case}".encode()) % one_in == 0


def leave_to_the_night(items: Iterable[pytest.Item]) -> None:
    """Give the marker `nightly` to tests with the marker `rotating` that are not due. Those of one xdist_group go together."""
    for item in items:
        if rotating := item.get_closest_marker("rotating"):
            group, one_in = item.get_closest_marker("xdist_group"), rotating.kwargs.get("one_in", ONE_IN)
            if not is_due(str(group.args[0]) if group else item.nodeid, one_in, hash_checkout):
                item.add_marker(pytest.mark.nightly)


def rotate(cases: Iterable[Any], one_in: int, name: Callable[[Any], str] = str) -> list[Any]:
    """Return the cases as parameters of a test. Those that are not due have the marker `nightly`.

    A case is the value of the test's parameter, or a tuple of the values of several.
    """
    return [case if is_due(name(case), one_in) else _leave_to_the_night(case) for case in cases]


def _leave_to_the_night(case: Any) -> Any:
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.nightly)
