"""Sequences that lie one after the other in the same arrays: each member has its own state."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ._marks import float64


def one_by_one(
    equation: Callable[..., Any], cu_seqlens: Any, arrays: Sequence[tuple[Any, int]], state: Any, **options: Any
) -> Any:
    """Return the outs of all members, one behind the other, and their states.

    arrays: each array with tokens, which may be None, with their axis, -1 or -2. out has its tokens where the first array has.
    options: what all members share.
    """
    ends, outs, states = np.asarray(cu_seqlens), [], []
    for i in range(len(ends) - 1):
        tokens = slice(int(ends[i]), int(ends[i + 1]))
        own = [None if x is None else float64(x)[(..., tokens, slice(None))[: 1 - axis]] for x, axis in arrays]
        out, after = equation(*own, state=None if state is None else float64(state)[i], **options)
        outs.append(out)
        states.append(after)
    return np.concatenate(outs, axis=arrays[0][1]), np.stack(states, axis=0)
