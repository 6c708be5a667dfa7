from typing import Any

from ._reverse_mode import vjp
from .gated_rms_norm import gated_rms_norm


def gated_rms_norm_vjp(
    cotangent: Any,
    x: Any,
    gate: Any,
    weight: Any,
    *,
    eps: float,
    norm_before_gate: bool = True,
    group_size: int | None = None,
    activation: str = "silu",
) -> Any:
    """Gradients of gated_rms_norm: with the cotangent c of y, and n the normalized row,

        dweight = sum(c n act(gate)),   dgate = c n weight act'(gate),   dx = the gradient of the norm at c weight act(gate)

    Without norm_before_gate act(gate) is inside n: dx and dgate share the gradient of the norm at c weight. The sum for the
    weight is over all rows.

    Shapes
        cotangent (..., d),  x (..., d),  gate (..., d),  weight (d)  ->  (dx, dgate, dweight), each as its argument
    Dtypes
        as the arguments
    Domain
        As in gated_rms_norm, with no group of zeros where eps = 0; cotangents finite.
    Edges
        A weight of 0 gives x and the gate gradients of 0 in groups of one feature.
    Choices
        The chain rule, step by step, through the equation.
    Source
        Differentiation of RMSNormGated of state-spaces/mamba.

    >>> dx, dgate, dweight = gated_rms_norm_vjp([[1.0]], [[2.0]], [[0.0]], [3.0], eps=0.0)
    >>> dx + 0.0, dgate, dweight
    (array([[0.]]), array([[1.5]]), array([0.]))
    """
    options: dict[str, Any] = {"norm_before_gate": norm_before_gate, "group_size": group_size, "activation": activation}
    return vjp(gated_rms_norm, cotangent, x, gate, weight, eps=eps, **options)
