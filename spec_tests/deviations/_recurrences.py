"""The recurrences of linear attention and of Mamba-2 for deviations: token by token, and chunk by chunk."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from reference_numpy._heads import repeated_heads
from reference_numpy._marks import float64
from reference_numpy._recurrence import of_unit_length
from reference_numpy._steps import step_sizes
from reference_numpy.linear_attention import linear_attention
from reference_numpy.silu import silu

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


class Arrays(NamedTuple):
    """The arrays of a call of mamba2_scan."""

    x: Any
    dt: Any
    a: Any
    b: Any
    c: Any
    d: Any = None
    z: Any = None
    dt_bias: Any = None
    state: Any = None

    @classmethod
    def of(cls, *arrays: Any, **named: Any) -> "Arrays":
        """Return the arrays, those by position and those by name, in the order of the arguments."""
        return cls(*arrays, **named)

    @classmethod
    def split(cls, *arrays: Any, **given: Any) -> tuple["Arrays", dict[str, Any]]:
        """Return the arrays, and the other keywords."""
        return cls(*arrays, **{name: x for name, x in given.items() if name in cls._fields}), {
            name: x for name, x in given.items() if name not in cls._fields
        }

    def taken(self, tokens: slice) -> "Arrays":
        """Return some of the tokens, with the state."""
        rows = {name: taken(getattr(self, name), tokens, -2) for name in ("x", "b", "c", "z")}
        return self._replace(dt=taken(self.dt, tokens, -1), **rows)


def scan_with(
    given: Arrays,
    steps: Any,
    of_inputs: Callable[[Any, Any], Any] = lambda s, a: s,
    of_decays: Callable[[Any, Any], Any] = lambda s, a: s * a,
) -> Any:
    """Scan with given steps: the factors of the inputs and the logarithms of the decays are functions of steps and rates."""
    rates, x = np.reshape(float64(given.a), (-1, 1)), float64(given.x)
    start = None if given.state is None else np.swapaxes(float64(given.state), -1, -2)
    values = np.expand_dims(of_inputs(steps, rates), axis=-1) * x
    decays = np.expand_dims(of_decays(steps, rates), axis=-1)
    y, state = linear_attention(given.c, given.b, values, decays, None, start, scale=1.0)
    return _behind_the_scan(given, y), np.swapaxes(state, -1, -2)


def scan_by_token(given: Arrays, dt_softplus: bool, dt_limit: Any, step: Callable[..., Any]) -> Any:
    """Go through the tokens. step(t, decay, what is written, state) gives the next state, whose axes are those of x and b."""
    steps = step_sizes(given.dt, given.dt_bias, dt_softplus, dt_limit)
    x, rates = float64(given.x), np.reshape(float64(given.a), (-1, 1, 1))
    b, c = repeated_heads("mamba2_scan", x, float64(given.b), float64(given.c))
    state = np.zeros((*x.shape[:-2], x.shape[-1], b.shape[-1])) if given.state is None else float64(given.state)
    outs = [x[..., :0, :]]
    for t in range(x.shape[-2]):
        size = steps[..., t, None, None]
        written = size * x[..., t, :, None] * b[..., t, None, :]
        state = step(t, np.exp(size * rates), written, state)
        outs.append(np.swapaxes(np.matmul(state, c[..., t, :, None]), -1, -2))
    return _behind_the_scan(given, np.concatenate(outs, axis=-2)), state


def _behind_the_scan(given: Arrays, y: Any) -> Any:
    y = y if given.d is None else y + np.reshape(float64(given.d), (-1, 1, 1)) * float64(given.x)
    return y if given.z is None else y * silu(float64(given.z))
