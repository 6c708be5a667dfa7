from typing import Any

import numpy as np

from ._choice import chosen_by, taken
from ._expert_weights import scattered, weigh, weigh_vjp
from ._gated_network import gated_network, gated_network_vjp, gating
from ._marks import float64, rounded
from ._sums import rows
from .linear import linear
from .linear_vjp import linear_vjp
from .mixture_of_experts import _select
from .softmax import softmax
from .softmax_vjp import softmax_vjp


def mixture_of_experts_vjp(
    cotangent: Any,
    x: Any,
    router: Any,
    w1: Any,
    w2: Any,
    w3: Any,
    b_router: Any = None,
    b1: Any = None,
    b2: Any = None,
    b3: Any = None,
    *,
    k: int,
    renormalize: bool = True,
    activation: str = "silu",
    limit: float | None = None,
    alpha: float = 1.0,
    offset: float = 0.0,
) -> Any:
    """Gradients of mixture_of_experts: of y = sum over the chosen e of w_e E_e(x),

        dE_e = w_e c,   dw_e = c . E_e(x)

    and on through the network of each expert, for the tokens that chose it, and through moe_router_vjp and linear_vjp.

    Shapes
        cotangent (..., d),  x (..., d),  router (experts, d),  w1 (experts, h, d),  w2 (experts, d, h),  w3 (experts, h, d),
        b_router (experts),  b1 (experts, h),  b2 (experts, d),  b3 (experts, h)
        ->  (dx, drouter, dw1, dw2, dw3, db_router, db1, db2, db3), each as its argument; None for those that are not given
    Dtypes
        as the arguments
    Domain
        As in mixture_of_experts; cotangents finite.
    Edges
        An expert that no token chooses has gradients of exactly 0. The choice has no slope. One renormalized expert: the router
        has a gradient of 0, but for roundings.
    Source
        Differentiation of Shazeer et al. 2017, arXiv:1701.06538, eq. 1.

    Both experts are chosen. The second has the larger output, so that the router is to favour it:

    >>> x, w = [[1.0]], [[[1.0]], [[2.0]]]
    >>> mixture_of_experts_vjp([[1.0]], x, [[0.0], [0.0]], w, w, w, k=2)[1].round(4)
    array([[-1.5788],
           [ 1.5788]])
    """
    x, router = float64(x), float64(router)
    experts, tokens, c = router.shape[0], rows(x), rows(float64(cotangent))
    logits = rounded(linear(tokens, router, b_router))
    scores = softmax(logits, axis=-1)
    indices = chosen_by(scores, k, x.shape[:-1])
    weights = rounded(weigh(scores, indices, renormalize=renormalize, scaling_factor=1.0))
    dense, parts, slopes = scattered(weights, indices, experts), [], []
    gate, of_expert = gating(activation, limit, alpha, offset), _select(w1, w2, w3, b1, b2, b3)
    for e in range(experts):
        parts.append(gated_network_vjp(rounded(dense[:, e : e + 1] * c), tokens, *of_expert(e), **gate))
        slopes.append(np.sum(c * rounded(gated_network(tokens, *of_expert(e), **gate)), axis=-1))
    dweights = taken(np.stack(slopes, axis=-1), indices)
    dscores = weigh_vjp(rounded(dweights), scores, indices, renormalize=renormalize, scaling_factor=1.0)
    (dlogits,) = softmax_vjp(dscores, logits, axis=-1)
    through_router, drouter, db_router = linear_vjp(rounded(dlogits), tokens, router, b_router)
    chosen = np.any(indices[:, :, None] == np.arange(experts), axis=1)
    through_experts = [np.where(chosen[:, e : e + 1], part[0], 0.0) for e, part in enumerate(parts)]
    dx = np.sum(np.stack([rounded(d) for d in (*through_experts, through_router)], axis=0), axis=0)
    dw1, dw2, dw3, db1, db2, db3 = (_stacked([part[i] for part in parts]) for i in range(1, 7))
    return np.reshape(dx, x.shape), drouter, dw1, dw2, dw3, db_router, db1, db2, db3


def _stacked(gradients: list[Any]) -> Any:
    """Return the gradients of all experts as one array, None for biases that are not given."""
    return None if gradients[0] is None else np.stack(gradients, axis=0)
