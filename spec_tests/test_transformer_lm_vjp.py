"""What must hold of the language model's gradients."""

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_all_zero
from .inputs.draw import Draw
from .operations.transformer_lm import draw_inputs
from .trials.invariant import invariant


@invariant("E", cost=2)
def test_only_tokens_seen(transformer_lm_vjp: Operation, draw: Draw) -> None:
    """Rows of the embedding have gradients of exactly 0 where their tokens occur nowhere, or only after the last token that
    has a cotangent: ∂y_t/∂x_s = 0 for s > t."""
    token_ids, weights, keywords = draw_inputs(draw, layers=(1, 0, 2))
    vocab, n = len(weights["lm_head"]), token_ids.shape[-1]
    t = draw.integer(0, n - 1)
    c = draw.vectors((*token_ids.shape, vocab))
    c[..., t + 1 :, :] = 0.0
    unseen = ~np.isin(np.arange(vocab), token_ids[..., : t + 1])
    assert_all_zero(transformer_lm_vjp(c, token_ids, weights, **keywords, wrt="weights['token_embedding']"), unseen)
