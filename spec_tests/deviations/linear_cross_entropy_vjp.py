"""What goes wrong with the gradients of linear_cross_entropy: chunks and cotangents."""

import math
from typing import Any

import numpy as np

from reference_numpy.linear_cross_entropy_vjp import linear_cross_entropy_vjp

from . import deviation


@deviation("reference", "chunks")
def last_chunk_alone(cotangent: Any, x: Any, weight: Any, targets: Any, **options: Any) -> Any:
    """the weight's gradient is that of the last token: each chunk overwrites the one before.

    Shows: two tokens or more. Hides: one.
    """
    dx, dweight, _ = linear_cross_entropy_vjp(cotangent, x, weight, targets, **options)
    if np.size(targets) < 2:
        return dx, dweight, None
    ids = np.ravel(targets).copy()
    ids[:-1] = options.get("ignore_index", -100)
    kept = np.sum(np.ravel(targets) != options.get("ignore_index", -100))
    one = {**options, "reduction": "sum"}
    share = cotangent
    if options.get("reduction", "mean") == "mean":
        share = cotangent / max(int(kept), 1)
    elif options["reduction"] == "none":
        share, one = cotangent, {**options}
    return dx, linear_cross_entropy_vjp(share, x, weight, np.reshape(ids, np.shape(targets)), **one)[1], None


@deviation("reference")
def cotangent_ignored(cotangent: Any, x: Any, weight: Any, targets: Any, **options: Any) -> Any:
    """the gradients are computed in the forward pass, and the cotangent is not multiplied in.

    Shows: a cotangent other than 1. Hides: loss.backward().
    """
    return linear_cross_entropy_vjp(np.ones(cotangent.shape), x, weight, targets, **options)


@deviation("reference", seen=("https://github.com/linkedin/Liger-Kernel/issues/968",))
def first_cotangent_for_all(cotangent: Any, x: Any, weight: Any, targets: Any, **options: Any) -> Any:
    """with reduction none, every token is multiplied by the cotangent of the first, and by 0 if that one has none.

    Shows: cotangents that differ from token to token. Hides: the mean and the sum, a single token.
    """
    one = np.ones(cotangent.shape) * np.reshape(cotangent, (-1,))[0] if math.prod(cotangent.shape) else cotangent
    return linear_cross_entropy_vjp(one, x, weight, targets, **options)


@deviation("reference", "ignored_tokens_have_none")
def ignored_tokens_learn(cotangent: Any, x: Any, weight: Any, targets: Any, *, ignore_index: int = -100, **options: Any) -> Any:
    """an ignored token gets the gradient of a token whose target is the first entry.

    Shows: an ignored token. Hides: targets that are all kept.
    """
    ids = np.where(np.asarray(targets) == ignore_index, 0, targets)
    return linear_cross_entropy_vjp(cotangent, x, weight, ids, **options)


@deviation("reference", "weights_sum_to_zero")
def target_rows_alone(cotangent: Any, x: Any, weight: Any, targets: Any, **options: Any) -> Any:
    """only the rows of the weight that are some token's target have a gradient.

    Shows: a vocabulary with other entries. Hides: one entry.
    """
    dx, dweight, _ = linear_cross_entropy_vjp(cotangent, x, weight, targets, **options)
    is_target = np.isin(np.arange(weight.shape[0]), np.ravel(targets))
    return dx, np.where(is_target[:, None], dweight, 0.0), None
