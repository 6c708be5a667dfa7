"""What goes wrong with sampling_probabilities: the limits of filters, their order, and what the kept tokens are divided by."""

from typing import Any

import numpy as np

from reference_numpy._acceptance import number
from reference_numpy._marks import double, is_one
from reference_numpy._sums import rows
from reference_numpy._targets import is_zero
from reference_numpy.sampling_probabilities import sampling_probabilities

from . import deviation
from ._filtered import kept_by, over, tempered


@deviation("reference", "probabilities_sum_to_one")
def not_renormalized(logits: Any, **options: Any) -> Any:
    """what is kept is not divided by its sum: the probabilities are those before the filters.

    Shows: a filter that leaves something out. Hides: no filter.
    """
    return np.where(kept_by(logits, **options), tempered(logits, options.get("temperature", 1.0)), 0.0)


def _divided_before(last: str, logits: Any, options: dict[str, Any]) -> Any:
    """Return the probabilities, divided by the sum of what the filters without the last one keep."""
    earlier = over(logits, options.get("temperature", 1.0), kept_by(logits, **{**options, last: None}))
    return np.where(kept_by(logits, **options), earlier, 0.0)


@deviation("reference", "probabilities_sum_to_one")
def not_renormalized_after_min_p(logits: Any, **options: Any) -> Any:
    """what is kept is divided by the sum of what top_k and top_p keep: what min_p leaves out then is still in this sum.

    Shows: a min_p that leaves something out that the other filters keep. Hides: no min_p.
    """
    return _divided_before("min_p", logits, options)


@deviation("reference")
def not_renormalized_after_top_p(logits: Any, **options: Any) -> Any:
    """without min_p, what is kept is divided by the sum of what top_k keeps: what top_p leaves out then is still in this sum.

    Shows: a top_p that leaves something out that top_k keeps. Hides: no top_p; min_p, after which there is another division.
    """
    if options.get("min_p") is not None and not is_zero(options["min_p"]):
        return sampling_probabilities(logits, **options)
    return _divided_before("top_p", logits, options)


@deviation("reference", "ratios_of_what_is_kept")
def normalized_by_a_softmax(logits: Any, **options: Any) -> Any:
    """the kept probabilities pass through a second softmax, in place of a division by their sum.

    Shows: two tokens of different probabilities. Hides: one kept token.
    """
    kept, p = kept_by(logits, **options), tempered(logits, options.get("temperature", 1.0))
    return over(p, 1.0, kept)


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
    return over(logits, options.get("temperature", 1.0), kept & kept_by(logits, **options))


@deviation("reference")
def equals_of_the_largest_lost(logits: Any, *, min_p: Any = None, **options: Any) -> Any:
    """min_p keeps what is larger than its limit, and the first token: at min_p = 1 the equals of the largest are lost.

    Shows: min_p = 1, and two largest logits. Hides: another min_p; one largest logit.
    """
    if min_p is None or is_zero(min_p):
        return sampling_probabilities(logits, **options)
    p = number(tempered(number(logits), options.get("temperature", 1.0)))
    largest = np.max(p, axis=-1, keepdims=True)
    first = np.arange(p.shape[-1]) == np.argmax(number(logits), axis=-1)[..., None]
    return over(logits, options.get("temperature", 1.0), ((p > double(min_p) * largest) | first) & kept_by(logits, **options))


@deviation("reference", "min_p_is_a_threshold")
def min_p_of_one(logits: Any, *, min_p: Any = None, **options: Any) -> Any:
    """min_p is the least probability itself, and not a share of the largest.

    Shows: min_p, where the largest probability is not near 1. Hides: peaked rows.
    """
    if min_p is None or is_zero(min_p):
        return sampling_probabilities(logits, **options)
    t = options.get("temperature", 1.0)
    p = number(tempered(number(logits), double(t)))
    kept = (p >= double(min_p)) | (number(logits) == np.max(number(logits), axis=-1, keepdims=True))
    return over(logits, t, kept & kept_by(logits, **options))


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
    return over(logits, options.get("temperature", 1.0), kept & kept_by(logits, **options))


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
    kept = kept_by(logits, temperature=temperature, **options)
    return over(logits, temperature if is_one(temperature) or is_zero(temperature) else temperature * temperature, kept)


@deviation("reference", "ratios_of_what_is_kept")
def temperature_for_the_filters_alone(logits: Any, *, temperature: Any = 1.0, **options: Any) -> Any:
    """the filters see the temperature, and what they keep has the probabilities without it.

    Shows: a temperature other than 1. Hides: 1.
    """
    return over(logits, 1.0, kept_by(logits, temperature=temperature, **options))


@deviation("reference", "temperature_order", seen=("https://github.com/lablup/mlxcel/issues/1379",))
def min_p_before_the_temperature(logits: Any, *, temperature: Any = 1.0, min_p: Any = None, **options: Any) -> Any:
    """min_p sees the logits without the temperature, and top_p those with it.

    Shows: min_p at a temperature other than 1. Hides: a temperature of 1.
    """
    kept = kept_by(logits, min_p=min_p) & kept_by(logits, temperature=temperature, **options)
    return over(logits, temperature, kept)


@deviation("minus_infinity_is_never_kept")
def filtered_by_a_finite_number(logits: Any, **options: Any) -> Any:
    """what is filtered, and −∞, have a logit far below the largest, but finite, and so a small probability.

    Shows: a filter that leaves something out, and −∞. Hides: no filter.
    """
    t = options.get("temperature", 1.0)
    kept = kept_by(logits, **options) & (number(logits) > -np.inf)
    p = tempered(logits, t)
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
    p = rows(number(tempered(number(logits), double(t))))
    kept = np.reshape(p >= double(min_p) * np.max(p, initial=0.0), logits.shape)
    kept |= number(logits) == np.max(number(logits), axis=-1, keepdims=True)
    return over(logits, t, kept & kept_by(logits, **options))
