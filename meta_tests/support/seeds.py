"""Random seeds of tests: the same in each run if Hypothesis's profile asks for that, as `ci` does, and new ones otherwise."""

from __future__ import annotations

import secrets
import zlib

from hypothesis import settings


def draw_seed(test: str) -> int:
    """Return a seed. A test prints it if it fails, since the next run may draw another."""
    return zlib.crc32(test.encode()) if settings().derandomize else secrets.randbits(32)
