"""What goes wrong with the gradients of the language model: the embedding, and which layer is which."""

from typing import Any

from reference_numpy.transformer_lm_vjp import transformer_lm_vjp

from . import deviation


@deviation("reference", "only_tokens_seen", kind="convention")
def tied_weights(
    cotangent: Any,
    token_ids: Any,
    weights: Any,
    *,
    num_heads: int,
    num_kv_heads: int | None = None,
    theta: float | None,
    layout: str = "interleaved",
    eps: float,
) -> Any:
    """the head's gradient is added to the embedding's, as if the two were tied.

    Shows: every model. Hides: a cotangent of zeros.
    """
    options: dict[str, Any] = {"num_heads": num_heads, "num_kv_heads": num_kv_heads, "theta": theta, "layout": layout}
    _, dweights = transformer_lm_vjp(cotangent, token_ids, weights, eps=eps, **options)
    return None, dweights | {"token_embedding": dweights["token_embedding"] + dweights["lm_head"]}


@deviation("reference")
def layers_reversed(
    cotangent: Any,
    token_ids: Any,
    weights: Any,
    *,
    num_heads: int,
    num_kv_heads: int | None = None,
    theta: float | None,
    layout: str = "interleaved",
    eps: float,
) -> Any:
    """the layers' gradients come in the order in which they are computed, the last layer's first.

    Shows: two layers or more. Hides: a single one.
    """
    options: dict[str, Any] = {"num_heads": num_heads, "num_kv_heads": num_kv_heads, "theta": theta, "layout": layout}
    _, dweights = transformer_lm_vjp(cotangent, token_ids, weights, eps=eps, **options)
    return None, dweights | {"layers": dweights["layers"][::-1]}
