"""The statistical laws of sample: their exact chances, no alarm on right samplers, and what a failure says."""

import re

import numpy as np
import pytest

from spec_tests.calls.violation import Violation
from spec_tests.helpers.drawn_counts import (
    WrongShares,
    assert_pairs,
    assert_shares,
    assert_sums,
    chernoff,
    chernoff_limit,
    distance_limit,
)

from ..measure.sampling_power import (
    CHANCES,
    DISTRIBUTIONS,
    NAMES,
    RUNS,
    STATISTICS,
    TRIALS,
    chance_up_to,
    count_alarms,
    distance_from_uniform,
    list_powers,
    power,
    run_right,
)
from ..support.exact_counts import binomial, chance_of_cells, chance_of_sums
from ..support.paths import DOCS, MEASURED
from ..support.right_samplers import off_by_one_deviation

FEW = 40  # runs of a daily test, which a line of 1000 stands for
N = 4096


def test_the_limits_are_those_of_the_page() -> None:
    assert f"{distance_limit(2**16):.4f}" == "0.0147"
    assert chernoff_limit(2) == pytest.approx(np.log(4e12))


def test_a_draw_of_what_has_no_probability_exceeds_every_limit() -> None:
    assert chernoff([1, 9], 10, [0.0, 1.0]).tolist() == [np.inf, np.inf]
    assert chernoff([0, 10], 10, [0.0, 1.0]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("p", [0.5, 0.1])
def test_the_chance_of_an_alarm_is_below_the_bound(p: float) -> None:
    """By the binomial distribution, for one cell and both directions: 2 exp(-limit)."""
    n, limit = 200, 5.0
    far = chernoff(np.arange(n + 1), n, p) > limit
    assert 0 < np.sum(binomial(n, p)[far]) <= 2 * np.exp(-limit)


def test_exact_distributions_of_both_statistics() -> None:
    """Of two tokens they are sums of binomial probabilities; of three, of multinomial ones, which are all listed."""
    n, p = 12, np.array([0.2, 0.5, 0.3])
    all_counts = [np.array([a, b, n - a - b]) for a in range(n + 1) for b in range(n + 1 - a)]
    factorial = np.cumprod([1, *range(1, n + 1)]).astype(float)
    chances = np.array([factorial[n] / np.prod(factorial[c]) * np.prod(p**c) for c in all_counts])
    for limit in (0.5, 1.0, 2.0):
        inside = np.array([np.max(chernoff(c, n, p)) <= limit for c in all_counts])
        assert chance_of_cells(n, p, limit) == pytest.approx(np.sum(chances[inside]), abs=1e-12)
    for distance in (0.06, 0.11, 0.21):
        inside = np.array([np.max(np.abs(np.cumsum(c / n - p))) <= distance for c in all_counts])
        assert chance_of_sums(n, p, distance) == pytest.approx(np.sum(chances[inside]), abs=1e-12)


def test_right_samplers_have_the_exact_distribution() -> None:
    """A sampler that is off by one standard deviation does not."""
    runs, off = ([run_right(i, N, sampler) for i in range(10 * FEW)] for sampler in (None, off_by_one_deviation))
    limit = np.sqrt(np.log(2e6) / (2 * len(runs)))  # exceeded once in a million runs
    assert len({run[0] for run in runs}) == len(DISTRIBUTIONS) > 1 < len(NAMES)
    for i, kind in enumerate(STATISTICS):
        ratios = [run[1 + 2 * i] for run in runs]
        assert max(ratios) < 1, kind
        assert distance_from_uniform(np.array([run[2 + 2 * i] for run in runs])) < limit, kind
        assert distance_from_uniform(np.array([run[2 + 2 * i] for run in off])) > limit, kind
        assert chance_up_to(kind, 1.0, N, np.asarray(DISTRIBUTIONS[0])) > 1 - 1e-9


@pytest.mark.parametrize("name", list_powers())
def test_a_law_alarms_with_its_chance(name: str) -> None:
    """Within five standard deviations of a few runs; docs/measured has many runs, within three."""
    for chance in CHANCES:
        _, exact = power(name, chance)
        seen = count_alarms(name, chance, FEW, start=1)
        assert abs(seen - FEW * exact) <= 5 * np.sqrt(FEW * exact * (1 - exact)), chance


def test_the_committed_measurement() -> None:
    text = (MEASURED / "sampling_power.txt").read_text()
    assert text.startswith(f"{RUNS} runs of right samplers ({', '.join(NAMES)})")
    assert re.findall(r"(\w+): (\d+) alarms", text) == [(kind, "0") for kind in STATISTICS]
    quantiles = [float(x) for x in re.findall(r"quantile ([\d.]+)", text)]
    assert len(quantiles) == len(STATISTICS)
    assert all(0.001 < x < 0.999 for x in quantiles)
    distances = [tuple(map(float, found)) for found in re.findall(r"([\d.]+) from uniform, ([\d.]+) allowed", text)]
    biased = [float(x) for x in re.findall(r"deviation: ([\d.]+)", text)]
    assert all(distance < allowed < off for (distance, allowed), off in zip(distances, biased, strict=True))
    for name, (_, _, p, _, _) in list_powers().items():
        for chance in CHANCES:
            shift, exact = power(name, chance)
            found = re.search(rf"{re.escape(f'  {name}: {p:.4g} + {shift:.3g} with {exact:.3f}; ')}(\d+), ", text)
            assert found is not None, "run python -m meta_tests.measure.sampling_power > docs/measured/sampling_power.txt"
            assert abs(int(found[1]) - TRIALS * exact) <= 3 * np.sqrt(TRIALS * exact * (1 - exact)), name


def test_the_page_states_the_power() -> None:
    page = (DOCS / "bounds.md").read_text()
    for name, (_, _, p, _, _) in list_powers().items():
        shifts = [f"{power(name, chance)[0]:.3g}" for chance in CHANCES]
        law, _, sizes = name.partition(", ")
        assert f"| {law} | {sizes} | {p:.4g} | {' | '.join(shifts)} |" in page, name


def test_a_failure_says_counts_and_expected_counts() -> None:
    with pytest.raises(WrongShares, match="2 of 2 counts") as caught:
        assert_shares(np.zeros(1000), np.array([0.25, 0.75]), {"seed": 7})
    assert caught.value.facts[:2] == [
        ("token 0", "1000 times, 250.0 expected"),
        ("token 1", "0 times, 750.0 expected"),
    ]
    assert ("seed", "7") in caught.value.facts
    with pytest.raises(WrongShares, match=r"off by 0\.75"):
        assert_sums(np.array([1000, 0]), np.array([0.25, 0.75]), 1000, {})
    half = np.array([0.5, 0.5])
    tokens = np.tile([0, 1], 500)
    with pytest.raises(
        Violation, match="in each of 1000 pairs of draws, which are to be independent, both are the same token"
    ) as caught:
        assert_pairs(tokens, tokens, half, {})
    assert caught.value.facts[0] == ("two equal tokens", "1000 times, 500.0 expected")
    with pytest.raises(Violation, match="1 of 1 counts"):
        assert_pairs(tokens, 1 - tokens, half, {})
    with pytest.raises(Violation, match="does not exist"):
        assert_shares(np.array([2]), half, {})
