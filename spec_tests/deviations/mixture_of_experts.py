"""What goes wrong with mixture_of_experts: how outputs are weighed and put together, and which tokens an expert takes."""

from typing import Any

import numpy as np

from reference_numpy._choice import chosen_by, taken
from reference_numpy._expert_weights import weigh
from reference_numpy._sums import rows
from reference_numpy.linear import linear
from reference_numpy.mixture_of_experts import mixture_of_experts
from reference_numpy.softmax import softmax
from reference_numpy.swiglu import swiglu

from . import deviation


def combine(x: Any, router: Any, w1: Any, w2: Any, w3: Any, k: int, weigher: Any, *, on_input: bool = False) -> Any:
    """Return the sum of the chosen experts' outputs, each times what `weigher(scores, indices)` returns."""
    tokens = rows(x)
    scores = softmax(linear(tokens, router), axis=-1)
    indices = chosen_by(scores, k, x.shape[:-1])
    weights, each, terms = weigher(scores, indices), np.arange(indices.shape[0]), []
    for j in range(k):
        weight = weights[:, j : j + 1]
        given = tokens * weight if on_input else tokens
        outputs = np.stack([swiglu(given, w1[e], w2[e], w3[e]) for e in range(router.shape[0])], axis=0)
        term = outputs[indices[:, j], each]
        terms.append(term if on_input else weight * term)
    return np.reshape(np.sum(np.stack(terms, axis=0), axis=0), x.shape)


@deviation("chosen_experts_are_weighted", "equal_experts", "reference", kind="convention")
def weight_on_the_input(x: Any, router: Any, w1: Any, w2: Any, w3: Any, *, k: int, renormalize: bool = True) -> Any:
    """the weight multiplies the expert's input, not its output, as in Llama 4.

    Shows: weights other than 1. Hides: one renormalized expert.
    """

    def weigher(scores: Any, indices: Any) -> Any:
        return weigh(scores, indices, renormalize=renormalize, scaling_factor=1.0)

    return combine(x, router, w1, w2, w3, k, weigher, on_input=True)


@deviation("chosen_experts_are_weighted", "reference")
def weights_ignored(x: Any, router: Any, w1: Any, w2: Any, w3: Any, *, k: int, renormalize: bool = True) -> Any:
    """the outputs of the chosen experts are averaged, without their weights.

    Shows: scores that differ. Hides: one renormalized expert.
    """
    return combine(x, router, w1, w2, w3, k, lambda scores, indices: taken(0.0 * scores + 1.0 / k, indices))


@deviation("chosen_experts_are_weighted", "reference", seen=("https://github.com/sgl-project/sglang/pull/35160",))
def logits_weigh(x: Any, router: Any, w1: Any, w2: Any, w3: Any, *, k: int, renormalize: bool = True) -> Any:
    """without renormalize, the raw logits are the weights.

    Shows: renormalize=False. Hides: renormalize=True.
    """
    if renormalize:
        return mixture_of_experts(x, router, w1, w2, w3, k=k)
    logits = linear(rows(x), router)
    return combine(x, router, w1, w2, w3, k, lambda scores, indices: taken(logits, indices))


@deviation("chosen_experts_are_weighted", "reference")
def never_renormalized(
    x: Any, router: Any, w1: Any, w2: Any, w3: Any, *, k: int, renormalize: bool = True, **options: Any
) -> Any:
    """weights are not renormalized, whatever renormalize says.

    Shows: renormalize=True and k < experts. Hides: k = experts.
    """
    return mixture_of_experts(x, router, w1, w2, w3, k=k, renormalize=False, **options)


@deviation("chosen_experts_are_weighted", "reference")
def always_renormalized(
    x: Any, router: Any, w1: Any, w2: Any, w3: Any, *, k: int, renormalize: bool = True, **options: Any
) -> Any:
    """weights are renormalized, whatever renormalize says.

    Shows: renormalize=False and k < experts. Hides: k = experts.
    """
    return mixture_of_experts(x, router, w1, w2, w3, k=k, renormalize=True, **options)


@deviation("idle_experts_do_not_show", "reference")
def all_experts_weigh(x: Any, router: Any, w1: Any, w2: Any, w3: Any, *, k: int, renormalize: bool = True) -> Any:
    """every expert takes part, by its score, whatever k is.

    Shows: k < experts. Hides: k = experts.
    """
    return mixture_of_experts(x, router, w1, w2, w3, k=router.shape[0], renormalize=renormalize)


@deviation("chosen_experts_are_weighted", "reference")
def best_expert_alone(x: Any, router: Any, w1: Any, w2: Any, w3: Any, *, k: int, renormalize: bool = True) -> Any:
    """only the expert with the largest score takes part, whatever k is.

    Shows: k > 1. Hides: k = 1.
    """
    return mixture_of_experts(x, router, w1, w2, w3, k=1, renormalize=renormalize)


@deviation("chosen_experts_are_weighted", "reference")
def signal_gates(x: Any, router: Any, w1: Any, w2: Any, w3: Any, *, k: int, renormalize: bool = True) -> Any:
    """the packed gate and up projections are split in the wrong order: W₁ and W₃ are exchanged.

    Shows: W₁ and W₃ that differ. Hides: equal ones.
    """
    return mixture_of_experts(x, router, w3, w2, w1, k=k, renormalize=renormalize)


@deviation("chosen_experts_are_weighted", "reference")
def softmax_over_tokens(x: Any, router: Any, w1: Any, w2: Any, w3: Any, *, k: int, renormalize: bool = True) -> Any:
    """without renormalize, the softmax is over the tokens, not over the experts.

    Shows: renormalize=False. Hides: renormalize=True.
    """
    if renormalize:
        return mixture_of_experts(x, router, w1, w2, w3, k=k)
    over_tokens = softmax(linear(rows(x), router), axis=0)
    return combine(x, router, w1, w2, w3, k, lambda scores, indices: taken(over_tokens, indices))


@deviation("tokens_in_any_number", kind="fault")
def expert_is_full(right: Any, x: Any, router: Any, w1: Any, w2: Any, w3: Any, *, k: int, **options: Any) -> Any:
    """an expert takes no more than a quarter more than its even share of the tokens; what comes later is dropped.

    Shows: many tokens for one expert. Hides: few tokens, spread evenly.
    """
    y = np.array(right(x, router, w1, w2, w3, k=k, **options))
    tokens = x.reshape(-1, x.shape[-1]).astype(float)
    chosen = np.argsort(-(tokens @ router.astype(float).T), axis=-1, kind="stable")[:, :k]
    capacity = int(np.ceil(1.25 * chosen.size / len(router))) if chosen.size else 0
    dropped = np.zeros(len(tokens), dtype=bool)
    for e in range(len(router)):
        dropped[np.flatnonzero(np.any(chosen == e, axis=-1))[capacity:]] = True
    y.reshape(len(tokens), -1)[dropped] = 0
    return y


@deviation("reference", kind="fault")
def left_sorted_by_expert(right: Any, x: Any, router: Any, w1: Any, w2: Any, w3: Any, *, k: int, **options: Any) -> Any:
    """tokens are sorted by their expert for one product, and the results are left in that order.

    Shows: several tokens for several experts. Hides: one token, or tokens that come in this order.
    """
    y = right(x, router, w1, w2, w3, k=k, **options)
    best = np.argmax(x.reshape(-1, x.shape[-1]).astype(float) @ router.astype(float).T, axis=-1)
    return y.reshape(len(best), -1)[np.argsort(best, kind="stable")].reshape(y.shape)


@deviation("chosen_experts_are_weighted", "reference")
def last_expert_overwrites(x: Any, router: Any, w1: Any, w2: Any, w3: Any, *, k: int, renormalize: bool = True) -> Any:
    """each expert writes its output over that of the expert before, instead of adding to it.

    Shows: k > 1. Hides: k = 1.
    """

    def weigher(scores: Any, indices: Any) -> Any:
        weights = weigh(scores, indices, renormalize=renormalize, scaling_factor=1.0)
        return np.where(np.arange(k) == k - 1, weights, 0.0)

    return combine(x, router, w1, w2, w3, k, weigher)


@deviation("linear_in_w2", "reference", kind="fault")
def output_weights_in_eight_bits(right: Any, x: Any, router: Any, w1: Any, w2: Any, w3: Any, **options: Any) -> Any:
    """the second weight of each expert is stored in 8-bit integers, scaled so that its largest entry is 127.

    Shows: weights that are no multiples of the largest one's 127th part. Hides: zeros, and weights of one magnitude.
    """
    step = np.max(np.abs(w2), axis=(-2, -1), keepdims=True) / 127
    step = np.where(step == 0, 1, step)
    return right(x, router, w1, (np.round(w2 / step) * step).astype(w2.dtype), w3, **options)
