"""What goes wrong with transformer_block beside its parts: residuals and order."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from reference_numpy._gated_network import gating
from reference_numpy._marks import float64, rounded
from reference_numpy.rms_norm import rms_norm
from reference_numpy.transformer_block import _attention, _ffn, _normed_behind

from . import deviation

Part = Callable[[Any], Any]


def apply_pre_norm(x: Any, attention: Part, ffn: Part, norm_1: Part, norm_2: Part) -> Any:
    h = rounded(x + attention(norm_1(x)))
    return h + ffn(norm_2(h))


def apply_post_norm(x: Any, attention: Part, ffn: Part, norm_1: Part, norm_2: Part) -> Any:
    h = norm_1(rounded(x + attention(x)))
    return norm_2(rounded(h + ffn(h)))


def instead_of(step: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a block whose parts are combined by the decorated function, instead of `apply_pre_norm` or `apply_post_norm`."""

    def decorate(other: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(other)
        def block(
            x: Any,
            weights: Any,
            positions: Any = None,
            *,
            num_heads: int,
            num_kv_heads: int | None = None,
            theta: float | None = None,
            layout: str = "interleaved",
            eps: float,
            norm: str = "pre",
            scale: float | None = None,
            softcap: float | None = None,
            left_window: int | None = None,
            activation: str = "silu",
            limit: float | None = None,
            alpha: float = 1.0,
            offset: float = 0.0,
            k: int | None = None,
        ) -> Any:
            heads: dict[str, Any] = {"num_heads": num_heads, "num_kv_heads": num_kv_heads, "theta": theta, "layout": layout}
            heads |= {"eps": eps, "scale": scale, "softcap": softcap, "left_window": left_window}
            gate = gating(activation, limit, alpha, offset)

            def attention(h: Any) -> Any:
                return _normed_behind(_attention(h, weights, positions, heads), weights, "attn_post_norm", eps)

            def ffn(h: Any) -> Any:
                return _normed_behind(_ffn(h, weights, k, gate), weights, "ffn_post_norm", eps)

            def norm_1(h: Any, eps: Any = eps) -> Any:
                return rounded(rms_norm(h, weights["attn_norm"], eps=eps))

            def norm_2(h: Any, eps: Any = eps) -> Any:
                return rounded(rms_norm(h, weights["ffn_norm"], eps=eps))

            order = apply_post_norm if norm == "post" else apply_pre_norm
            return (other if order is step else order)(float64(x), attention, ffn, norm_1, norm_2)

        del block.__wrapped__  # its signature is the operation's
        block.replaced = {step: other}  # type: ignore[attr-defined]
        return block

    return decorate


# --- residuals ------------------------------------------------------------------------------------------------------


@deviation("reference", "residual_path")
@instead_of(apply_pre_norm)
def first_residual_missing(x: Any, attention: Part, ffn: Part, norm_1: Part, norm_2: Part) -> Any:
    """nothing is added to the result of attention: h = attention(norm₁(x)).

    Shows: silent sub-layers. Hides: an input that is small beside the result of attention.
    """
    h = attention(norm_1(x))
    return h + ffn(norm_2(h))


@deviation("reference", "residual_path")
@instead_of(apply_pre_norm)
def second_residual_missing(x: Any, attention: Part, ffn: Part, norm_1: Part, norm_2: Part) -> Any:
    """nothing is added to the result of the feed-forward network: y = swiglu(norm₂(h)).

    Shows: silent sub-layers. Hides: an input that is small beside the result of swiglu.
    """
    return ffn(norm_2(rounded(x + attention(norm_1(x)))))


@deviation("reference", "attention_half")
@instead_of(apply_pre_norm)
def second_residual_from_the_input(x: Any, attention: Part, ffn: Part, norm_1: Part, norm_2: Part) -> Any:
    """the second residual path starts from x, not from h: y = x + swiglu(norm₂(h)).

    Shows: attention that matters. Hides: w_o = 0.
    """
    return x + ffn(norm_2(rounded(x + attention(norm_1(x)))))


@deviation("reference", "residual_path")
@instead_of(apply_pre_norm)
def residuals_from_the_norms(x: Any, attention: Part, ffn: Part, norm_1: Part, norm_2: Part) -> Any:
    """what is added is the normalized input of each sub-layer: h = norm₁(x) + attention(norm₁(x)).

    Shows: silent sub-layers. Hides: gains of 1 and inputs of unit variance.
    """
    normed = norm_1(x)
    h = norm_2(rounded(normed + attention(normed)))
    return h + ffn(h)


@deviation("reference", "residual_path")
@instead_of(apply_pre_norm)
def first_residual_from_the_norm(x: Any, attention: Part, ffn: Part, norm_1: Part, norm_2: Part) -> Any:
    """the attention is added to its normalized input, h = norm₁(x) + attention(norm₁(x)); the feed-forward as it should be.

    Shows: silent sub-layers. Hides: a gain of 1 and inputs of unit variance.
    """
    normed = norm_1(x)
    h = rounded(normed + attention(normed))
    return h + ffn(norm_2(h))


@deviation("reference", "residual_path")
@instead_of(apply_pre_norm)
def residuals_halved(x: Any, attention: Part, ffn: Part, norm_1: Part, norm_2: Part) -> Any:
    """each sum is divided by the root of 2, to keep its variance.

    Shows: silent sub-layers. Hides: an input of zeros.
    """
    h = rounded((x + attention(norm_1(x))) / np.sqrt(2))
    return (h + ffn(norm_2(h))) / np.sqrt(2)


# --- order ----------------------------------------------------------------------------------------------------------


@deviation("reference", "residual_path", kind="convention")
@instead_of(apply_pre_norm)
def post_for_pre(x: Any, attention: Part, ffn: Part, norm_1: Part, norm_2: Part) -> Any:
    """the norms follow the sums, as in the first transformer, whatever norm says.

    Shows: norm = "pre". Hides: norm = "post".
    """
    return apply_post_norm(x, attention, ffn, norm_1, norm_2)


@deviation("reference", "post_norm_is_normalized", "post_norm_of_silent_parts", kind="convention")
@instead_of(apply_post_norm)
def pre_for_post(x: Any, attention: Part, ffn: Part, norm_1: Part, norm_2: Part) -> Any:
    """the norms stand before the sub-layers whatever norm says.

    Shows: norm = "post". Hides: norm = "pre".
    """
    return apply_pre_norm(x, attention, ffn, norm_1, norm_2)


@deviation("reference", "post_norm_of_silent_parts", kind="convention")
@instead_of(apply_post_norm)
def norms_inside_the_residual(x: Any, attention: Part, ffn: Part, norm_1: Part, norm_2: Part) -> Any:
    """with norm = "post" each norm follows its sub-layer, not the sum: h = x + norm₁(attention(x)).

    Shows: norm = "post". Hides: norm = "pre".
    """
    h = rounded(x + norm_1(attention(x)))
    return h + norm_2(ffn(h))


@deviation("reference", "post_norm_is_normalized")
@instead_of(apply_post_norm)
def last_norm_missing(x: Any, attention: Part, ffn: Part, norm_1: Part, norm_2: Part) -> Any:
    """with norm = "post" the last sum is not normalized.

    Shows: norm = "post". Hides: norm = "pre".
    """
    h = norm_1(rounded(x + attention(x)))
    return h + ffn(h)


@deviation("reference", "composition", kind="convention")
@instead_of(apply_pre_norm)
def parallel(x: Any, attention: Part, ffn: Part, norm_1: Part, norm_2: Part) -> Any:
    """both sub-layers take x: y = x + attention(norm₁(x)) + swiglu(norm₂(x)).

    Shows: attention that matters. Hides: w_o = 0 or w2 = 0.
    """
    return rounded(x + attention(norm_1(x))) + ffn(norm_2(x))


@deviation("reference")
@instead_of(apply_pre_norm)
def feed_forward_first(x: Any, attention: Part, ffn: Part, norm_1: Part, norm_2: Part) -> Any:
    """the feed-forward network, with its own norm, comes before attention.

    Shows: both sub-layers at work. Hides: w_o = 0 or w2 = 0.
    """
    return apply_pre_norm(x, ffn, attention, norm_2, norm_1)


@deviation("inputs_unchanged", kind="fault")
def residual_in_place(right: Callable[..., Any], x: Any, weights: Any, **keywords: Any) -> Any:
    """the sums are written to x (`x += attention(…)`), which the caller still holds.

    Shows: x compared with a copy after the call. Hides: a caller that does not use x again.
    """
    y = right(x, weights, **keywords)
    if x.flags.writeable:
        x[...] = y
    return y
