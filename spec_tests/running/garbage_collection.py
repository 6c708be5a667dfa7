"""Save time in Python's garbage collector: what is imported and collected stays until the end, so it need not look at it."""

from __future__ import annotations

import atexit
import gc
from functools import partial

import pytest

PAUSED: pytest.StashKey[bool] = pytest.StashKey()
MANY_NEW_OBJECTS = 10_000  # more than an example makes and keeps; Python's own threshold looks at the objects of each few calls


def pause(config: pytest.Config) -> None:
    """Switch the collector off until the tests are collected, since hardly anything becomes garbage before."""
    if gc.isenabled():
        gc.disable()
        config.add_cleanup(gc.enable)
        config.stash[PAUSED] = True


def resume(config: pytest.Config) -> None:
    """Switch it on again, without frameworks and tests, and for many objects at once.

    At exit it skips everything, which saves a second.
    """
    gc.freeze()
    atexit.register(gc.freeze)
    _, *older = before = gc.get_threshold()
    gc.set_threshold(before[0] and max(before[0], MANY_NEW_OBJECTS), *older)  # 0 switches it off
    config.add_cleanup(partial(gc.set_threshold, *before))
    if PAUSED in config.stash:
        gc.enable()
