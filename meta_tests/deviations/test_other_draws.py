"""Test that the counts of tokens name what a sampler draws with in place of its probabilities."""

import numpy as np
import pytest

from reference_numpy.sample import sample
from spec_tests.deviations.sample import (
    logistic_noise,
    noise_of_minima,
    probabilities_taken_for_logits,
    uniform_noise_in_the_race,
)
from spec_tests.helpers.drawn_instead import name_other_draws

DISTRIBUTIONS = ([0.3, 0.7], [0.2, 0.5, 0.3], [0.4, 0.0, 0.3, 0.2, 0.1])
DRAWS = 2**16


def name_of(sampler: object, *distributions: list[float]) -> str:
    drawn = []
    for p in map(np.array, distributions):
        tokens = sampler(p, seed=5, num_samples=DRAWS)  # type: ignore[operator]
        drawn.append((p, np.bincount(tokens, minlength=p.size)))
    return name_other_draws(drawn)


@pytest.mark.parametrize(
    ("sampler", "words"),
    [
        (logistic_noise, "logistic"),
        (noise_of_minima, "minima"),
        (probabilities_taken_for_logits, "softmax(p) over the tokens of p > 0"),
        (uniform_noise_in_the_race, "uniform noise"),
    ],
)
def test_other_noise_is_named(sampler: object, words: str) -> None:
    assert words in name_of(sampler, *DISTRIBUTIONS)


def test_right_draws_and_few_shares_name_nothing() -> None:
    assert name_of(sample, *DISTRIBUTIONS) == ""
    assert name_of(logistic_noise, DISTRIBUTIONS[0]) == ""


def test_what_is_no_candidate_is_not_named() -> None:
    """A hundredth of the draws give the first token."""

    def first_now_and_then(p: np.ndarray, **options: int) -> np.ndarray:
        tokens = np.array(sample(p, **options))
        tokens[::100] = 0
        return tokens

    assert name_of(first_now_and_then, *DISTRIBUTIONS) == ""


def test_candidates_with_the_same_probabilities_are_one() -> None:
    """The numbers are equal, so that every place in the order is as likely as every token."""

    def by_place(p: np.ndarray, **options: int) -> np.ndarray:
        return np.array(sample(np.sort(p)[::-1].copy(), **options))

    assert name_of(by_place, *DISTRIBUTIONS) == "places in falling order are taken for tokens"
