from typing import Any

from ._reverse_mode import vjp
from .causal_conv1d import causal_conv1d


def causal_conv1d_vjp(
    cotangent: Any,
    x: Any,
    weight: Any,
    bias: Any = None,
    state: Any = None,
    cu_seqlens: Any = None,
    *,
    activation: str | None = None,
) -> Any:
    """Gradients of causal_conv1d: with the cotangents c of out and g of the new state, p = state, then x, and
    b_t = c_t act'(bias + sum_j weight_j p_(t + j)),

        dp_s = sum_j weight_j b_(s - j),   with g added in the last w - 1 columns;   dstate, dx = the columns of dp
        dweight_j = sum_t b_t p_(t + j),   dbias = sum_t b_t,   both over the batch and all members, too

    Shapes
        cotangent: c (..., d, n) or None, g (..., d, past) or None;  x (..., d, n),  weight (d, w),  bias (d),
        state (..., d, past),  cu_seqlens (members)  ->  (dx, dweight, dbias, dstate, None), each as its argument
    Dtypes
        as the arguments
    Domain
        As in causal_conv1d; cotangents finite.
    Edges
        Without a cotangent of out the gradient of p is g in its last w - 1 columns and 0 before, bit for bit. A result whose
        cotangent is None counts as one whose cotangent is 0. The gradient of an argument that is not given is None.
    Choices
        The chain rule, step by step, through the equation.
    Source
        Differentiation of Gu and Dao 2023, arXiv:2312.00752, section 3.4. causal_conv1d_bwd of Dao-AILab/causal-conv1d.

    >>> dx, dweight, _, dstate, _ = causal_conv1d_vjp(([[1.0, 0.0]], None), [[2.0, 3.0]], [[10.0, 1.0]], None, [[5.0]])
    >>> dx, dweight, dstate
    (array([[1., 0.]]), array([[5., 2.]]), array([[10.]]))
    """
    return vjp(causal_conv1d, cotangent, x, weight, bias, state, cu_seqlens, activation=activation)
