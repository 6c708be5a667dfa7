from typing import Any

from ._reverse_mode import vjp
from ._steps import UNLIMITED
from .mamba2_scan import mamba2_scan


def mamba2_scan_vjp(
    cotangent: Any,
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
    """Gradients of mamba2_scan: with e the cotangent of y, which is that of out times silu(z), and from the last token on

        L_t = L + e_t c_t^T,   L = e^(s_t a) L_t for the token before,   dx = s_t L_t b_t + d e_t
        db = s_t L_t^T x_t,   dc = S_t^T e_t,   ds_t = x_t . L_t b_t + a g_t,   g_t = e^(s_t a) sum(L_t S_(t-1))
        da = the sum of s_t g_t,   dd = the sum of e_t . x_t,   dz = the cotangent of out times y silu'(z)

    L begins with the cotangent of the new state, and ends as the gradient of the given one. ddt is ds σ(dt + dt_bias), or ds
    without dt_softplus, and 0 beyond the limits; ddt_bias is its sum over tokens and batch. Groups of b and c get the sum over
    the heads that read them.

    Shapes
        cotangent: e (..., h, n, p) or None, l (..., h, p, s) or None;  x (..., h, n, p),  dt (..., h, n),  a (h),
        b and c (..., g, n, s),  d (h),  z (..., h, n, p),  dt_bias (h),  state (..., h, p, s)
        ->  (dx, ddt, da, db, dc, dd, dz, ddt_bias, dstate), each as its argument
    Dtypes
        as the arguments
        Those of a, d, dt_bias and the state are float32 or wider.
    Domain
        As in mamba2_scan, no step at a limit; cotangents finite.
    Edges
        A result whose cotangent is None counts as one whose cotangent is 0. The gradient of an argument that is not
        given is None. Where e^(s_t a) is 0, nothing flows back to what came before.
    Choices
        The chain rule, through the recurrence as a whole.
    Source
        Differentiation of Dao and Gu 2024, arXiv:2405.21060, eq. 16.

    >>> import numpy as np
    >>> one = np.ones((1, 2, 1))
    >>> dx, ddt, *_ = mamba2_scan_vjp((one, None), 8 * one, [[0.5, 1.0]], np.log([0.25]), one, one)
    >>> dx[0, :, 0], ddt.round(4)
    (array([0.625, 1.   ]), array([[10.    ,  6.6137]]))
    """
    return vjp(mamba2_scan, cotangent, x, dt, a, b, c, d, z, dt_bias, state, dt_softplus=dt_softplus, dt_limit=dt_limit)
