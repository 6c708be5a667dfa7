"""What goes wrong with the optional parts of transformer_block: norms behind sub-layers, experts, and other gates."""

from typing import Any

from reference_numpy._marks import rounded
from reference_numpy.mixture_of_experts import mixture_of_experts
from reference_numpy.rms_norm import rms_norm
from reference_numpy.transformer_block import transformer_block
from spec_tests.specification.composition import substitute

from . import deviation


def without(weights: Any, *names: str) -> dict[str, Any]:
    """Return the weights that do not have these names."""
    return {name: x for name, x in weights.items() if name not in names}


def renamed(weights: Any, **names: str) -> dict[str, Any]:
    """Return the weights, those named on the left taken from the names on the right where both are given."""
    return weights | {new: weights[old] for new, old in names.items() if new in weights and old in weights}


@deviation("norms_behind_the_sub_layers")
def norms_behind_dropped(x: Any, weights: Any, **options: Any) -> Any:
    """the norms behind the sub-layers are left out, as by code for Llama that loads the weights of Gemma 2.

    Shows: attn_post_norm or ffn_post_norm. Hides: neither.
    """
    return transformer_block(x, without(weights, "attn_post_norm", "ffn_post_norm"), **options)


@deviation("norms_behind_the_sub_layers")
def norm_before_the_network_for_that_behind_attention(x: Any, weights: Any, **options: Any) -> Any:
    """the gain of the norm before the network is used behind attention: in Gemma 2, post_attention_layernorm is the latter,
    in Llama the former.

    Shows: attn_post_norm. Hides: none; equal gains.
    """
    return transformer_block(x, renamed(weights, attn_post_norm="ffn_norm"), **options)


@deviation("norms_behind_the_sub_layers")
def norm_behind_attention_after_the_sum(x: Any, weights: Any, *, eps: float, norm: str = "pre", **options: Any) -> Any:
    """with norm = "pre", the norm behind attention follows the sum with the residual path, not attention alone.

    Shows: attn_post_norm. Hides: none; norm = "post".
    """
    if norm != "pre" or "attn_post_norm" not in weights:
        return transformer_block(x, weights, eps=eps, norm=norm, **options)
    quiet = {name: 0.0 * weights[name] for name in ("w2", "b2") if name in weights}
    h = transformer_block(x, without(weights, "attn_post_norm", "ffn_post_norm") | quiet, eps=eps, **options)
    deaf = {name: 0.0 * weights[name] for name in ("w_o", "b_o") if name in weights}
    h = rounded(rms_norm(rounded(h), weights["attn_post_norm"], eps=eps))
    return transformer_block(h, without(weights, "attn_post_norm") | deaf, eps=eps, **options)


@deviation("gated_half")
def always_silu(x: Any, weights: Any, *, activation: str = "silu", **options: Any) -> Any:
    """the gate is SiLU, whatever the activation is.

    Shows: another activation, as the tanh form of GELU in Gemma. Hides: silu.
    """
    return transformer_block(x, weights, activation="silu", **options)


@deviation("experts_half")
def router_bias_dropped(x: Any, weights: Any, **options: Any) -> Any:
    """the bias of the router is not added.

    Shows: router with b_router. Hides: no b_router.
    """
    return transformer_block(x, without(weights, "b_router"), **options)


@deviation("experts_half")
def one_expert_for_each_token(x: Any, weights: Any, *, k: int | None = None, **options: Any) -> Any:
    """the layer's experts are asked for k = 1, whatever is given.

    Shows: k of 2 or more. Hides: k = 1; no router.
    """
    return transformer_block(x, weights, k=None if k is None else 1, **options)


@deviation("experts_half", "equal_experts")
def experts_not_renormalized(x: Any, weights: Any, **options: Any) -> Any:
    """the weights of the chosen experts are their scores among all, and do not sum to 1.

    Shows: router with k below the number of experts. Hides: k = experts; no router.
    """

    def unscaled(*operands: Any, **given: Any) -> Any:
        return mixture_of_experts(*operands, **given, renormalize=False)

    with substitute("mixture_of_experts", unscaled):
        return transformer_block(x, weights, **options)


@deviation("attention_half_with_options")
def sinks_dropped(x: Any, weights: Any, **options: Any) -> Any:
    """the sinks are loaded, and attention is not given them.

    Shows: sinks. Hides: none; sinks of minus infinity.
    """
    return transformer_block(x, without(weights, "sinks"), **options)
