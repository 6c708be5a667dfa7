"""Which of many equal tests a daily run tries: another share after each change of the sources. A nightly run tries all."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable
from functools import cache
from typing import Any

import pytest

from .paths import ROOT


@cache
def hash_suite() -> int:
    """Return a number that changes with the source of the suite and of the equations."""
    digest = hashlib.sha256()
    for path in sorted(path for folder in ("spec_tests", "reference_numpy") for path in (ROOT / folder).rglob("*.py")):
        digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return int.from_bytes(digest.digest()[:8])


def is_due(name: str, one_in: int) -> bool:
    """Whether the test with this name is one that a daily run tries. One in so many is, and another one after a change."""
    return (zlib.crc32(name.encode()) + hash_suite()) % one_in == 0


def rotate(values: Iterable[Any], one_in: int) -> list[Any]:
    """Return the values as parameters, of which those that are not due are marked as nightly."""
    return [pytest.param(value, marks=() if is_due(str(value), one_in) else pytest.mark.nightly) for value in values]
