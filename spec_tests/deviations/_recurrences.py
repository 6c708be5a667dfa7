"""The recurrence of linear attention for deviations: token by token, where each changes a line, and chunk by chunk."""

from collections.abc import Callable
from typing import Any

import numpy as np

from reference_numpy._heads import repeated_heads
from reference_numpy._marks import float64
from reference_numpy._recurrence import of_unit_length
from reference_numpy.linear_attention import linear_attention

CHUNK = 16  # tokens
Step = Callable[..., tuple[Any, Any]]


def rows(x: Any, t: int) -> Any:
    """Return the row of token t with an axis for the columns of the state."""
    return x[..., t, :, None]


def taken(x: Any, tokens: slice, axis: int) -> Any:
    """Return some of the tokens of an array, whose axis they are."""
    return None if x is None else float64(x)[..., tokens] if axis == -1 else float64(x)[..., tokens, :]


def zeros(k: Any, v: Any) -> Any:
    """Return a state of zeros."""
    return np.zeros((*v.shape[:-2], k.shape[-1], v.shape[-1]))


def by_token(q: Any, k: Any, v: Any, g: Any, beta: Any, state: Any, scale: Any, qk_l2norm: bool, step: Step) -> Any:
    """Go through the tokens. step(t, decay, row of v, beta, key, query, state) gives the state and the state that is read."""
    q, k, v = float64(q), float64(k), float64(v)
    if qk_l2norm:
        q, k = of_unit_length(q), of_unit_length(k)
    q, k = repeated_heads("linear_attention", v, q, k)
    state = zeros(k, v) if state is None else float64(state)
    factor, outs = 1 / np.sqrt(k.shape[-1]) if scale is None else scale, []
    for t in range(v.shape[-2]):
        decay = 1.0 if g is None else np.exp(rows(float64(g), t))
        rate = None if beta is None else float64(beta)[..., t, None, None]
        state, seen = step(t, decay, v[..., t, None, :], rate, rows(k, t), state)
        outs.append(factor * np.matmul(q[..., t, None, :], seen))
    return np.concatenate([v[..., :0, :], *outs], axis=-2), state


def read(key: Any, state: Any) -> Any:
    """Return what a key reads, as a row."""
    return np.matmul(np.swapaxes(key, -1, -2), state)


def in_chunks(q: Any, k: Any, v: Any, g: Any, beta: Any, states: Callable[[Any], Any], state: Any, **options: Any) -> Any:
    """Go through chunks, each of which begins with what `states` makes of the state of the one before."""
    outs, n = [float64(v)[..., :0, :]], v.shape[-2]
    state = zeros(k, v) if state is None else state
    for start in range(0, n, CHUNK):
        own = slice(start, start + CHUNK)
        begins = states(state) if start else state
        arrays = (*(taken(x, own, -2) for x in (q, k, v, g)), taken(beta, own, -1), begins)
        out, state = linear_attention(*arrays, **options)
        outs.append(out)
    return np.concatenate(outs, axis=-2), float64(state)
