"""What goes wrong with moe_router: what weighs, what is renormalized, and which experts may be chosen."""

from typing import Any

import numpy as np

from reference_numpy._choice import group_scores, in_top_groups, largest, members, taken
from reference_numpy._expert_weights import weigh
from reference_numpy.moe_router import moe_router
from reference_numpy.sigmoid import sigmoid
from reference_numpy.softmax import softmax

from . import deviation
from ._steps import round_to_float32

TRANSFORMERS_BIAS = "https://github.com/huggingface/transformers/pull/41647"
VLLM_BIAS = "https://github.com/vllm-project/vllm/pull/12002"
VLLM_GROUPS = "https://github.com/vllm-project/vllm/pull/13474"
LFM2 = "https://github.com/ml-explore/mlx-lm/issues/1883"


def scores_of(logits: Any, scoring: str) -> Any:
    return softmax(logits, axis=-1) if scoring == "softmax" else sigmoid(logits)


def restricted(choice: Any, bias: Any, groups: int, top_groups: int, group_score: str | None, out: float = -np.inf) -> Any:
    """Return the scores to choose by, with `out` in place of those of the groups that are left out."""
    if groups == 1:
        return choice
    rule = group_score or ("max" if bias is None else "two")
    kept = in_top_groups(choice, groups=groups, top_groups=top_groups, group_score=rule)
    return np.where(kept, choice, out)


@deviation("constant_bias", "reference", seen=(TRANSFORMERS_BIAS, VLLM_BIAS, LFM2))
def bias_weighs(
    logits: Any, bias: Any = None,
    *, k: int, scoring: str = "softmax", renormalize: bool = True, scaling_factor: Any = 1.0,
    groups: int = 1, top_groups: int = 1, group_score: str | None = None,
) -> Any:  # fmt: skip
    """the weights are the scores with the bias that was meant for the choice alone.

    Shows: any bias but 0. Hides: no bias.
    """
    scores = scores_of(logits, scoring)
    choice = scores if bias is None else scores + bias
    indices = largest(restricted(choice, bias, groups, top_groups, group_score), k)
    return weigh(choice, indices, renormalize=renormalize, scaling_factor=scaling_factor), indices


@deviation("bias_decides_the_choice_alone", "reference")
def bias_ignored(logits: Any, bias: Any = None, **options: Any) -> Any:
    """the bias plays no part in the choice.

    Shows: a bias that changes the choice. Hides: the same bias for all experts.
    """
    rule = options.pop("group_score", None) or (None if bias is None else "two")
    return moe_router(logits, **options, group_score=rule)


@deviation(
    "bias_decides_the_choice_alone",
    kind="arithmetic",
    dtypes=("float32",),
    seen=("https://github.com/flashinfer-ai/flashinfer/pull/3875",),
)
def bias_subtracted_again(
    logits: Any, bias: Any = None,
    *, k: int, scoring: str = "softmax", renormalize: bool = True, scaling_factor: Any = 1.0,
    groups: int = 1, top_groups: int = 1, group_score: str | None = None,
) -> Any:  # fmt: skip
    """weights are the biased score less the bias, in float32, where a small score beside a large bias is lost.

    Shows: scores much smaller than their bias. Hides: scores about as large.
    """
    scores = scores_of(logits, scoring)
    choice = scores if bias is None else round_to_float32(scores + bias)
    indices = largest(restricted(choice, bias, groups, top_groups, group_score), k)
    left = choice if bias is None else choice - bias
    return weigh(left, indices, renormalize=renormalize, scaling_factor=scaling_factor), indices


@deviation("weights_are_scores", "reference", seen=("https://github.com/sgl-project/sglang/pull/35160",))
def logits_weigh(logits: Any, bias: Any = None, *, renormalize: bool = True, scaling_factor: Any = 1.0, **options: Any) -> Any:
    """without renormalize, the raw logits are the weights.

    Shows: renormalize=False. Hides: renormalize=True.
    """
    weights, indices = moe_router(logits, bias, **options, renormalize=renormalize, scaling_factor=scaling_factor)
    return (weights if renormalize else taken(logits, indices) * scaling_factor), indices


@deviation(
    "weights_are_scores",
    "reference",
    seen=("https://github.com/NVIDIA/Megatron-LM/issues/955", "https://github.com/lablup/mlxcel/pull/391"),
    like=("always-renormalized",),
)
def softmax_of_the_chosen(
    logits: Any,
    bias: Any = None,
    *,
    scoring: str = "softmax",
    renormalize: bool = True,
    scaling_factor: Any = 1.0,
    **options: Any,
) -> Any:
    """the softmax is over the chosen experts, so that weights sum to one without renormalize, too.

    Shows: renormalize=False and k < E. Hides: renormalize=True.
    """
    weights, indices = moe_router(
        logits, bias, scoring=scoring, renormalize=renormalize, scaling_factor=scaling_factor, **options
    )
    return (weights if scoring != "softmax" else softmax(taken(logits, indices), axis=-1) * scaling_factor), indices


@deviation("weights_are_scores", "reference")
def always_renormalized(logits: Any, bias: Any = None, *, renormalize: bool = True, **options: Any) -> Any:
    """weights are renormalized, whatever renormalize says.

    Shows: renormalize=False. Hides: renormalize=True.
    """
    return moe_router(logits, bias, **options, renormalize=True)


@deviation("weights_sum_to_the_factor", "softmax_after_the_choice", "reference")
def never_renormalized(logits: Any, bias: Any = None, *, renormalize: bool = True, **options: Any) -> Any:
    """weights are not renormalized, whatever renormalize says.

    Shows: renormalize=True and k < E. Hides: renormalize=False.
    """
    return moe_router(logits, bias, **options, renormalize=False)


@deviation("weights_sum_to_the_factor", "reference", seen=("https://github.com/databricks/megablocks/pull/87",))
def single_expert_not_renormalized(logits: Any, bias: Any = None, *, k: int, renormalize: bool = True, **options: Any) -> Any:
    """the weight of a single expert is not renormalized: it is its score.

    Shows: k = 1 and renormalize=True. Hides: more experts.
    """
    return moe_router(logits, bias, k=k, **options, renormalize=renormalize and k > 1)


@deviation("scaling_factor", "reference", seen=(LFM2,))
def factor_forgotten(logits: Any, bias: Any = None, *, scaling_factor: Any = 1.0, **options: Any) -> Any:
    """the scaling factor is not applied.

    Shows: a factor other than 1. Hides: 1.
    """
    return moe_router(logits, bias, **options)


@deviation("weights_sum_to_the_factor", "reference")
def factor_before_renormalizing(
    logits: Any, bias: Any = None, *, renormalize: bool = True, scaling_factor: Any = 1.0, **options: Any
) -> Any:
    """the scores are scaled before they are renormalized, which cancels the factor.

    Shows: renormalize=True and a factor other than 1. Hides: renormalize=False.
    """
    factor = 1.0 if renormalize else scaling_factor
    return moe_router(logits, bias, **options, renormalize=renormalize, scaling_factor=factor)


@deviation("constant_bias", "reference", seen=(VLLM_GROUPS, "https://github.com/huggingface/transformers/pull/45441"))
def groups_out_at_zero(
    logits: Any, bias: Any = None,
    *, k: int, scoring: str = "softmax", renormalize: bool = True, scaling_factor: Any = 1.0,
    groups: int = 1, top_groups: int = 1, group_score: str | None = None,
) -> Any:  # fmt: skip
    """experts of groups that are left out have a score of 0, which is more than a negative score.

    Shows: groups, and a bias so negative that the best group has negative scores. Hides: positive scores.
    """
    scores = scores_of(logits, scoring)
    choice = scores if bias is None else scores + bias
    indices = largest(restricted(choice, bias, groups, top_groups, group_score, out=0.0), k)
    return weigh(scores, indices, renormalize=renormalize, scaling_factor=scaling_factor), indices


@deviation("groups_left_out", "reference")
def groups_ignored(logits: Any, bias: Any = None, *, groups: int = 1, top_groups: int = 1, **options: Any) -> Any:
    """experts of all groups may be chosen.

    Shows: groups whose best experts are among the best. Hides: top_groups equal to groups.
    """
    return moe_router(logits, bias, **options)


@deviation("group_score", seen=(VLLM_GROUPS,))
def groups_by_their_best(logits: Any, bias: Any = None, *, group_score: str | None = None, **options: Any) -> Any:
    """a group's score is its largest choice, also where it is the sum of the two largest.

    Shows: groups of several experts, and a bias or group_score="two". Hides: no groups.
    """
    return moe_router(logits, bias, **options, group_score="max")


@deviation("permuted_groups", "reference")
def groups_interleaved(
    logits: Any, bias: Any = None,
    *, k: int, scoring: str = "softmax", renormalize: bool = True, scaling_factor: Any = 1.0,
    groups: int = 1, top_groups: int = 1, group_score: str | None = None,
) -> Any:  # fmt: skip
    """expert i belongs to group i mod groups, not to a run of experts.

    Shows: groups. Hides: as many groups as experts.
    """
    scores = scores_of(logits, scoring)
    choice = scores if bias is None else scores + bias
    if groups > 1:
        plain = np.asarray(getattr(choice, "value", choice))
        order = np.arange(plain.shape[-1]).reshape(-1, groups).T.ravel()
        rule = group_score or ("max" if bias is None else "two")
        chosen = largest(group_scores(plain[..., order], groups, rule), top_groups)
        choice = np.where(members(chosen, groups, plain.shape[-1])[..., np.argsort(order)], choice, -np.inf)
    indices = largest(choice, k)
    return weigh(scores, indices, renormalize=renormalize, scaling_factor=scaling_factor), indices


@deviation("weights_are_scores", "reference", seen=(LFM2,))
def always_softmax(logits: Any, bias: Any = None, *, scoring: str = "softmax", **options: Any) -> Any:
    """scores are those of softmax, whatever scoring says.

    Shows: sigmoid. Hides: softmax.
    """
    return moe_router(logits, bias, **options)


@deviation("weights_are_scores", "reference")
def always_sigmoid(logits: Any, bias: Any = None, *, scoring: str = "softmax", **options: Any) -> Any:
    """scores are those of sigmoid, whatever scoring says.

    Shows: softmax. Hides: sigmoid.
    """
    return moe_router(logits, bias, **options, scoring="sigmoid")


@deviation("reference", "permuted_experts")
def smallest_chosen(
    logits: Any, bias: Any = None, *, k: int, scoring: str = "softmax", renormalize: bool = True, scaling_factor: Any = 1.0
) -> Any:
    """the experts with the smallest scores are chosen: a sort in ascending order is cut at its beginning.

    Shows: k < E. Hides: equal scores.
    """
    scores = scores_of(logits, scoring)
    indices = largest(-(scores if bias is None else scores + bias), k)
    return weigh(scores, indices, renormalize=renormalize, scaling_factor=scaling_factor), indices


@deviation("shift_of_the_logits", "reference", kind="fault")
def padded_with_zero_logits(route: Any, logits: Any, bias: Any = None, **options: Any) -> Any:
    """the row is padded to a power of two with logits of 0, not −∞: they take part in the softmax and in the choice.

    Shows: a number of experts that is no power of two. Hides: a power of two.
    """
    experts = logits.shape[-1]
    width = 1 << (experts - 1).bit_length()
    if width == experts or options.get("groups", 1) > 1:
        return route(logits, bias, **options)
    more = np.zeros((*logits.shape[:-1], width - experts), logits.dtype)
    wide_bias = None if bias is None else np.concatenate([bias, np.zeros(width - experts, bias.dtype)])
    weights, indices = route(np.concatenate([logits, more], axis=-1), wide_bias, **options)
    return weights, np.minimum(indices, experts - 1)


@deviation("indices_are_a_set", kind="fault")
def chosen_again(
    route: Any, logits: Any, bias: Any = None,
    *, k: int, scoring: str = "softmax", renormalize: bool = True, scaling_factor: float = 1.0, groups: int = 1, **options: Any,
) -> Any:  # fmt: skip
    """the largest score is looked up k times, and a chosen score is set to 0, so that it is chosen again among negative scores.

    Shows: k > 1 and a negative bias. Hides: scores that are positive.
    """
    given = {"k": k, "scoring": scoring, "renormalize": renormalize, "scaling_factor": scaling_factor, "groups": groups}
    weights, indices = route(logits, bias, **given, **options)
    if bias is None or groups > 1:
        return weights, indices
    scores = scores_of(np.asarray(logits, dtype=float), scoring)
    left, found = scores + np.asarray(bias, dtype=float), []
    for _ in range(k):
        found.append(np.argmax(left, axis=-1)[..., None])
        np.put_along_axis(left, found[-1], 0.0, axis=-1)
    indices = np.concatenate(found, axis=-1)
    return weigh(scores, indices, renormalize=renormalize, scaling_factor=scaling_factor).astype(weights.dtype), indices
