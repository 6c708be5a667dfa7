"""What goes wrong with the gradients of mixture_of_experts: the router's, and which experts and tokens take part."""

from typing import Any

import numpy as np

from reference_numpy._choice import chosen_by, taken
from reference_numpy._expert_weights import scattered, weigh
from reference_numpy._sums import rows
from reference_numpy.linear import linear
from reference_numpy.linear_vjp import linear_vjp
from reference_numpy.mixture_of_experts_vjp import mixture_of_experts_vjp
from reference_numpy.softmax import softmax
from reference_numpy.softmax_vjp import softmax_vjp
from reference_numpy.swiglu import swiglu

from . import deviation


@deviation("reference", seen=("https://github.com/NVIDIA-NeMo/Automodel/pull/2995",))
def router_learns_nothing(
    cotangent: Any, x: Any, router: Any, w1: Any, w2: Any, w3: Any, *, k: int, renormalize: bool = True, **options: Any
) -> Any:
    """the weights are detached, as by a gather without a gradient: the router has a gradient of 0.

    Shows: experts that differ. Hides: one renormalized expert.
    """
    options |= {"k": k, "renormalize": renormalize}
    dx, drouter, *rest = mixture_of_experts_vjp(cotangent, x, router, w1, w2, w3, **options)
    return dx, 0.0 * drouter, *rest


@deviation("equal_outputs_teach_the_router_nothing")
def constant_sum(cotangent: Any, x: Any, router: Any, w1: Any, w2: Any, w3: Any, *, k: int, renormalize: bool = True) -> Any:
    """the sum that divides the weights is treated as a constant.

    Shows: renormalize=True. Hides: renormalize=False.
    """
    dx, drouter, *rest = mixture_of_experts_vjp(cotangent, x, router, w1, w2, w3, k=k, renormalize=renormalize)
    if not renormalize:
        return dx, drouter, *rest
    tokens, c, experts = rows(x), rows(cotangent), router.shape[0]
    logits = linear(tokens, router)
    scores = softmax(logits, axis=-1)
    indices = chosen_by(scores, k, x.shape[:-1])
    slopes = [np.sum(c * swiglu(tokens, w1[e], w2[e], w3[e]), axis=-1) for e in range(experts)]
    chosen = scattered(taken(scores, indices), indices, experts)
    dweights = taken(np.stack(slopes, axis=-1), indices) / np.sum(chosen, axis=-1, keepdims=True)
    (dlogits,) = softmax_vjp(scattered(dweights, indices, experts), logits, axis=-1)
    _, other, _ = linear_vjp(dlogits, tokens, router)
    return dx, other, *rest


@deviation("router_sums_to_zero", "reference")
def slope_of_the_chosen_alone(
    cotangent: Any, x: Any, router: Any, w1: Any, w2: Any, w3: Any, *, k: int, renormalize: bool = True
) -> Any:
    """only the diagonal of the softmax's Jacobian is used for the router.

    Shows: several experts. Hides: one.
    """
    dx, _, *rest = mixture_of_experts_vjp(cotangent, x, router, w1, w2, w3, k=k, renormalize=renormalize)
    tokens, c, experts = rows(x), rows(cotangent), router.shape[0]
    scores = softmax(linear(tokens, router), axis=-1)
    indices = chosen_by(scores, k, x.shape[:-1])
    slopes = [np.sum(c * swiglu(tokens, w1[e], w2[e], w3[e]), axis=-1) for e in range(experts)]
    weights = weigh(scores, indices, renormalize=renormalize, scaling_factor=1.0)
    dlogits = scattered(weights * taken(np.stack(slopes, axis=-1), indices), indices, experts)
    return dx, linear_vjp(dlogits, tokens, router)[1], *rest


@deviation("one_chosen_expert_is_swiglu", "reference")
def experts_learn_half(
    cotangent: Any, x: Any, router: Any, w1: Any, w2: Any, w3: Any, *, k: int, renormalize: bool = True
) -> Any:
    """the experts' gradients are those of half the weight: they are averaged over two copies.

    Shows: any cotangent. Hides: one of 0.
    """
    dx, drouter, *rest = mixture_of_experts_vjp(cotangent, x, router, w1, w2, w3, k=k, renormalize=renormalize)
    return dx, drouter, *(0.5 * part for part in rest)


@deviation("idle_experts_learn_nothing", "reference")
def all_experts_learn(cotangent: Any, x: Any, router: Any, w1: Any, w2: Any, w3: Any, *, k: int, renormalize: bool = True) -> Any:
    """every expert gets the gradient that it would have if all were chosen.

    Shows: k < experts. Hides: k = experts.
    """
    return mixture_of_experts_vjp(cotangent, x, router, w1, w2, w3, k=router.shape[0], renormalize=renormalize)


@deviation("idle_experts_do_not_show", seen=("https://github.com/huggingface/transformers/issues/48687",))
def idle_experts_teach_the_router(
    cotangent: Any, x: Any, router: Any, w1: Any, w2: Any, w3: Any, *, k: int, renormalize: bool = True
) -> Any:
    """without renormalize, the router gets a gradient from experts that were not chosen: a weight of 0 hides their output from
    the result alone.

    Shows: renormalize=False and k < experts. Hides: k = experts.
    """
    dx, drouter, *rest = mixture_of_experts_vjp(cotangent, x, router, w1, w2, w3, k=k, renormalize=renormalize)
    if renormalize:
        return dx, drouter, *rest
    tokens, c = rows(x), rows(cotangent)
    slopes = [np.sum(c * swiglu(tokens, w1[e], w2[e], w3[e]), axis=-1) for e in range(router.shape[0])]
    (dlogits,) = softmax_vjp(np.stack(slopes, axis=-1), linear(tokens, router), axis=-1)
    return dx, linear_vjp(dlogits, tokens, router)[1], *rest
