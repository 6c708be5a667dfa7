"""What goes wrong with sample_with_noise: the sums, the races, and tokens without a probability."""

from typing import Any

import numpy as np

from reference_numpy._acceptance import number
from reference_numpy._drawn import by_inverse
from reference_numpy._marks import token_drawn
from reference_numpy.sample_with_noise import sample_with_noise

from . import deviation

INVERSE = "inverse"


def _race(p: Any, noise: Any, method: str, floor: float = 0.0) -> np.ndarray:
    p = np.maximum(p, floor)
    with np.errstate(divide="ignore", over="ignore"):
        return np.argmax(p / noise if method == "exponential" else np.log(p) + noise, axis=-1)


@deviation("what_has_no_probability_is_never_drawn")
def zero_at_the_start(probabilities: Any, noise: Any, *, method: str = INVERSE) -> Any:
    """the first token is drawn whose sum is at least the noise: at the noise 0 that is the first, of any probability.

    Shows: noise = 0 where the first token has the probability 0. Hides: other noise; races.
    """
    if method != INVERSE:
        return sample_with_noise(probabilities, noise, method=method)
    p, u = number(probabilities), number(noise)
    return np.where(u == 0, 0, sample_with_noise(p, u))


@deviation("what_has_no_probability_is_never_drawn")
def last_token_at_the_end(probabilities: Any, noise: Any, *, method: str = INVERSE) -> Any:
    """where no sum exceeds the noise, because of roundings, the last token of the vocabulary is drawn, of any probability.

    Shows: a noise near 1 where the last token has the probability 0. Hides: other noise; races.
    """
    if method != INVERSE:
        return sample_with_noise(probabilities, noise, method=method)
    p, u = number(probabilities), number(noise)
    sums, reach = np.cumsum(p, axis=-1), by_inverse(p, u)[1]
    place = np.sum(sums <= u[..., None], axis=-1)
    reach[..., -1] = np.minimum(reach[..., -1], np.abs(sums[..., -1] - u) / (4 * p.shape[-1]))
    return token_drawn(np.minimum(place, p.shape[-1] - 1), reach, probabilities)


@deviation("what_has_no_probability_is_never_drawn")
def probabilities_above_a_floor(probabilities: Any, noise: Any, *, method: str = INVERSE) -> Any:
    """the races take a probability below 1e-10 for 1e-10, as code does that shuns ln 0: a noise that is extreme draws its token.

    Shows: extreme noise of a token of the probability 0. Hides: "inverse"; other noise.
    """
    if method == INVERSE:
        return sample_with_noise(probabilities, noise)
    return _race(number(probabilities), number(noise), method, 1e-10)


@deviation("reference", "inverse_draws_each_token_for_its_share")
def one_token_late(probabilities: Any, noise: Any, *, method: str = INVERSE) -> Any:
    """ "inverse" compares the noise with the sum before each token, and so draws the token after the right one.

    Shows: noise below the last token's share. Hides: the last token; races.
    """
    if method != INVERSE:
        return sample_with_noise(probabilities, noise, method=method)
    p = number(probabilities)
    return np.minimum(number(sample_with_noise(p, noise)).astype(int) + 1, p.shape[-1] - 1)


@deviation("reference")
def place_in_the_sorted_row(probabilities: Any, noise: Any, *, method: str = INVERSE) -> Any:
    """ "inverse" sums the probabilities in falling order, and returns the place in this order in place of the token.

    Shows: a row that does not fall. Hides: one token; races.
    """
    if method != INVERSE:
        return sample_with_noise(probabilities, noise, method=method)
    return sample_with_noise(-np.sort(-number(probabilities), axis=-1), noise)


@deviation("reference")
def exponential_multiplied(probabilities: Any, noise: Any, *, method: str = INVERSE) -> Any:
    """the race multiplies by exponential noise in place of dividing by it.

    Shows: "exponential". Hides: the other methods; the shares of two tokens, which are the same.
    """
    if method != "exponential":
        return sample_with_noise(probabilities, noise, method=method)
    return np.argmax(number(probabilities) * number(noise), axis=-1)


@deviation("reference", "a_race_of_two")
def first_arrival(probabilities: Any, noise: Any, *, method: str = INVERSE) -> Any:
    """the race of exponential noise is won by the least p / noise.

    Shows: "exponential". Hides: the other methods; one token.
    """
    if method != "exponential":
        return sample_with_noise(probabilities, noise, method=method)
    p = number(probabilities)
    return np.argmin(np.where(p > 0, p / number(noise), np.inf), axis=-1)


@deviation("reference", "a_race_of_two", "both_races_agree")
def gumbel_without_a_logarithm(probabilities: Any, noise: Any, *, method: str = INVERSE) -> Any:
    """the noise of "gumbel" is added to the probabilities, and not to their logarithms.

    Shows: "gumbel" and tokens of different probabilities. Hides: the other methods; equal probabilities.
    """
    if method != "gumbel":
        return sample_with_noise(probabilities, noise, method=method)
    p = number(probabilities)
    return np.argmax(np.where(p > 0, p + number(noise), -np.inf), axis=-1)


@deviation("reference", "both_races_agree")
def gumbel_subtracted(probabilities: Any, noise: Any, *, method: str = INVERSE) -> Any:
    """the noise of "gumbel" is subtracted from the logarithms.

    Shows: "gumbel". Hides: the other methods; the shares of two tokens, which are the same.
    """
    if method != "gumbel":
        return sample_with_noise(probabilities, noise, method=method)
    return _race(number(probabilities), -number(noise), method)


@deviation("reference", "a_race_of_two", "both_races_agree")
def uniform_noise_in_the_races(probabilities: Any, noise: Any, *, method: str = INVERSE) -> Any:
    """the logarithm of Gumbel noise is left out once: the noise that is added is −ln u, and not −ln(−ln u).

    Shows: "gumbel". Hides: the other methods; one token.
    """
    if method != "gumbel":
        return sample_with_noise(probabilities, noise, method=method)
    return _race(number(probabilities), np.exp(-number(noise)), method)


@deviation("reference")
def noise_of_the_first_row(probabilities: Any, noise: Any, *, method: str = INVERSE) -> Any:
    """all rows of the batch are drawn with the noise of the first.

    Shows: a batch of several rows. Hides: one row.
    """
    p, u = number(probabilities), number(noise)
    rank = u.ndim - (method != INVERSE)
    first = u[(slice(0, 1),) * rank]
    return sample_with_noise(p, np.broadcast_to(first, u.shape) if first.size else u, method=method)


@deviation("reference", "inverse_rises_with_the_noise")
def sums_from_the_end(probabilities: Any, noise: Any, *, method: str = INVERSE) -> Any:
    """the sums of "inverse" begin at the last token, so that a larger noise draws an earlier token.

    Shows: "inverse" with several tokens of a positive probability. Hides: races; a single token.
    """
    if method != INVERSE:
        return sample_with_noise(probabilities, noise, method=method)
    p = number(probabilities)
    return p.shape[-1] - 1 - sample_with_noise(p[..., ::-1], noise)
