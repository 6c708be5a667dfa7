"""What goes wrong with the gradients of a transformer block: the residual path, and which gain is whose."""

from typing import Any

from reference_numpy.multihead_self_attention_vjp import multihead_self_attention_vjp
from reference_numpy.rms_norm_vjp import rms_norm_vjp
from reference_numpy.transformer_block_vjp import transformer_block_vjp
from spec_tests.specification.composition import substitute

from . import deviation


@deviation("reference", "residual_path")
def residual_dropped(cotangent: Any, x: Any, weights: Any, positions: Any = None, *, norm: str = "pre", **options: Any) -> Any:
    """the residual path around the whole block has no gradient: dx lacks the cotangent, in the pre-norm order.

    Shows: every pre-norm block. Hides: the post-norm order.
    """
    dx, *others = transformer_block_vjp(cotangent, x, weights, positions, norm=norm, **options)
    return (dx - cotangent if norm == "pre" else dx), *others


@deviation("reference")
def gains_exchanged(cotangent: Any, x: Any, weights: Any, positions: Any = None, **options: Any) -> Any:
    """the gradients of the two gains are exchanged.

    Shows: every block. Hides: a test of dx alone.
    """
    dx, dweights, _ = transformer_block_vjp(cotangent, x, weights, positions, **options)
    return dx, dweights | {"attn_norm": dweights["ffn_norm"], "ffn_norm": dweights["attn_norm"]}, None


@deviation("reference", "residual_path", seen=("https://github.com/Dao-AILab/quack/pull/53",))
def residual_added_before_the_norm(
    cotangent: Any, x: Any, weights: Any, positions: Any = None, *, eps: float, norm: str = "pre", **options: Any
) -> Any:
    """the residual's gradient is added before the first norm is pulled back, not after, in the pre-norm order.

    Shows: every pre-norm block. Hides: the post-norm order.
    """
    dx, *others = transformer_block_vjp(cotangent, x, weights, positions, eps=eps, norm=norm, **options)
    if norm != "pre":
        return dx, *others
    return dx - cotangent + rms_norm_vjp(cotangent, x, weights["attn_norm"], eps=eps)[0], *others


@deviation("reference", "causal")
def causality_forgotten(cotangent: Any, x: Any, weights: Any, positions: Any = None, **options: Any) -> Any:
    """attention's weights are recomputed without causality.

    Shows: two tokens or more. Hides: a single token.
    """

    def everywhere(*arrays: Any, **keywords: Any) -> Any:
        return multihead_self_attention_vjp(*arrays, **{**keywords, "is_causal": False})

    with substitute("multihead_self_attention_vjp", everywhere):
        return transformer_block_vjp(cotangent, x, weights, positions, **options)
