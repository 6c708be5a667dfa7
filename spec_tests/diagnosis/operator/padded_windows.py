"""Attention in windows that reach beyond the ends of the keys, and count what pads them there: keys of score 0 and value 0."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from ...calls.call import Call
from ...specification.registry import Specification
from .alternative import Alternative, Named, call_right, take

COST = 0.75
OPERATION = "local_attention"
MAX_WINDOW = 512  # of a call that is evaluated: arrays grow by so many rows at both ends
ENDS = (
    ("before the first key and behind the last one", True, True),
    ("before the first key", True, False),
    ("behind the last key", False, True),
)


def list_padded_windows(call: Call) -> Iterator[Alternative]:
    """Yield what attention to near keys gives if the keys that pad its windows count."""
    if call.operation.name != OPERATION or not call.named["window"]:
        return
    for words, is_before, is_behind in ENDS:
        said = f"each place of a window {words} counts in the softmax as a key with score 0 and value 0"
        yield Alternative(OPERATION, said, partial(_compute, is_before=is_before, is_behind=is_behind), COST, evaluations=3)


def _compute(spec: Specification, named: Named, *, is_before: bool, is_behind: bool) -> Any:
    q, window = named["q"], named["window"]
    if window > MAX_WINDOW or not named["k"].shape[-2]:
        raise ValueError(f"a window of {window} tokens is not padded")
    first, last = window * is_before, window * is_behind
    padded = {"q": _pad(q, first, 0), **{name: _pad(named[name], first, last) for name in ("k", "v")}}
    y = call_right(spec, {**named, **padded})
    return take(y, np.arange(first, first + q.shape[-2]), -2)


def _pad(x: Any, before: int, behind: int) -> Any:
    """Return an array with rows of zeros before and behind its own. Number types only index and multiply."""
    count = x.shape[-2]
    places = np.arange(-before, count + behind)
    is_own = ((places >= 0) & (places < count))[:, None]
    return np.where(is_own, take(x, np.clip(places, 0, max(count - 1, 0)), -2), 0.0)
