"""What goes wrong with top_p: its limit, what it sums and in which order, and the ends of its range."""

from typing import Any

import numpy as np

from reference_numpy._acceptance import number
from reference_numpy._kept import kept_tokens
from reference_numpy._marks import double, float64, widened
from reference_numpy.sampling_probabilities import sampling_probabilities

from . import deviation
from ._filtered import call_filters, kept_by, over


def _falling(logits: Any, temperature: Any, top_k: Any) -> tuple[Any, Any, Any]:
    """Return the order of falling probabilities of what top_k keeps, these probabilities, and their sums."""
    z = np.where(kept_by(logits, top_k=top_k), number(logits) / (double(temperature) or 1.0), -np.inf)
    order = np.argsort(-z, axis=-1, kind="stable")
    e = np.exp(np.take_along_axis(z, order, axis=-1) - np.max(z, axis=-1, keepdims=True))
    p = e / np.sum(e, axis=-1, keepdims=True)
    return order, p, np.cumsum(p, axis=-1)


def _placed(inside: Any, order: Any) -> Any:
    """Return what is given in another order in that of the vocabulary."""
    placed = np.zeros(inside.shape, dtype=bool)
    np.put_along_axis(placed, order, inside, axis=-1)
    return placed


def _by_top_p(logits: Any, inside: Any, options: dict[str, Any]) -> Any:
    """Return the result with another rule of top_p: how far, in falling order, it keeps tokens, of p, its sums and top_p.

    A larger top_p keeps more, and the first token is always kept.
    """
    share = options.get("top_p")
    if share is None or double(share) == 1:
        return sampling_probabilities(logits, **options)
    filters = call_filters(logits, options)

    def count(unit: float, counted: tuple[Any, Any]) -> tuple[Any, Any]:
        """Return the fewest and the most tokens that this rule may keep, of so many whose mass is counted."""
        if filters.top_p is None:
            return filters.present, filters.present
        slack = (4 * unit * (filters.s.shape[-1] + 4 + 2 * filters.size))[:, None]
        found = []
        for of, sign in zip(counted, (-1, 1), strict=True):
            sums = filters.sums / np.take_along_axis(filters.sums, np.maximum(of - 1, 0)[:, None], axis=-1)
            p = np.diff(sums, axis=-1, prepend=0.0)
            found.append(np.minimum(np.maximum(np.sum(inside(p, sums, filters.top_p + sign * slack), axis=-1), 1), of))
        return found[0], found[1]

    filters.by_top_p = count  # type: ignore[method-assign]
    return over(logits, options.get("temperature", 1.0), kept_tokens(filters, widened(float64(logits))))


@deviation("reference", "top_p_keeps_the_fewest")
def last_of_top_p_lost(logits: Any, **options: Any) -> Any:
    """top_p keeps the tokens up to which the sum does not exceed it, so that the one that reaches it is lost.

    Shows: a top_p above the largest probability. Hides: top_p = 1.
    """
    return _by_top_p(logits, lambda p, sums, share: sums <= share, options)


@deviation("reference", "top_p_keeps_the_fewest")
def one_more_than_top_p(logits: Any, **options: Any) -> Any:
    """top_p keeps the token after the one that reaches it as well.

    Shows: a top_p that leaves two tokens out. Hides: top_p = 1.
    """
    return _by_top_p(logits, lambda p, sums, share: sums - p - np.roll(p, 1, axis=-1) * (sums > p) < share, options)


@deviation("reference", "top_p_keeps_the_fewest")
def mass_before_is_not_accumulated(logits: Any, **options: Any) -> Any:
    """top_p leaves out tokens whose probability is less than 1 − top_p by itself, without a sum.

    Shows: many tokens of small probabilities. Hides: two tokens.
    """
    return _by_top_p(logits, lambda p, sums, share: p >= 1 - share, options)


@deviation("reference", "top_p_keeps_the_fewest")
def rising_order(logits: Any, **options: Any) -> Any:
    """top_p sums in rising order up to its share, and leaves out what comes after it.

    Shows: top_p. Hides: top_p = 1.
    """
    t, share = options.get("temperature", 1.0), options.get("top_p")
    if share is None or double(share) == 1:
        return sampling_probabilities(logits, **options)
    order, p, _ = _falling(logits, t, options.get("top_k"))
    inside = np.flip(np.cumsum(np.flip(p, -1), -1) - np.flip(p, -1), -1) < double(share)
    others = {name: x for name, x in options.items() if name != "top_p"}
    return over(logits, t, _placed(inside, order) & kept_by(logits, **others))


@deviation("reference", "top_p_keeps_the_fewest", "permuted_vocabulary")
def order_not_undone(logits: Any, **options: Any) -> Any:
    """what top_p keeps is marked in falling order, and never put back into the order of the vocabulary.

    Shows: tokens in any order. Hides: tokens in falling order.
    """
    t, share = options.get("temperature", 1.0), options.get("top_p")
    if share is None or double(share) == 1:
        return sampling_probabilities(logits, **options)
    _, p, sums = _falling(logits, t, options.get("top_k"))
    return over(logits, t, sums - p < double(share))


@deviation("reference", "filters_that_keep_one", seen=("https://github.com/ml-explore/mlx-lm/pull/388",))
def all_filtered(logits: Any, **options: Any) -> Any:
    """where the largest probability alone exceeds top_p, nothing is kept, and the row is uniform.

    Shows: a top_p below the largest probability. Hides: top_p = 1.
    """
    share = options.get("top_p")
    y = sampling_probabilities(logits, **options)
    if share is None or double(share) == 1:
        return y
    _, p, _ = _falling(logits, options.get("temperature", 1.0), options.get("top_k"))
    return np.where(p[..., :1] > double(share), 1.0 / logits.shape[-1], y)


@deviation("reference", "filters_are_nested", "top_p_keeps_the_fewest")
def share_that_is_left_out(logits: Any, *, top_p: Any = None, **options: Any) -> Any:
    """top_p is the share of the mass that is left out, so that a larger one keeps less.

    Shows: a top_p other than 1/2. Hides: no top_p.
    """
    if top_p is None or double(top_p) == 1:
        return sampling_probabilities(logits, top_p=top_p, **options)
    return sampling_probabilities(logits, top_p=1 - double(top_p), **options)


@deviation("reference", "filters_that_keep_all")
def last_token_lost_at_one(logits: Any, **options: Any) -> Any:
    """top_p = 1 keeps the tokens of which the sum is below 1, and so not the least likely one.

    Shows: top_p = 1. Hides: other values.
    """
    y, share = sampling_probabilities(logits, **options), options.get("top_p")
    if share is None or double(share) != 1 or logits.shape[-1] < 2:
        return y
    z = number(logits)
    last = z.shape[-1] - 1 - np.argmin(z[..., ::-1], axis=-1)
    kept = (np.arange(z.shape[-1]) != last[..., None]) | (z == np.max(z, axis=-1, keepdims=True))
    return over(logits, options.get("temperature", 1.0), kept & kept_by(logits, **options))
