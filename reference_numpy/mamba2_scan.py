from typing import Any

import numpy as np

from ._heads import copied_heads
from ._marks import as_a_whole, float64, logistic, wide
from ._recurrence import recur
from ._steps import UNLIMITED, step_sizes


def mamba2_scan(
    x: Any,
    dt: Any,
    a: Any,
    b: Any,
    c: Any,
    d: Any = None,
    z: Any = None,
    dt_bias: Any = None,
    state: Any = None,
    *,
    dt_softplus: bool = False,
    dt_limit: tuple[float, float] = UNLIMITED,
) -> Any:
    """The state space model of Mamba-2: steps in time whose sizes, inputs and readouts depend on the token.

        s_t = min(max(softplus(dt_t + dt_bias), lowest), highest)
        S_t = e^(s_t a) S_(t-1) + s_t x_t b_t^T,   y_t = S_t c_t + d x_t,   out_t = y_t silu(z_t)

    Without dt_softplus softplus alone is left out. Without d nothing is added, and without z out is y. Head i reads
    group i // (h / g) of b and c. For one token this is the step of decoding.

    Shapes
        x (..., h, n, p),  dt (..., h, n),  a (h),  b and c (..., g, n, s),  d (h),  z (..., h, n, p),  dt_bias (h),
        state (..., h, p, s)  ->  out (..., h, n, p),  state (..., h, p, s)
    Dtypes
        out as the arguments; state as the arguments, or float32 or wider
        a, d, dt_bias and the given state are float32 or wider. A state is of 16 bits under the convention state_dtype alone.
    Units
        s_t in units of time, and a for each of them. n in tokens.
    Domain
        a < 0, and s_t a >= -200. Without dt_softplus and limits dt + dt_bias >= 0. In float64 softplus has arguments up to
        20, beyond which torch's is the argument itself, or such that dt_limit cuts off. g divides h.
    Edges
        Without a state it begins with zeros. n = 0 returns the state. Where s_t is 0, nothing decays and nothing is added.
        Where e^(s_t a) is 0, nothing from before shows.

    Raises
        ValueError where g does not divide h.
    Choices
        The input is multiplied by the step itself, and not by (e^(s_t a) - 1) / a. dt_limit = (lowest, highest) acts after
        softplus. Heads stand before tokens, as in every operation with a state; a backend may state the other order, with its
        convention token_axis.
    Source
        Dao and Gu 2024, arXiv:2405.21060, eq. 16, and mamba_chunk_scan_combined and selective_state_update of
        state-spaces/mamba.

    Two steps of a half and one unit of time, which keep a half and a quarter of the state:

    >>> one = np.ones((1, 2, 1))
    >>> out, state = mamba2_scan(8 * one, [[0.5, 1.0]], np.log([0.25]), one, one)
    >>> out[0, :, 0], state
    (array([4., 9.]), array([[[9.]]]))
    >>> mamba2_scan(8 * one, [[0.5, 1.0]], np.log([0.25]), one, 0 * one, d=[2.0])[0][0, :, 0]
    array([16., 16.])
    """
    x = float64(x)
    n = x.shape[-2]
    steps = step_sizes(wide(float64(dt)), dt_bias, dt_softplus, dt_limit)
    b, c = copied_heads("mamba2_scan", x, b, c)
    start = np.zeros((*x.shape[:-2], x.shape[-1], b.shape[-1])) if state is None else float64(state)
    decays = np.expand_dims(steps * np.reshape(float64(a), (-1, 1)), axis=-1)
    steps = np.expand_dims(steps, axis=-1)
    rows = as_a_whole(recur, c, b, steps * x, decays, None, np.swapaxes(start, -1, -2), steps, 1.0)
    y = rows[..., :n, :]
    if d is not None:
        y = y + np.reshape(float64(d), (-1, 1, 1)) * x
    if z is not None:
        z = float64(z)
        y = y * (z * logistic(z))
    return y, np.swapaxes(rows[..., n:, :], -1, -2)
