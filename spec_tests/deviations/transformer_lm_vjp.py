"""What goes wrong with the gradients of the language model: the embedding, and which layer is which."""

from typing import Any

from reference_numpy.transformer_lm_vjp import transformer_lm_vjp

from . import deviation


@deviation("reference", "only_tokens_seen", kind="convention")
def tied_weights(cotangent: Any, token_ids: Any, weights: Any, **options: Any) -> Any:
    """the head's gradient is added to the embedding's, as if the two were tied.

    Shows: every model. Hides: a cotangent of zeros.
    """
    _, dweights = transformer_lm_vjp(cotangent, token_ids, weights, **options)
    return None, dweights | {"token_embedding": dweights["token_embedding"] + dweights["lm_head"]}


@deviation("reference")
def layers_reversed(cotangent: Any, token_ids: Any, weights: Any, **options: Any) -> Any:
    """the layers' gradients come in the order in which they are computed, the last layer's first.

    Shows: two layers or more. Hides: a single one.
    """
    _, dweights = transformer_lm_vjp(cotangent, token_ids, weights, **options)
    return None, dweights | {"layers": dweights["layers"][::-1]}
