"""What goes wrong with sample: other probabilities, draws that depend on each other, and seeds that are not used."""

from typing import Any

import numpy as np

from reference_numpy._acceptance import number
from reference_numpy.sample import sample

from . import deviation

EACH = "each_token_has_its_probability"
ROWS = "rows_are_independent"


@deviation(EACH, "sums_of_probabilities", "every_row_has_its_own_distribution", "rows_are_independent", "two_seeds_differ")
def largest_probability(probabilities: Any, *, seed: int = 0, num_samples: int = 1) -> Any:
    """the token of the largest probability is taken every time: nothing is drawn.

    Shows: a row with two tokens. Hides: a token of the probability 1.
    """
    p = number(probabilities)
    return np.repeat(np.argmax(p, axis=-1)[..., None], num_samples, axis=-1)


@deviation(EACH, "sums_of_probabilities")
def uniform_noise_in_the_race(probabilities: Any, *, seed: int = 0, num_samples: int = 1) -> Any:
    """the race divides the probabilities by uniform noise, and not by exponential noise.

    Shows: few tokens. Hides: equal probabilities; many tokens, of which all have small noise.
    """
    p = number(probabilities)
    noise = 1 - np.random.default_rng(seed).random((*p.shape[:-1], num_samples, p.shape[-1]))
    return np.argmax(p[..., None, :] / noise, axis=-1)


def _uniforms(p: Any, seed: int, num_samples: int) -> Any:
    """Return a uniform above 0 for each sample and each token."""
    return 1 - np.random.default_rng(seed).random((*p.shape[:-1], num_samples, p.shape[-1]))


def _logarithm(p: Any) -> Any:
    """Return the logarithms of probabilities, with an axis for the samples."""
    return np.where(p > 0, np.log(np.where(p > 0, p, 1.0)), -np.inf)[..., None, :]


@deviation(EACH, "sums_of_probabilities", seen=("https://github.com/aakhundov/tf-attend-infer-repeat/issues/11",))
def logistic_noise(probabilities: Any, *, seed: int = 0, num_samples: int = 1) -> Any:
    """the noise that is added to ln p is logistic, ln u − ln(1 − u), and not Gumbel's: right for a draw of one bit.

    Shows: tokens of different probabilities. Hides: equal probabilities.
    """
    p = number(probabilities)
    u = _uniforms(p, seed, num_samples)
    return np.argmax(_logarithm(p) + np.log(u) - np.log(1 - u + 2.0**-60), axis=-1)


@deviation(EACH, "sums_of_probabilities", seen=("https://github.com/EmuKit/emukit/pull/326",))
def noise_of_minima(probabilities: Any, *, seed: int = 0, num_samples: int = 1) -> Any:
    """the noise is that of minima: ln p + ln(−ln u).

    Shows: tokens of different probabilities. Hides: equal probabilities.
    """
    p = number(probabilities)
    return np.argmax(_logarithm(p) + np.log(2.0**-60 - np.log(_uniforms(p, seed, num_samples))), axis=-1)


@deviation(EACH, "sums_of_probabilities", seen=("https://github.com/openai/baselines/issues/1219",))
def probabilities_taken_for_logits(probabilities: Any, *, seed: int = 0, num_samples: int = 1) -> Any:
    """the noise is added to the probabilities and not to their logarithms: a token is drawn with softmax(p).

    Shows: tokens of different probabilities. Hides: equal probabilities.
    """
    p = number(probabilities)
    weights = np.exp(p) * (p > 0)
    return sample(weights / np.sum(weights, axis=-1, keepdims=True), seed=seed, num_samples=num_samples)


@deviation(EACH)
def second_largest_first(probabilities: Any, *, seed: int = 0, num_samples: int = 1) -> Any:
    """the sums run over the tokens in falling order, and the tokens of the two largest probabilities are exchanged.

    Shows: two tokens of different probabilities. Hides: equal probabilities.
    """
    p = number(probabilities)
    order = np.argsort(-p, axis=-1, kind="stable")
    exchanged = p.copy()
    if p.shape[-1] > 1:
        first, second = order[..., :1], order[..., 1:2]
        np.put_along_axis(exchanged, first, np.take_along_axis(p, second, axis=-1), axis=-1)
        np.put_along_axis(exchanged, second, np.take_along_axis(p, first, axis=-1), axis=-1)
        exchanged = np.where(np.take_along_axis(p, second, axis=-1) > 0, exchanged, p)
    return sample(exchanged, seed=seed, num_samples=num_samples)


@deviation(EACH)
def temperature_twice(probabilities: Any, *, seed: int = 0, num_samples: int = 1) -> Any:
    """a temperature of 0.8 is applied to the probabilities once more: a token is drawn with p^1.25 over its sum.

    Shows: unequal probabilities. Hides: equal ones.
    """
    weights = number(probabilities) ** 1.25
    return sample(weights / np.sum(weights, axis=-1, keepdims=True), seed=seed, num_samples=num_samples)


@deviation("what_has_no_probability_is_never_drawn", "reference")
def first_token_at_the_end(probabilities: Any, *, seed: int = 0, num_samples: int = 1) -> Any:
    """a hundredth of the uniforms lie above the last sum, as they do above sums in 16 bits, and draw the first token.

    Shows: a first token of the probability 0. Hides: other rows, nearly.
    """
    tokens = number(sample(probabilities, seed=seed, num_samples=num_samples)).astype(int)
    lost = np.random.default_rng([seed, 1]).random(tokens.shape) < 1e-2
    return np.where(lost, 0, tokens)


@deviation(ROWS)
def noise_of_the_first_row(probabilities: Any, *, seed: int = 0, num_samples: int = 1) -> Any:
    """all rows are drawn with the uniforms of the first.

    Shows: two rows of one call. Hides: one row; the probabilities of each.
    """
    p = number(probabilities)
    rows = p.reshape(int(np.prod(p.shape[:-1])), p.shape[-1])
    tokens = [number(sample(row, seed=seed, num_samples=num_samples)).astype(int) for row in rows]
    return np.reshape(tokens, (*p.shape[:-1], num_samples)).astype(int)


@deviation(ROWS)
def mirrored_noise_of_the_row_before(probabilities: Any, *, seed: int = 0, num_samples: int = 1) -> Any:
    """every second row has 1 − u in place of uniforms of its own, as variance is reduced elsewhere.

    Shows: neighbouring rows. Hides: one row; the probabilities of each.
    """
    p = number(probabilities)
    rows = p.reshape(int(np.prod(p.shape[:-1])), p.shape[-1])
    drawn = []
    for i, row in enumerate(rows):
        given = row if i % 2 == 0 else row[::-1]
        token = number(sample(given, seed=(seed + i // 2 * 7919) % 2**31, num_samples=num_samples)).astype(int)
        drawn.append(token if i % 2 == 0 else p.shape[-1] - 1 - token)
    return np.reshape(drawn, (*p.shape[:-1], num_samples)).astype(int)


@deviation("seeds_are_independent")
def seed_plus_row(probabilities: Any, *, seed: int = 0, num_samples: int = 1) -> Any:
    """each row has a generator with the seed plus the number of the row, so that a row repeats the next one of the seed before.

    Shows: two seeds that follow each other. Hides: one call.
    """
    p = number(probabilities)
    rows = p.reshape(int(np.prod(p.shape[:-1])), p.shape[-1])
    tokens = [number(sample(row, seed=seed + i, num_samples=num_samples)).astype(int) for i, row in enumerate(rows)]
    return np.reshape(tokens, (*p.shape[:-1], num_samples)).astype(int)


@deviation("two_seeds_differ", "seeds_are_independent")
def seed_not_used(probabilities: Any, *, seed: int = 0, num_samples: int = 1) -> Any:
    """the seed is not used: every call draws the same tokens.

    Shows: two seeds. Hides: one call.
    """
    return sample(probabilities, num_samples=num_samples)


@deviation("draws_of_a_row_are_independent")
def every_draw_twice(probabilities: Any, *, seed: int = 0, num_samples: int = 1) -> Any:
    """each draw is used for two samples, one after the other.

    Shows: several samples of one row. Hides: one sample; the probabilities.
    """
    tokens = number(sample(probabilities, seed=seed, num_samples=(num_samples + 1) // 2)).astype(int)
    return np.repeat(tokens, 2, axis=-1)[..., :num_samples]


@deviation("draws_of_a_row_are_independent")
def without_replacement(probabilities: Any, *, seed: int = 0, num_samples: int = 1) -> Any:
    """draws are without replacement as far as the vocabulary goes, the default of torch.multinomial.

    Shows: several samples of one row. Hides: one sample.
    """
    p = number(probabilities)
    rows = p.reshape(int(np.prod(p.shape[:-1])), p.shape[-1])
    rng, tokens = np.random.default_rng(seed), np.empty((len(rows), num_samples), dtype=int)
    for row, drawn in zip(rows, tokens, strict=True):
        positive = np.count_nonzero(row)
        noise = rng.standard_exponential((-(-num_samples // positive), row.size))
        order = np.argsort(np.where(row > 0, noise / np.where(row > 0, row, 1), np.inf), axis=-1)[:, :positive]
        drawn[:] = order.ravel()[:num_samples]
    return tokens.reshape(*p.shape[:-1], num_samples)


@deviation("every_row_has_its_own_distribution")
def last_row_from_the_row_before(probabilities: Any, *, seed: int = 0, num_samples: int = 1) -> Any:
    """the last of several rows is drawn from the distribution of the row before it.

    Shows: rows of different distributions. Hides: one row; equal rows.
    """
    p = number(probabilities).copy()
    rows = p.reshape(int(np.prod(p.shape[:-1])), p.shape[-1])
    if len(rows) > 1 and np.all(rows[-1][rows[-2] > 0] > 0):
        rows[-1] = rows[-2]
    return sample(p, seed=seed, num_samples=num_samples)


@deviation("sums_of_probabilities")
def sums_in_sixteen_bits(probabilities: Any, *, seed: int = 0, num_samples: int = 1) -> Any:
    """the sums of the probabilities are rounded to eight bits, as bfloat16 has them.

    Shows: sums of many small probabilities. Hides: few tokens, whose sums are off by little.
    """
    p = number(probabilities)
    u = np.random.default_rng(seed).random((*p.shape[:-1], num_samples))
    rows, tokens = p.reshape(int(np.prod(p.shape[:-1])), p.shape[-1]), []
    for row, uniforms in zip(rows, u.reshape(len(rows), num_samples), strict=True):
        total, sums = 0.0, np.empty(row.size)
        for t, x in enumerate(row):
            scale = 2.0 ** (8 - np.floor(np.log2(total + x))) if total + x > 0 else 1.0
            total = np.rint((total + x) * scale) / scale
            sums[t] = total
        place = np.minimum(np.searchsorted(sums, uniforms * total, side="right"), np.flatnonzero(row)[-1])
        tokens.append(np.where(row[place] > 0, place, np.argmax(row)))
    return np.reshape(tokens, (*p.shape[:-1], num_samples)).astype(int)
