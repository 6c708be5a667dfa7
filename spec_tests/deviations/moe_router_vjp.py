"""What goes wrong with the gradient of moe_router: what the sum that divides, the factor and the softmax contribute."""

from typing import Any

import numpy as np

from reference_numpy._expert_weights import scattered, weigh_vjp
from reference_numpy.moe_router import moe_router
from reference_numpy.moe_router_vjp import moe_router_vjp
from reference_numpy.sigmoid import sigmoid
from reference_numpy.sigmoid_vjp import sigmoid_vjp
from reference_numpy.softmax import softmax
from reference_numpy.softmax_vjp import softmax_vjp

from . import deviation


def through(ds: Any, logits: Any, bias: Any, scoring: str) -> Any:
    """Return the gradients, from that of the scores."""
    (dz,) = softmax_vjp(ds, logits, axis=-1) if scoring == "softmax" else sigmoid_vjp(ds, logits)
    return dz, None if bias is None else 0.0 * bias


@deviation("equal_cotangents", "reference")
def constant_sum(
    cotangent: Any, logits: Any, bias: Any = None,
    *, scoring: str = "softmax", renormalize: bool = True, scaling_factor: Any = 1.0, **options: Any,
) -> Any:  # fmt: skip
    """the sum that divides the weights is treated as a constant.

    Shows: renormalize=True. Hides: renormalize=False.
    """
    _, indices = moe_router(logits, bias, scoring=scoring, **options)
    scores = softmax(logits, axis=-1) if scoring == "softmax" else sigmoid(logits)
    c = cotangent[0] * scaling_factor
    if renormalize:
        chosen = np.where(np.any(indices[..., None] == np.arange(logits.shape[-1]), axis=-2), scores, 0.0)
        c = c / np.sum(chosen, axis=-1, keepdims=True)
    return through(scattered(c, indices, logits.shape[-1]), logits, bias, scoring)


@deviation("reference")
def factor_forgotten(cotangent: Any, logits: Any, bias: Any = None, *, scaling_factor: Any = 1.0, **options: Any) -> Any:
    """the scaling factor is missing from the gradient.

    Shows: a factor other than 1. Hides: 1.
    """
    return moe_router_vjp(cotangent, logits, bias, **options)


@deviation("sums_to_zero", "reference")
def diagonal_of_the_softmax(
    cotangent: Any, logits: Any, bias: Any = None,
    *, scoring: str = "softmax", renormalize: bool = True, scaling_factor: Any = 1.0, **options: Any,
) -> Any:  # fmt: skip
    """only the diagonal of the softmax's Jacobian is used.

    Shows: softmax scores. Hides: sigmoid scores.
    """
    _, indices = moe_router(logits, bias, scoring=scoring, **options)
    scores = softmax(logits, axis=-1) if scoring == "softmax" else sigmoid(logits)
    ds = weigh_vjp(cotangent[0], scores, indices, renormalize=renormalize, scaling_factor=scaling_factor)
    return scores * (1 - scores) * ds, None if bias is None else 0.0 * bias


@deviation("others_do_not_matter", "reference")
def straight_through(
    cotangent: Any, logits: Any, bias: Any = None,
    *, scoring: str = "softmax", renormalize: bool = True, scaling_factor: Any = 1.0, **options: Any,
) -> Any:  # fmt: skip
    """experts that were not chosen get the mean cotangent of those that were.

    Shows: k < E. Hides: k = E.
    """
    _, indices = moe_router(logits, bias, scoring=scoring, **options)
    scores = softmax(logits, axis=-1) if scoring == "softmax" else sigmoid(logits)
    ds = weigh_vjp(cotangent[0], scores, indices, renormalize=renormalize, scaling_factor=scaling_factor)
    chosen = np.any(indices[..., None] == np.arange(logits.shape[-1]), axis=-2)
    mean = np.mean(cotangent[0], axis=-1, keepdims=True) * scaling_factor
    return through(np.where(chosen, ds, mean), logits, bias, scoring)


@deviation("bias_has_no_slope", "reference", seen=("https://github.com/huggingface/transformers/pull/41647",))
def bias_learns(
    cotangent: Any, logits: Any, bias: Any = None,
    *, scoring: str = "softmax", renormalize: bool = True, scaling_factor: Any = 1.0, **options: Any,
) -> Any:  # fmt: skip
    """the bias gets the gradient of the scores, as if it were part of the weights.

    Shows: a bias. Hides: none.
    """
    dz, _ = moe_router_vjp(
        cotangent, logits, bias, scoring=scoring, renormalize=renormalize, scaling_factor=scaling_factor, **options
    )
    if bias is None:
        return dz, None
    _, indices = moe_router(logits, bias, scoring=scoring, **options)
    ds = scattered(cotangent[0] * scaling_factor, indices, logits.shape[-1])
    while ds.ndim > 1:
        ds = np.sum(ds, axis=0)
    return dz, ds
