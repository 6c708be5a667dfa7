"""What goes wrong with sampling_probabilities: the limits of filters, their order, and what the kept tokens are divided by."""

from typing import Any

import numpy as np

from reference_numpy._acceptance import number
from reference_numpy._kept import Filters, rules
from reference_numpy._marks import double, is_one
from reference_numpy._sums import rows
from reference_numpy._targets import is_zero
from reference_numpy._tempered import tempered_softmax
from reference_numpy.sampling_probabilities import sampling_probabilities

from . import deviation


def _tempered(logits: Any, temperature: Any) -> Any:
    return tempered_softmax(logits, 1.0 if is_zero(temperature) else temperature)


def _over(logits: Any, temperature: Any, kept: Any) -> Any:
    """Return the tempered softmax over these tokens."""
    p = np.where(kept, _tempered(logits, temperature), 0.0)
    return p / np.sum(p, axis=-1, keepdims=True)


def _kept(logits: Any, **options: Any) -> Any:
    """Return which tokens filters keep."""
    plain = {name: double(options[name]) if options.get(name) is not None else None for name in ("top_k", "top_p", "min_p")}
    t = double(options.get("temperature", 1.0))
    return Filters(number(logits), t, plain["top_k"], plain["top_p"], plain["min_p"], rules()).keep()


def _falling(logits: Any, temperature: Any, top_k: Any) -> tuple[Any, Any, Any]:
    """Return the order of falling probabilities of what top_k keeps, these probabilities, and their sums."""
    z = np.where(_kept(logits, top_k=top_k), number(logits) / (double(temperature) or 1.0), -np.inf)
    order = np.argsort(-z, axis=-1, kind="stable")
    e = np.exp(np.take_along_axis(z, order, axis=-1) - np.max(z, axis=-1, keepdims=True))
    p = e / np.sum(e, axis=-1, keepdims=True)
    return order, p, np.cumsum(p, axis=-1)


def _placed(inside: Any, order: Any) -> Any:
    """Return what is given in another order in that of the vocabulary."""
    placed = np.zeros(inside.shape, dtype=bool)
    np.put_along_axis(placed, order, inside, axis=-1)
    return placed


def _by_top_p(logits: Any, inside: Any, options: dict[str, Any], *, first: bool = True) -> Any:
    """Return the result with another rule of top_p: which tokens, in falling order, it keeps, of p, its sums and top_p."""
    temperature, share = options.get("temperature", 1.0), options.get("top_p")
    others = {name: x for name, x in options.items() if name != "top_p"}
    if share is None or double(share) == 1:
        return sampling_probabilities(logits, **options)
    order, p, sums = _falling(logits, temperature, options.get("top_k"))
    chosen = np.asarray(inside(p, sums, double(share)))
    chosen = chosen | (np.arange(p.shape[-1]) == 0) if first else chosen
    return _over(logits, temperature, _placed(chosen, order) & _kept(logits, **others))


@deviation("reference", "probabilities_sum_to_one")
def not_renormalized(logits: Any, **options: Any) -> Any:
    """what is kept is not divided by its sum: the probabilities are those before the filters.

    Shows: a filter that leaves something out. Hides: no filter.
    """
    return np.where(_kept(logits, **options), _tempered(logits, options.get("temperature", 1.0)), 0.0)


@deviation("reference", "ratios_of_what_is_kept")
def normalized_by_a_softmax(logits: Any, **options: Any) -> Any:
    """the kept probabilities pass through a second softmax, in place of a division by their sum.

    Shows: two tokens of different probabilities. Hides: one kept token.
    """
    kept, p = _kept(logits, **options), _tempered(logits, options.get("temperature", 1.0))
    return _over(p, 1.0, kept)


@deviation(
    "reference",
    "min_p_is_a_threshold",
    "shift_of_the_logits",
    seen=("https://github.com/sgl-project/sglang-jax/pull/1563",),
)
def min_p_of_the_logits(logits: Any, *, min_p: Any = None, **options: Any) -> Any:
    """min_p is a share of the largest logit, and not of the largest probability.

    Shows: min_p, where the largest logit is not near 0. Hides: no min_p.
    """
    if min_p is None or is_zero(min_p):
        return sampling_probabilities(logits, **options)
    z = number(logits)
    largest = np.max(z, axis=-1, keepdims=True)
    kept = (z >= double(min_p) * largest) | (z == largest)
    return _over(logits, options.get("temperature", 1.0), kept & _kept(logits, **options))


@deviation("reference")
def equals_of_the_largest_lost(logits: Any, *, min_p: Any = None, **options: Any) -> Any:
    """min_p keeps what is larger than its limit, and the first token: at min_p = 1 the equals of the largest are lost.

    Shows: min_p = 1, and two largest logits. Hides: another min_p; one largest logit.
    """
    if min_p is None or is_zero(min_p):
        return sampling_probabilities(logits, **options)
    p = number(_tempered(number(logits), options.get("temperature", 1.0)))
    largest = np.max(p, axis=-1, keepdims=True)
    first = np.arange(p.shape[-1]) == np.argmax(number(logits), axis=-1)[..., None]
    return _over(logits, options.get("temperature", 1.0), ((p > double(min_p) * largest) | first) & _kept(logits, **options))


@deviation("reference", "min_p_is_a_threshold")
def min_p_of_one(logits: Any, *, min_p: Any = None, **options: Any) -> Any:
    """min_p is the least probability itself, and not a share of the largest.

    Shows: min_p, where the largest probability is not near 1. Hides: peaked rows.
    """
    if min_p is None or is_zero(min_p):
        return sampling_probabilities(logits, **options)
    t = options.get("temperature", 1.0)
    p = number(_tempered(number(logits), double(t)))
    kept = (p >= double(min_p)) | (number(logits) == np.max(number(logits), axis=-1, keepdims=True))
    return _over(logits, t, kept & _kept(logits, **options))


@deviation("reference", "top_k_keeps_the_largest")
def one_more_than_top_k(logits: Any, *, top_k: Any = None, **options: Any) -> Any:
    """top_k keeps one token more than it says.

    Shows: a top_k below the vocabulary. Hides: no top_k.
    """
    return sampling_probabilities(logits, top_k=None if top_k is None else top_k + 1, **options)


@deviation("reference", "top_k_keeps_the_largest")
def top_k_strict(logits: Any, *, top_k: Any = None, **options: Any) -> Any:
    """top_k keeps what is larger than the logit at place k, so that this one is lost.

    Shows: a top_k from 2 on, below the vocabulary. Hides: no top_k.
    """
    if top_k is None or not 1 < top_k < logits.shape[-1]:
        return sampling_probabilities(logits, top_k=top_k, **options)
    limit = np.sort(number(logits), axis=-1)[..., -top_k, None]
    kept = number(logits) > limit
    kept = np.where(np.any(kept, axis=-1, keepdims=True), kept, number(logits) == limit)
    return _over(logits, options.get("temperature", 1.0), kept & _kept(logits, **options))


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
    return _by_top_p(
        logits, lambda p, sums, share: np.flip(np.cumsum(np.flip(p, -1), -1) - np.flip(p, -1), -1) < share, options, first=False
    )


@deviation("reference", "top_p_keeps_the_fewest", "permuted_vocabulary")
def order_not_undone(logits: Any, **options: Any) -> Any:
    """what top_p keeps is marked in falling order, and never put back into the order of the vocabulary.

    Shows: tokens in any order. Hides: tokens in falling order.
    """
    t, share = options.get("temperature", 1.0), options.get("top_p")
    if share is None or double(share) == 1:
        return sampling_probabilities(logits, **options)
    _, p, sums = _falling(logits, t, options.get("top_k"))
    return _over(logits, t, sums - p < double(share))


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
    return _over(logits, options.get("temperature", 1.0), kept & _kept(logits, **options))


@deviation("reference", "ratios_of_what_is_kept")
def temperature_multiplied(logits: Any, *, temperature: Any = 1.0, **options: Any) -> Any:
    """logits are multiplied by the temperature.

    Shows: a temperature other than 1. Hides: 1.
    """
    return sampling_probabilities(logits, temperature=temperature if is_zero(temperature) else 1 / temperature, **options)


@deviation("reference", "ratios_of_what_is_kept")
def temperature_twice(logits: Any, *, temperature: Any = 1.0, **options: Any) -> Any:
    """the temperature is applied before the filters, and once more to what they keep.

    Shows: a temperature other than 1. Hides: 1.
    """
    kept = _kept(logits, temperature=temperature, **options)
    return _over(logits, temperature if is_one(temperature) or is_zero(temperature) else temperature * temperature, kept)


@deviation("reference", "ratios_of_what_is_kept")
def temperature_for_the_filters_alone(logits: Any, *, temperature: Any = 1.0, **options: Any) -> Any:
    """the filters see the temperature, and what they keep has the probabilities without it.

    Shows: a temperature other than 1. Hides: 1.
    """
    return _over(logits, 1.0, _kept(logits, temperature=temperature, **options))


@deviation("reference", "temperature_order", seen=("https://github.com/lablup/mlxcel/issues/1379",))
def min_p_before_the_temperature(logits: Any, *, temperature: Any = 1.0, min_p: Any = None, **options: Any) -> Any:
    """min_p sees the logits without the temperature, and top_p those with it.

    Shows: min_p at a temperature other than 1. Hides: a temperature of 1.
    """
    kept = _kept(logits, min_p=min_p) & _kept(logits, temperature=temperature, **options)
    return _over(logits, temperature, kept)


@deviation("minus_infinity_is_never_kept")
def filtered_by_a_finite_number(logits: Any, **options: Any) -> Any:
    """what is filtered, and −∞, have a logit far below the largest, but finite, and so a small probability.

    Shows: a filter that leaves something out, and −∞. Hides: no filter.
    """
    t = options.get("temperature", 1.0)
    kept = _kept(logits, **options) & (number(logits) > -np.inf)
    p = _tempered(logits, t)
    largest = np.max(p, axis=-1, keepdims=True)
    p = np.where(kept, p, largest * 2.0**-16)
    return p / np.sum(p, axis=-1, keepdims=True)


@deviation("reference")
def min_p_of_all_rows(logits: Any, *, min_p: Any = None, **options: Any) -> Any:
    """min_p takes a share of the largest probability of all rows.

    Shows: min_p, and rows of different largest probabilities. Hides: one row.
    """
    if min_p is None or is_zero(min_p):
        return sampling_probabilities(logits, **options)
    t = options.get("temperature", 1.0)
    p = rows(number(_tempered(number(logits), double(t))))
    kept = np.reshape(p >= double(min_p) * np.max(p, initial=0.0), logits.shape)
    kept |= number(logits) == np.max(number(logits), axis=-1, keepdims=True)
    return _over(logits, t, kept & _kept(logits, **options))
