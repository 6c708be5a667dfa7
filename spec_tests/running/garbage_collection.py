"""Save time in Python's garbage collector: what is imported and collected stays until the end, so it need not look at it."""

from __future__ import annotations

import atexit
import gc

import pytest

PAUSED: pytest.StashKey[bool] = pytest.StashKey()


def pause(config: pytest.Config) -> None:
    """Switch the collector off until the tests are collected, since hardly anything becomes garbage before."""
    if gc.isenabled():
        gc.disable()
        config.add_cleanup(gc.enable)
        config.stash[PAUSED] = True


def resume(config: pytest.Config) -> None:
    """Switch it on again, without frameworks and tests. At exit it skips everything, which saves a second."""
    gc.freeze()
    atexit.register(gc.freeze)
    if PAUSED in config.stash:
        gc.enable()
