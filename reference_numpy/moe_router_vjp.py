from typing import Any

from ._expert_weights import weigh_vjp
from ._marks import float64
from .moe_router import moe_router
from .sigmoid import sigmoid
from .sigmoid_vjp import sigmoid_vjp
from .softmax import softmax
from .softmax_vjp import softmax_vjp


def moe_router_vjp(
    cotangent: Any,
    logits: Any,
    bias: Any = None,
    *,
    k: int,
    scoring: str = "softmax",
    renormalize: bool = True,
    scaling_factor: float = 1.0,
    groups: int = 1,
    top_groups: int = 1,
    group_score: str | None = None,
) -> Any:
    """Gradient of moe_router: with the cotangent c of the weights w and the sum S of the chosen scores,

        ds_i = scaling_factor * (c_i - sum_j(c_j s_j) / S) / S,   or scaling_factor * c_i without renormalize

    for the chosen experts, 0 for the others, and on through softmax_vjp or sigmoid_vjp.

    Shapes
        cotangent: c (..., k), None;  logits (..., experts),  bias (experts)  ->  (dlogits, dbias), each as its argument
    Dtypes
        as the arguments
    Domain
        As in moe_router; cotangents finite.
    Edges
        The choice has no slope: the bias has a gradient of 0, and indices have no cotangent. One renormalized expert: 0, but for
        roundings. Softmax scores: each dlogits sums to 0.
    Choices
        c is in the order of the experts' numbers. A backend's automatic differentiation is given it in the order of its weights.
    Source
        Differentiation of Jiang et al. 2024, arXiv:2401.04088, section 2.1.

    >>> moe_router_vjp(([[1.0, 0.0]], None), [[0.0, 0.0, -1.0]], k=2)[0].round(4) + 0.0
    array([[ 0.25, -0.25,  0.  ]])
    """
    z, c = float64(logits), float64(cotangent[0])
    options: dict[str, Any] = {"k": k, "scoring": scoring, "groups": groups, "top_groups": top_groups, "group_score": group_score}
    _, indices = moe_router(logits, bias, **options)
    scores = softmax(z, axis=-1) if scoring == "softmax" else sigmoid(z)
    ds = weigh_vjp(c, scores, indices, renormalize=renormalize, scaling_factor=scaling_factor)
    (dz,) = softmax_vjp(ds, z, axis=-1) if scoring == "softmax" else sigmoid_vjp(ds, z)
    return dz, None if bias is None else 0.0 * float64(bias)
