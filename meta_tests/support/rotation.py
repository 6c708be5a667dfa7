"""A share of the cases of a test is tried daily, another one after each change of the sources that judge; nightly, all are."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import pytest

from .paths import ROOT
from .sources import list_sources


@cache
def hash_judging_sources() -> str:
    together = hashlib.sha256()
    for path in list_sources():
        together.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return together.hexdigest()


def is_due(case: str, one_in: int) -> bool:
    """Whether a case is tried with the sources as they are: one case in so many is."""
    return zlib.crc32(f"{hash_judging_sources()} {case}".encode()) % one_in == 0


def rotate(cases: Iterable[Any], one_in: int, name: Callable[[Any], str] = str) -> list[Any]:
    """Return the cases as parameters of a test. Those that are not due have the marker `nightly`.

    A case is the value of the test's parameter, or a tuple of the values of several.
    """
    return [case if is_due(name(case), one_in) else _leave_to_the_night(case) for case in cases]


def _leave_to_the_night(case: Any) -> Any:
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.nightly)
