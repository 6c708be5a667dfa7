"""What must hold of sampling_probabilities. Rows in which roundings decide what is kept show nothing to a law of kept sets."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .calls.result import Result
from .calls.violation import NotImplementedVariant
from .helpers.assertions import assert_equal, assert_identical, assert_true, exactly
from .helpers.conventions import assert_convention, holds_value
from .helpers.rows import draw_row_and_exact_offset
from .inputs.draw import MANY_ROWS, Draw
from .operations.sampling_probabilities import FILTERS, MILD, OPTIONAL, draw_distinct, draw_inputs, draw_options, takes
from .trials.invariant import invariant

TOP_P = "Holtzman et al. 2020, arXiv:1904.09751, section 3.1"
MIN_P = "Nguyen et al. 2024, arXiv:2407.01082, section 3"
TOP_K = "Fan et al. 2018, arXiv:1805.04833, section 5.4"


def decided(result: Result) -> Any:
    """Return for each row whether no rounding decides what it keeps."""
    is_open = result.call.expectation(result.call.operation.precision).open
    return ~np.any(np.broadcast_to(is_open, result.value.shape), axis=-1)


def draw_mild(draw: Draw) -> dict[str, Any]:
    """Draw a temperature that leaves many tokens a probability that is no rounding of others."""
    return draw.keyword("temperature", MILD) if "temperature" in takes(draw, "temperature") else {}


def kept(result: Result) -> Any:
    """Return which tokens have a probability above 0."""
    return result.value > 0


def tempered(logits: np.ndarray, temperature: float = 1.0) -> Any:
    """Return exact probabilities, before any filter."""
    e = np.exp((logits - np.max(logits, axis=-1, keepdims=True)) / temperature)
    return e / np.sum(e, axis=-1, keepdims=True)


@invariant("B", source=TOP_P)
def test_probabilities_sum_to_one(sampling_probabilities: Operation, draw: Draw) -> None:
    """The probabilities of a row sum to 1, whatever is filtered."""
    logits = draw_inputs(draw)
    y = sampling_probabilities(logits, **draw_options(draw, logits.shape[-1], *OPTIONAL, always=(draw.one_of(FILTERS),)))
    assert_equal(np.sum(y, axis=-1), np.ones(logits.shape[:-1]))  # type: ignore[call-overload]


@invariant("B", source=TOP_P)
def test_ratios_of_what_is_kept(sampling_probabilities: Operation, draw: Draw) -> None:
    """The ratio of two kept tokens is exp((z_i − z_j)/T), whatever is filtered."""
    logits = draw_distinct(draw)
    given = draw_options(draw, logits.shape[-1], *OPTIONAL, always=("temperature", draw.one_of(FILTERS)))
    y = sampling_probabilities(logits, **given)
    below: Any = (exactly(logits) - np.max(logits, axis=-1, keepdims=True)) * (1 / exactly(given.get("temperature", 1.0)))
    seen = kept(y) & (below.value > -60)
    answers: Any = y
    of_largest: Any = np.take_along_axis(answers, np.argmax(logits, axis=-1)[..., None], axis=-1)
    assert_equal(np.where(seen, answers, 0.0), np.where(seen, np.exp(below) * of_largest, 0.0))


@invariant("B", source=TOP_P)
def test_filters_that_keep_all(sampling_probabilities: Operation, draw: Draw) -> None:
    """top_k = V or V + 1, top_p = 1 and min_p = 0 filter nothing."""
    logits = draw_inputs(draw)
    temperature, vocab = draw_options(draw, logits.shape[-1], "temperature"), logits.shape[-1]
    values = {"top_k": (vocab, vocab + 1), "top_p": (1.0,), "min_p": (0.0,)}
    names = takes(draw, *FILTERS)
    if not names:
        raise NotImplementedVariant("the function takes no filter", "signature")
    names = names if draw.one_of((True, False)) else (draw.one_of(names),)
    given = {name: value for one in names for name, value in draw.only(one, *values[one]).items()}
    assert_equal(sampling_probabilities(logits, **temperature, **given), sampling_probabilities(logits, **temperature))


@invariant("E", source=TOP_K)
def test_filters_that_keep_one(sampling_probabilities: Operation, draw: Draw) -> None:
    """top_k = 1, min_p = 1, or a top_p below the probability of the largest token, keep this one alone."""
    logits = draw_distinct(draw)
    values = {"top_k": (1,), "top_p": (2.0**-12,), "min_p": (1.0,)}
    name = draw.one_of(takes(draw, *FILTERS) or ("top_k",))
    y = sampling_probabilities(logits, **draw_options(draw, logits.shape[-1], "temperature"), **draw.only(name, *values[name]))
    assert_identical(kept(y), np.arange(logits.shape[-1]) == np.argmax(logits, axis=-1)[..., None])


@invariant("E", source=TOP_K)
def test_minus_infinity_is_never_kept(sampling_probabilities: Operation, draw: Draw) -> None:
    """A logit of −∞ has the probability 0, also where top_k is more than there are others; the largest is always kept."""
    if draw.operation.domain.get("removed_entries") is False:
        raise NotImplementedVariant("its domain has no logits of −∞")
    logits = draw_distinct(draw)
    removed = draw.rng.random(logits.shape) < draw.one_of((0.3, 0.8, 1.0))
    removed &= np.arange(logits.shape[-1]) != draw.rng.integers(0, logits.shape[-1], (*logits.shape[:-1], 1))
    logits = np.where(removed, -np.inf, logits)
    y = sampling_probabilities(logits, **draw_options(draw, logits.shape[-1], *OPTIONAL, always=(draw.one_of(FILTERS),)))
    assert_identical(np.where(removed, y.value, 0.0), np.zeros(logits.shape))
    largest = np.take_along_axis(y.value, np.argmax(logits, axis=-1)[..., None], axis=-1)
    assert_true(bool(np.all(largest > 0)), "the largest token is not kept")


@invariant("E", source=TOP_K, needs=("keyword:top_k",))
def test_top_k_keeps_the_largest(sampling_probabilities: Operation, draw: Draw) -> None:
    """Of tokens that all differ, top_k keeps as many as it says, the largest, whatever the temperature."""
    logits = draw_distinct(draw)
    given = draw_mild(draw) | draw_options(draw, logits.shape[-1], always=("top_k",))
    y = sampling_probabilities(logits, **given)
    rank = np.argsort(np.argsort(-logits, axis=-1), axis=-1)
    seen = decided(y)[..., None] & (tempered(logits, given.get("temperature", 1.0)) > 2.0**-13)
    assert_identical(kept(y) & seen, (rank < given["top_k"]) & seen)


@invariant("E", source=TOP_P, needs=("keyword:top_p",))
def test_top_p_keeps_the_fewest(sampling_probabilities: Operation, draw: Draw) -> None:
    """top_p keeps at least its share of the mass, and without the least of what it keeps less than this share remains."""
    logits = draw_distinct(draw)
    given = draw_options(draw, logits.shape[-1], always=("top_p",))
    y = sampling_probabilities(logits, **given)
    p, seen = np.where(kept(y), tempered(logits), 0.0), decided(y)
    mass, least = np.sum(p, axis=-1), np.min(np.where(kept(y), p, np.inf), axis=-1)
    assert_true(
        bool(np.all((np.all(kept(y), axis=-1) | (mass >= given["top_p"]))[seen])), "less than top_p of the mass is kept", **given
    )
    assert_true(bool(np.all((mass - least < given["top_p"])[seen])), "more tokens than top_p needs are kept", **given)


@invariant("E", source=MIN_P, needs=("keyword:min_p",))
def test_min_p_is_a_threshold(sampling_probabilities: Operation, draw: Draw) -> None:
    """min_p keeps what is at least this share as likely as the largest, whatever the other tokens are."""
    logits = draw_distinct(draw)
    given = draw_mild(draw) | draw.keyword("min_p", (0.5, 0.25, 0.0625, 0.75))
    y = sampling_probabilities(logits, **given)
    sees = given.get("temperature", 1.0) if holds_value(sampling_probabilities, "temperature_order", "first") else 1.0
    with np.errstate(divide="ignore"):
        limit = np.max(logits, axis=-1, keepdims=True) + sees * np.log(given["min_p"])
    seen = decided(y)[..., None] & (tempered(logits, given.get("temperature", 1.0)) > 2.0**-13)
    assert_identical(kept(y) & seen, (logits >= limit) & seen)


@invariant("E", source=TOP_P)
def test_filters_are_nested(sampling_probabilities: Operation, draw: Draw) -> None:
    """A larger top_k or top_p, or a smaller min_p, keeps what the smaller keeps, beside other filters as well."""
    logits = draw_distinct(draw)
    name, vocab = draw.one_of(takes(draw, "top_p", *FILTERS, "top_p") or ("top_k",)), logits.shape[-1]
    given = draw_mild(draw) | draw_options(draw, vocab, *(one for one in FILTERS if one not in (name, "top_p")))
    given = {} if name == "top_p" else given
    less, more = (draw_options(draw, vocab, always=(name,)) for _ in range(2))
    if name not in less:
        raise NotImplementedVariant("the function takes no filter", "signature")
    turned = (less[name] > more[name]) != (name == "min_p")
    less, more = (more, less) if turned else (less, more)
    fewer, all_ = (sampling_probabilities(logits, **given, **one) for one in (less, more))
    seen = (decided(fewer) & decided(all_))[..., None] & (tempered(logits, given.get("temperature", 1.0)) > 2.0**-13)
    lost = kept(fewer) & ~kept(all_) & seen
    assert_true(not np.any(lost), "a token is kept by the stricter filter alone", **given, less=less[name], more=more[name])


@invariant("B", source=TOP_P)
def test_shift_of_the_logits(sampling_probabilities: Operation, draw: Draw) -> None:
    """A constant added to a row changes nothing."""
    (vocab,) = draw.dims(vocab=65)
    logits, offset = draw_row_and_exact_offset(draw, (*draw.batch(MANY_ROWS), vocab), (3, 5))
    given = draw_options(draw, vocab, *OPTIONAL, always=(draw.one_of((*FILTERS, "min_p")),))
    assert_equal(*(sampling_probabilities(x, **given) for x in (logits, logits + offset)))


@invariant("B", source=TOP_P)
def test_permuted_vocabulary(sampling_probabilities: Operation, draw: Draw) -> None:
    """Permuting the tokens permutes their probabilities."""
    logits = draw_distinct(draw)
    given, order = draw_options(draw, logits.shape[-1], *OPTIONAL), draw.rng.permutation(logits.shape[-1])
    moved = sampling_probabilities(np.ascontiguousarray(logits[..., order]), **given)
    assert_equal(moved, sampling_probabilities(logits, **given)[..., order])


@invariant("B", source="transformers, vLLM and SGLang", needs=("keyword:temperature",))
def test_temperature_order(sampling_probabilities: Operation, draw: Draw) -> None:
    """top_p and min_p see the temperature in all answers, or in none."""
    assert_convention(sampling_probabilities, draw, "temperature_order")


@invariant("B", source="transformers, vLLM and SGLang", needs=("keyword:top_k",))
def test_top_k_ties(sampling_probabilities: Operation, draw: Draw) -> None:
    """top_k keeps all tokens that equal the last one that it keeps, or as many as it says, in all answers."""
    assert_convention(sampling_probabilities, draw, "top_k_ties")


@invariant("B", source="transformers, vLLM and SGLang", needs=("keyword:top_p",))
def test_top_p_mass(sampling_probabilities: Operation, draw: Draw) -> None:
    """top_p counts the mass of what top_k keeps, of what min_p keeps as well, or of all tokens, in all answers."""
    assert_convention(sampling_probabilities, draw, "top_p_mass")


@invariant("B", source="transformers, vLLM and SGLang", needs=("keyword:top_p",))
def test_top_p_ties(sampling_probabilities: Operation, draw: Draw) -> None:
    """top_p keeps all tokens that equal the last one that it keeps, or as many as it counted, in all answers."""
    assert_convention(sampling_probabilities, draw, "top_p_ties")
