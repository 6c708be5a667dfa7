"""Measure the statistical laws of sample: no alarm on right samplers, and the chance with which each sees a shift.

python -m meta_tests.measure.sampling_power [--kept FILE] > docs/measured/sampling_power.txt

Each group of runs is kept in FILE, as a line of JSON, when it is done, so that the command can be stopped and started again.
Right samplers draw in 1000 runs. The exact distribution of the largest statistic makes a number between 0 and 1 of each, which is
uniform if the statistic has that distribution. A sampler that is off by one standard deviation shows that the comparison sees it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from spec_tests.calls.violation import Violation
from spec_tests.helpers.drawn_counts import (
    ALARM,
    assert_counts,
    assert_pairs,
    assert_shares,
    assert_sums,
    chernoff,
    chernoff_limit,
    count_tokens,
    distance_limit,
    largest_distance,
    rounding_of_pairs,
    rounding_of_sums,
)

from ..support.exact_counts import alarm_chance, chance_of_cells, chance_of_sums, shift_seen
from ..support.right_samplers import RIGHT, Sampler, off_by_one_deviation

N = 2**16
RUNS, TRIALS, GROUP = 1000, 400, 100  # runs of right samplers, runs of each shift, and runs of a line that is kept
ROWS = 33
CHANCES = (0.5, 0.99)
FLAT, SKEWED = (0.5, 0.5), (0.9, 0.1)
DISTRIBUTIONS = (FLAT, SKEWED, (0.2, 0.5, 0.3), (0.98, 0.01, 0.01), (1 / 33,) * 33, tuple(np.arange(1, 34) / 561))
JUST_BELOW = 1 - 1e-9
STATISTICS = ("counts", "sums")
NAMES = tuple(RIGHT)


def statistic(kind: str, counts: np.ndarray, n: int, p: np.ndarray) -> float:
    """Return the largest statistic of a law over its limit."""
    if kind == "counts":
        return float(np.max(chernoff(counts, n, p)) / chernoff_limit(p.size))
    return largest_distance(counts, n, p) / distance_limit(n)


def chance_up_to(kind: str, ratio: float, n: int, p: np.ndarray) -> float:
    """Return the probability that the largest statistic over its limit is at most this, if the draws are right."""
    if kind == "counts":
        return chance_of_cells(n, p, ratio * chernoff_limit(p.size))
    return chance_of_sums(n, p, ratio * distance_limit(n))


def run_right(number: int, n: int = N, sampler: Sampler | None = None) -> list[Any]:
    """Return of one run the place of its distribution, each statistic, and its place in its exact distribution."""
    rng = np.random.default_rng([56, number])
    chosen = number // len(NAMES) % len(DISTRIBUTIONS)
    p = np.asarray(DISTRIBUTIONS[chosen])
    counts = count_tokens((sampler or RIGHT[NAMES[number % len(NAMES)]])(rng, p, n), p.size)
    found = [chosen]
    for kind in STATISTICS:
        ratio = statistic(kind, counts, n, p)
        below, up_to = (chance_up_to(kind, ratio * x, n, p) for x in (JUST_BELOW, 1 + (1 - JUST_BELOW)))
        found += [ratio, below + rng.random() * (up_to - below)]  # values of a count have probabilities of their own
    return found


def distance_from_uniform(places: np.ndarray) -> float:
    """Return the largest distance of the distribution of some numbers from the uniform one."""
    ordered, n = np.sort(places), len(places)
    return float(max(np.max(np.arange(1, n + 1) / n - ordered), np.max(ordered - np.arange(n) / n)))


# --- shifts ---------------------------------------------------------------------------------------------------------


def over(n: int, p: float, cells: int, rounding: float) -> Callable[[np.ndarray], np.ndarray]:
    """Return which counts of n draws exceed the limit of Chernoff's bound for so many cells."""
    return lambda counts: chernoff(counts, n, p, rounding) > chernoff_limit(cells)


def apart(n: int, p: float, vocab: int) -> Callable[[np.ndarray], np.ndarray]:
    return lambda counts: np.abs(counts / n - p) > distance_limit(n) + rounding_of_sums(vocab)


def alarms(law: Callable[..., None], *given: Any) -> bool:
    try:
        law(*given, {})
    except Violation:
        return True
    return False


def shares(rng: np.random.Generator, p: np.ndarray, shift: float) -> bool:
    moved = p.copy()
    moved[:1], moved[1:] = p[0] + shift, p[1:] * (1 - shift / (1 - p[0]))
    return alarms(assert_shares, np.repeat(np.arange(p.size), rng.multinomial(N, moved)), p)


def sums(rng: np.random.Generator, p: np.ndarray, shift: float) -> bool:
    return alarms(assert_sums, rng.multinomial(N, [p[0] + shift, p[1] - shift]), p, N)


def rows(rng: np.random.Generator, p: np.ndarray, shift: float) -> bool:
    """The first row is shifted, and all others are right."""
    n = N // ROWS
    moved = [p[0] + shift, p[1] - shift]
    counts = np.stack([rng.multinomial(n, moved if row == 0 else p) for row in range(ROWS)])
    return alarms(assert_counts, counts, np.stack([p] * ROWS), n, lambda row, t: f"{row}, {t}", rounding_of_sums(p.size))


def pairs(rng: np.random.Generator, p: np.ndarray, shift: float) -> bool:
    """So many more pairs are of two equal tokens: a share of the second draws repeats the first."""
    first, second = rng.choice(p.size, (2, N // 2), p=p)
    share = shift / (1 - np.sum(p**2))
    return alarms(assert_pairs, first, np.where(rng.random(N // 2) < share, first, second), p)


def list_powers() -> dict[str, tuple[Any, ...]]:
    """Return for each line of the table: draws, the probability that is shifted, which counts alarm, and a run."""
    fair, third = np.full(2, 1 / 2), np.full(3, 1 / 3)
    tenth = np.asarray([0.1, *[0.9 / 32] * 32])
    half, few = N // 2, N // ROWS
    found: dict[str, tuple[Any, ...]] = {}
    for vocab, p in ((2, fair), (3, third), (33, tenth)):
        found[f"each_token_has_its_probability, V = {vocab}"] = (
            N,
            p,
            p[0],
            over(N, p[0], vocab, rounding_of_sums(vocab)),
            shares,
        )
    found["sums_of_probabilities, V = 2"] = (N, fair, 0.5, apart(N, 0.5, 2), sums)
    of_rows = over(few, 0.5, 2 * ROWS, rounding_of_sums(2))
    found[f"every_row_has_its_own_distribution, {ROWS} rows, V = 2"] = (few, fair, 0.5, of_rows, rows)
    for vocab, p in ((2, fair), (3, third)):
        equal = float(np.sum(p**2))
        name = f"rows_are_independent / draws_of_a_row_are_independent / seeds_are_independent, V = {vocab}"
        found[name] = (half, p, equal, over(half, equal, 1, rounding_of_pairs(vocab)), pairs)
    return found


@cache
def power(name: str, chance: float) -> tuple[float, float]:
    """Return the shift that a law sees with this chance, to three digits, and the exact chance of that."""
    n, _, p, which, _ = list_powers()[name]
    shift = float(f"{shift_seen(n, p, chance, which):.3g}")
    return shift, alarm_chance(n, p + shift, which)


def count_alarms(name: str, chance: float, trials: int, start: int = 0) -> int:
    _, p, _, _, run = list_powers()[name]
    rng = np.random.default_rng([56, start, *map(ord, name), round(100 * chance)])
    return sum(run(rng, p, power(name, chance)[0]) for _ in range(trials))


# --- the command ----------------------------------------------------------------------------------------------------


def keep(path: Path | None) -> Callable[[str, Callable[[], Any]], Any]:
    """Return a function that takes what was kept under a key, or makes and keeps it."""
    known = {}
    if path and path.exists():
        known = dict(json.loads(line) for line in path.read_text().splitlines())

    def get(key: str, make: Callable[[], Any]) -> Any:
        if key not in known:
            known[key] = make()
            if path:
                with path.open("a") as file:
                    file.write(json.dumps([key, known[key]]) + "\n")
        return known[key]

    return get


def describe_right(runs: list[list[Any]], biased: list[list[Any]]) -> Iterator[str]:
    yield f"{len(runs)} runs of right samplers ({', '.join(NAMES)}), {N} draws each, V = 2, 3 and 33"
    for i, kind in enumerate(STATISTICS):
        ratios, places = (np.array([run[1 + 2 * i + j] for run in runs]) for j in (0, 1))
        largest, chosen = float(np.max(ratios)), [run[0] for run in runs]
        of_each = [chance_up_to(kind, largest * (1 + 1e-9), N, np.asarray(p)) for p in DISTRIBUTIONS]
        quantile = float(np.prod([of_each[c] for c in chosen]))
        yield f"  {kind}: {int(np.sum(ratios > 1))} alarms; the largest statistic is {largest:.3f} of its limit,"
        yield f"    which is the quantile {quantile:.3f} of the largest of {len(runs)}"
        limit = np.sqrt(np.log(2 / ALARM) / (2 * len(runs)))
        distance = distance_from_uniform(places)
        yield f"    places in the exact distribution: {distance:.3f} from uniform, {limit:.3f} allowed"
        off = distance_from_uniform(np.array([run[2 + 2 * i] for run in biased]))
        yield f"    the same of {len(biased)} runs that are off by one standard deviation: {off:.3f}"


def describe_power(get: Callable[..., Any], trials: int = TRIALS) -> Iterator[str]:
    yield f"shifts of a probability that a law sees: with the exact chance, and in how many of {trials} runs it alarmed"
    for name, (_, _, p, _, _) in list_powers().items():
        for chance in CHANCES:
            shift, exact = power(name, chance)
            seen = get(f"{name} {chance}", lambda name=name, chance=chance: count_alarms(name, chance, trials))
            sigma = np.sqrt(trials * exact * (1 - exact))
            yield f"  {name}: {p:.4g} + {shift:.3g} with {exact:.3f}; {seen}, {(seen - trials * exact) / sigma:+.1f} sigma"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kept", type=Path, help="a file that keeps finished runs")
    get = keep(parser.parse_args().kept)
    groups = range(0, RUNS, GROUP)
    runs = [run for start in groups for run in get(f"right {start}", lambda s=start: [run_right(i) for i in range(s, s + GROUP)])]
    biased = [
        run
        for start in groups
        for run in get(f"off {start}", lambda s=start: [run_right(i, sampler=off_by_one_deviation) for i in range(s, s + GROUP)])
    ]
    print("\n".join([*describe_right(runs, biased), "", *describe_power(get)]))


if __name__ == "__main__":
    main()
