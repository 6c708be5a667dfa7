"""What must hold of sample_with_noise. Rows in which roundings decide what is drawn show nothing to a law of two methods."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from .calls.operation import Operation
from .calls.result import Result
from .helpers.assertions import assert_identical, assert_true, assert_within
from .inputs.draw import MANY_ROWS, Draw, within_domain
from .operations.sample_with_noise import EXTREMES, METHODS, draw_noise, draw_rows
from .operations.verify_draft import LARGEST_UNIFORM, draw_probabilities, draw_uniforms
from .trials.invariant import invariant

DEVROYE = "Devroye 1986, III.2.1"
MADDISON = "Maddison et al. 2014, arXiv:1411.0030, section 2"
STRATA = 128
VOCABULARIES = (3, 5, 33, 65, 2)


def is_open(result: Result) -> Any:
    """Return for each row whether roundings decide which token is drawn."""
    return np.broadcast_to(result.call.expectation(result.call.operation.precision).open, result.value.shape)


def draw_one_row(draw: Draw, *, vocab: int, rows: int) -> np.ndarray:
    """Draw one row of probabilities, as often as it is needed."""
    within_domain(draw, vocab=vocab)
    draw.drawn_sizes["vocab"] = vocab
    batch = (rows,) if 1 in draw.operation.domain.get("batch_dims", (1,)) else (1, rows)
    return np.broadcast_to(draw.format.round(draw_probabilities(draw, (1, vocab))), (*batch, vocab)).copy()


def stratified(count: int) -> np.ndarray:
    return np.asarray((np.arange(count) + 0.5) / count)


@invariant("E", source=DEVROYE)
def test_what_has_no_probability_is_never_drawn(sample_with_noise: Operation, draw: Draw) -> None:
    """A token of the probability 0 is never drawn, by no noise: not at the ends of the uniforms, and not by the largest noise."""
    vocab = draw.size("vocab", VOCABULARIES)
    p = draw_probabilities(draw, (*draw.batch(MANY_ROWS), vocab))
    removed = draw.rng.random(p.shape) < draw.one_of((0.3, 0.7))
    removed[..., [0, -1]] = True
    p = np.where(removed, 0.0, p)
    p[..., vocab // 2] += np.maximum(1 - np.sum(p, axis=-1), 0.0)
    p = draw.format.round(p * draw.one_of((1.0, 1 - vocab * 2.0**-25)))  # whose sums exceed no noise near 1
    for method, noise in list_extremes(draw, p):
        tokens = sample_with_noise(p, noise, **method).value.astype(int)
        assert_true(bool(np.all((tokens >= 0) & (tokens < vocab))), "a token is drawn that does not exist", vocab=vocab)
        drawn = np.take_along_axis(p, tokens[..., None], axis=-1)
        assert_true(bool(np.all(drawn > 0)), "a token of probability 0 is drawn")


def list_extremes(draw: Draw, p: np.ndarray) -> Iterator[tuple[dict[str, Any], np.ndarray]]:
    """Yield the keyword of each method that the function has, with a noise at which an error draws such a token."""
    operation = draw.operation
    for method in operation.domain.get("method", METHODS if operation.accepts("method") else METHODS[:1]):
        given = {"method": method} if operation.accepts("method") else {}
        ends = (0.0, LARGEST_UNIFORM) if method == "inverse" else ()
        for end in ends:
            yield given, np.full(p.shape[:-1], end)
        if not ends:
            yield given, np.where(p > 0, draw_noise(draw, p, method), EXTREMES[method])


@invariant("E", source=DEVROYE)
def test_inverse_rises_with_the_noise(sample_with_noise: Operation, draw: Draw) -> None:
    """By "inverse" a larger noise draws the same token or a later one."""
    given = draw.only("method", "inverse")
    p = draw_one_row(draw, vocab=draw.size("vocab", VOCABULARIES), rows=65)
    noise = np.sort(draw_uniforms(draw, p.shape[:-1]), axis=-1)
    tokens = sample_with_noise(p, noise, **given).value
    assert_true(bool(np.all(np.diff(tokens, axis=-1) >= 0)), "a larger noise draws an earlier token")


@invariant("B", source=DEVROYE)
def test_inverse_draws_each_token_for_its_share(sample_with_noise: Operation, draw: Draw) -> None:
    """Of 128 strata of the noise, "inverse" draws each token for its share, up to two draws."""
    given = draw.only("method", "inverse")
    p = draw_one_row(draw, vocab=draw.size("vocab", VOCABULARIES), rows=STRATA)
    noise = np.broadcast_to(draw.rng.permutation(stratified(STRATA)), p.shape[:-1])
    tokens, exact = sample_with_noise(p, noise, **given).value, STRATA * p.reshape(-1, p.shape[-1])[0]
    counts = np.array([np.sum(tokens == t) for t in range(p.shape[-1])], dtype=float)
    assert_within(counts, exact - 2, exact + 2)


@invariant("B", source=MADDISON, cost=2)
def test_a_race_of_two(sample_with_noise: Operation, draw: Draw) -> None:
    """Of two tokens a race draws each for its share of the 128 x 128 pairs of strata, up to 1/128."""
    given = draw.only("method", "exponential", "gumbel")
    p = draw_one_row(draw, vocab=2, rows=STRATA**2)
    u = np.stack([x.ravel() for x in np.meshgrid(stratified(STRATA), stratified(STRATA))], axis=-1)
    noise = -np.log(u) if given.get("method") == "exponential" else -np.log(-np.log(u))
    tokens = sample_with_noise(p, draw.format.round(noise.reshape(p.shape)), **given).value
    share, exact = np.asarray(np.mean(tokens == 0)), p.reshape(-1, 2)[0, 0]
    assert_within(share, exact - 1 / STRATA, exact + 1 / STRATA)


@invariant("E", source=MADDISON)
def test_both_races_agree(sample_with_noise: Operation, draw: Draw) -> None:
    """ "exponential" with −ln u draws the token that "gumbel" draws with −ln(−ln u)."""
    first, second = (draw.only("method", method) for method in ("exponential", "gumbel"))
    p = draw_rows(draw, longest=65)
    e = draw.format.round(-np.log(draw.rng.uniform(2.0**-24, LARGEST_UNIFORM, p.shape)))
    one, other = sample_with_noise(p, e, **first), sample_with_noise(p, draw.format.round(-np.log(e)), **second)
    seen = ~(is_open(one) | is_open(other))
    assert_identical(np.where(seen, one.value, 0), np.where(seen, other.value, 0))
