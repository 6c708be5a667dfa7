"""What goes wrong with verify_draft: the test of a token, the residual, and what is counted."""

from typing import Any

import numpy as np

from reference_numpy._acceptance import inverse, number
from reference_numpy.verify_draft import verify_draft

from . import deviation
from ._drafts import drafted, verify_by


@deviation("what_the_target_forbids_is_rejected", seen=("https://github.com/sgl-project/sglang/issues/35771",))
def accepted_at_equality(*arrays: Any) -> Any:
    """a token is accepted where u q ≤ p: 0 ≤ 0 accepts a token that the target forbids.

    Shows: p = 0 beside u = 0 or q = 0. Hides: p > 0.
    """
    return verify_by(arrays, accepts=lambda p, q, u: u * q <= p)


@deviation("reference", "losslessness")
def drawn_from_the_target(*arrays: Any) -> Any:
    """after a rejection the token is drawn from the target itself, and not from what the target has more than the draft.

    Shows: a rejection. Hides: drafts that are accepted whole.
    """
    return verify_by(arrays, lambda p, q: p)


@deviation("reference", "losslessness")
def residual_turned_around(*arrays: Any) -> Any:
    """the residual is what the draft has more than the target.

    Shows: a rejection. Hides: drafts that are accepted whole.
    """
    return verify_by(arrays, lambda p, q: np.maximum(q - p, 0.0))


@deviation("reference", "losslessness")
def residual_of_both_signs(*arrays: Any) -> Any:
    """the residual is |p − q|, so that tokens of which the draft has more are drawn as well.

    Shows: a rejection. Hides: drafts that are accepted whole.
    """
    return verify_by(arrays, lambda p, q: np.abs(p - q))


@deviation("reference", "losslessness")
def residual_not_normalized(*arrays: Any) -> Any:
    """the residual is not divided by its sum: the uniform exceeds all its sums mostly, and the last token is drawn.

    Shows: a rejection. Hides: a draft and a target without common tokens.
    """
    return verify_by(arrays, scales=False)


@deviation("reference", "losslessness")
def ratio_turned_around(*arrays: Any) -> Any:
    """a token is accepted where u p < q: the ratio is that of the draft to the target.

    Shows: tokens of which draft and target have different probabilities. Hides: a draft like the target.
    """
    return verify_by(arrays, accepts=lambda p, q, u: (u * p < q) & (p > 0))


@deviation("reference", "losslessness", "a_draft_without_probabilities")
def accepted_without_a_uniform(*arrays: Any) -> Any:
    """a token is accepted if the target has at least as much of it as the draft, whatever the uniform.

    Shows: 0 < p < q. Hides: uniforms near 1.
    """
    return verify_by(arrays, accepts=lambda p, q, u: (p >= q) & (p > 0))


@deviation(
    "reference",
    "losslessness",
    "a_draft_like_the_target_is_accepted",
    seen=("https://github.com/ml-explore/mlx-swift-lm/pull/459",),
)
def accepted_if_two_draws_agree(
    draft_tokens: Any, draft_probabilities: Any, target_probabilities: Any, uniforms: Any, final_uniforms: Any
) -> Any:
    """a token is accepted if the token that the target draws with the same uniform is this one.

    Shows: a target that is not one token. Hides: a target of one token.
    """
    x, p = np.asarray(draft_tokens), number(target_probabilities)
    agrees = inverse(p[:, : x.shape[1]], number(uniforms))[0] == x
    arrays = (draft_tokens, draft_probabilities, target_probabilities, uniforms, final_uniforms)
    return verify_by(arrays, accepts=lambda p, q, u: agrees)


@deviation("reference", "what_comes_after_a_rejection_does_not_show")
def counted_after_the_rejection(*arrays: Any) -> Any:
    """accepted is how many tokens pass the test by themselves, those after the first rejection too.

    Shows: a token that passes after one that does not. Hides: one drafted token.
    """
    tokens, draft, target, uniforms, _ = arrays
    one_hot, q, p = drafted(tokens, draft, target)
    of_p, of_q = np.sum(p[:, : one_hot.shape[1]] * one_hot, axis=-1), np.sum(q * one_hot, axis=-1)
    return verify_draft(*arrays)[0], np.sum(number(uniforms) * of_q < of_p, axis=-1)


@deviation("reference", "a_target_of_one_token")
def last_token_of_the_row_before(*arrays: Any) -> Any:
    """after n accepted tokens the one more is drawn from the distribution before the last.

    Shows: drafts that are accepted whole. Hides: a rejection.
    """
    tokens, draft, target, uniforms, final = arrays
    p, n = number(target), np.shape(tokens)[1]
    return verify_draft(tokens, draft, p if not n else np.concatenate([p[:, :n], p[:, n - 1 : n]], axis=1), uniforms, final)


@deviation("reference", "tokens_are_those_accepted_and_one")
def draft_left_behind(*arrays: Any) -> Any:
    """the drafted tokens after the rejected one stay where they are, in place of −1.

    Shows: a rejection before the last token. Hides: drafts that are accepted whole.
    """
    tokens, accepted = verify_draft(*arrays)
    x = np.asarray(arrays[0])
    padded = np.concatenate([x, np.full((len(x), 1), -1)], axis=1)
    return np.where(number(tokens) < 0, padded, number(tokens)).astype(int), accepted


@deviation("reference", "a_draft_without_probabilities")
def unknown_draft_accepted(*arrays: Any) -> Any:
    """without draft_probabilities every token that the target allows is accepted.

    Shows: no draft_probabilities. Hides: draft_probabilities.
    """
    tokens, draft, target, uniforms, final = arrays
    return verify_draft(tokens, draft, target, uniforms if draft is not None else 0 * number(uniforms), final)


@deviation("the_target_allows_every_token")
def last_token_at_the_end(*arrays: Any) -> Any:
    """where no sum exceeds the uniform, because of roundings, the last token of the vocabulary is drawn, of any probability.

    Shows: a uniform near 1 where the last token has the probability 0. Hides: other uniforms.
    """
    tokens, accepted = verify_draft(*arrays)
    _, _, target, _, final = arrays
    p, y, r = number(target), number(tokens).copy(), number(accepted).astype(int)
    y[np.arange(len(y)), r] = np.where(number(final) >= 1 - 2.0**-24, p.shape[-1] - 1, y[np.arange(len(y)), r])
    return y.astype(int), accepted
