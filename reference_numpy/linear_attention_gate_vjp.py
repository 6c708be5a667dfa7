from typing import Any

from ._reverse_mode import vjp
from .linear_attention_gate import linear_attention_gate


def linear_attention_gate_vjp(
    cotangent: Any, x: Any, a_log: Any, dt_bias: Any = None, *, lower_bound: float | None = None
) -> Any:
    """Gradients of linear_attention_gate: with the cotangent c of g, and a = e^a_log,

        dx = -c a σ(y),   or with lower_bound   dx = lower_bound c a s (1 - s),   s = σ(a y)
        da_log = the sum of c g,   or with lower_bound   the sum of dx y;   ddt_bias = the sum of dx over tokens and batch

    Shapes
        cotangent (..., h, n, d),  x (..., h, n, d),  a_log (h),  dt_bias (h, d)  ->  (dx, da_log, ddt_bias), each as its argument
    Dtypes
        as the arguments
        a_log and dt_bias are float32 or wider.
    Domain
        As in linear_attention_gate; cotangents finite.
    Edges
        Where y is very negative, dx is 0. The gradient of an argument that is not given is None.
    Choices
        The chain rule, step by step, through the equation.
    Source
        Differentiation of Kimi Linear, arXiv:2510.26692, section 4. kda_gate_bwd of fla-org/flash-linear-attention.

    >>> dx, da_log, _ = linear_attention_gate_vjp([[[1.0]]], [[[0.0]]], [0.0])
    >>> dx, da_log.round(4)
    (array([[[-0.5]]]), array([-0.6931]))
    """
    return vjp(linear_attention_gate, cotangent, x, a_log, dt_bias, lower_bound=lower_bound)
