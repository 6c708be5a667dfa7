"""What must hold of sample. Its laws are statistical: one takes 65,536 draws, and alarms on right code less than once in 10¹²."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .calls.operation import Operation
from .calls.violation import NotImplementedVariant, add_fact
from .helpers.assertions import assert_true
from .helpers.drawn_counts import assert_counts, assert_pairs, assert_shares, assert_sums, count_tokens, rounding_of_sums
from .helpers.drawn_instead import other_draws_named
from .inputs.draw import Draw, within_domain
from .operations.sample import draw_seed
from .operations.verify_draft import draw_probabilities
from .trials.invariant import invariant

DEVROYE = "Devroye 1986, III.2.1"
CHERNOFF = "Chernoff 1952, doi:10.1214/aoms/1177729330"
MASSART = "Massart 1990, doi:10.1214/aop/1176990746"
DRAWS = 2**16
LONGEST_OF_ROWS = 128  # vocabulary, where each draw is a row of its own
LONGEST_OF_PAIRS = 33
LARGEST_SHARE = 0.5  # of a token, where 64 draws are to differ
NO_SEED = "the function takes none, so that another run draws other tokens"


def draws_in_a_row(operation: Operation) -> bool:
    """Whether one call may draw many tokens from one row."""
    return operation.accepts("num_samples") and "num_samples" not in operation.domain


def draw_vocabularies(draw: Draw, longest: int = 1000) -> tuple[int, ...]:
    """Draw the vocabularies of an example: 2 and 3 are always among them."""
    longest = longest if draws_in_a_row(draw.operation) else min(longest, LONGEST_OF_ROWS)
    vocabularies: tuple[int, ...] = (2, 3, draw.one_of((33, min(longest, 1000))))
    if not isinstance(allowed := draw.operation.domain.get("vocab", vocabularies), str):
        vocabularies = tuple(vocab for vocab in vocabularies if vocab in allowed)
    if not vocabularies:
        raise NotImplementedVariant("its domain has none of the vocabularies 2, 3 and 33")
    return vocabularies


def draw_distribution(draw: Draw, vocab: int) -> np.ndarray:
    """Draw one distribution. Some of its entries are 0 where there are many."""
    if vocab > 3:
        weights = draw_probabilities(draw, (vocab,))
    else:
        weights = np.exp(draw.rng.standard_normal(vocab) * draw.one_of((1.0, 0.1, 3.0)))
    return np.asarray(draw.format.round(weights / np.sum(weights)))


def exact(p: np.ndarray) -> np.ndarray:
    """Return rounded numbers over their sum, which are probabilities in float64."""
    return np.asarray(p / np.sum(p, axis=-1, keepdims=True))


def take(sample: Operation, p: np.ndarray, n: int, seed: dict[str, Any]) -> np.ndarray:
    """Return n draws from each row of p, an array (rows, n): as samples of the row, or as rows of their own."""
    rows, vocab = p.shape
    one_axis = 1 in sample.domain.get("batch_dims", (1,))
    if draws_in_a_row(sample):
        tokens = sample(p if one_axis else p[None], **seed, num_samples=n).value
    else:
        repeated = np.repeat(p, n, axis=0)
        tokens = sample(repeated if one_axis else repeated[None], **seed).value
        tokens = tokens[..., :1] if rows * n * vocab else tokens
    return np.asarray(tokens).reshape(rows, n)


def judge_draws(draw: Draw, sample: Operation, judge: Callable[[np.ndarray, np.ndarray, dict[str, Any]], None]) -> None:
    """Judge 65,536 draws from one distribution of each vocabulary, given their tokens, the probabilities and the facts."""
    seed = draw_seed(draw)
    distributions = [draw_distribution(draw, vocab) for vocab in draw_vocabularies(draw)]

    def list_counts() -> list[tuple[np.ndarray, np.ndarray]]:
        few = [p for p in distributions if p.size <= LONGEST_OF_PAIRS]
        return [(exact(p), count_tokens(take(sample, p[None], DRAWS, seed), p.size)) for p in few]

    with other_draws_named(list_counts):
        for p in distributions:
            judge(take(sample, p[None], DRAWS, seed), exact(p), facts_of(p, seed))


def facts_of(p: np.ndarray, seed: dict[str, Any]) -> dict[str, Any]:
    """Return what a failure says of the distribution and of the seed."""
    shown = ", ".join(f"{x:.4g}" for x in p[:8])
    return {"distribution": f"[{shown}{', …' if p.size > 8 else ''}]", "seed": seed.get("seed", NO_SEED)}


@invariant("S", source=CHERNOFF, cost=2)
def test_each_token_has_its_probability(sample: Operation, draw: Draw) -> None:
    """Of 65,536 draws from a row each token has its share, by Chernoff's bound."""
    judge_draws(draw, sample, assert_shares)


@invariant("S", source=MASSART, cost=2)
def test_sums_of_probabilities(sample: Operation, draw: Draw) -> None:
    """Of 65,536 draws from a row the first tokens together have the sum of their probabilities, by the bound of Dvoretzky,
    Kiefer and Wolfowitz."""
    judge_draws(draw, sample, lambda tokens, p, facts: assert_sums(count_tokens(tokens, p.size), p, DRAWS, facts))


@invariant("S", source=CHERNOFF, cost=2)
def test_every_row_has_its_own_distribution(sample: Operation, draw: Draw) -> None:
    """At each place of a batch, the draws have the distribution of that row, whatever stands in the other rows."""
    seed, rows = draw_seed(draw), draw.one_of((33, 2, 65, 257))
    vocab = draw.one_of((2, 3, 5))
    within_domain(draw, vocab=vocab)
    p = np.stack([draw_distribution(draw, vocab) for _ in range(rows)])
    n = DRAWS // rows
    tokens = take(sample, p, n, seed)
    counts = np.stack([count_tokens(row, vocab) for row in tokens])
    facts = {"seed": seed.get("seed", NO_SEED), "rows": rows}
    assert_counts(counts, exact(p), n, lambda row, t: f"row {row}, token {t}", rounding_of_sums(vocab), facts)


@invariant("S", source=CHERNOFF, cost=2)
def test_rows_are_independent(sample: Operation, draw: Draw) -> None:
    """The draws of a row tell nothing of those of another row of the same call: pairs are as frequent as products say."""
    seed = draw_seed(draw)
    for vocab in draw_vocabularies(draw, LONGEST_OF_PAIRS):
        p, rows = draw_distribution(draw, vocab), draw.one_of((2, 3, 9))
        tokens = take(sample, np.stack([p] * rows), DRAWS // 2, seed)
        one = draw.integer(0, rows - 2)
        for other in dict.fromkeys((one + 1, rows - 1)):
            with add_fact("rows", f"{one} and {other} of {rows}"):
                assert_pairs(tokens[one], tokens[other], exact(p), facts_of(p, seed))


@invariant("S", source=CHERNOFF, cost=2)
def test_draws_of_a_row_are_independent(sample: Operation, draw: Draw) -> None:
    """A draw tells nothing of the next one from the same row: pairs of neighbours are as frequent as products say."""
    if not draws_in_a_row(sample):
        raise NotImplementedVariant("its domain has one draw from each row")
    seed = draw_seed(draw)
    for vocab in draw_vocabularies(draw, LONGEST_OF_PAIRS):
        p = draw_distribution(draw, vocab)
        (tokens,) = take(sample, p[None], DRAWS, seed)
        for start in (0, 1):
            pairs = tokens[start : DRAWS - start].reshape(-1, 2)
            with add_fact("pairs", "draws 0 and 1, 2 and 3, …" if start == 0 else "draws 1 and 2, 3 and 4, …"):
                assert_pairs(pairs[:, 0], pairs[:, 1], exact(p), facts_of(p, seed))


@invariant("S", source=CHERNOFF, cost=2, needs=("keyword:seed",))
def test_seeds_are_independent(sample: Operation, draw: Draw) -> None:
    """The draws of row 1 tell nothing of those of row 0 with the next seed, and those of a row nothing of the same row then."""
    seed = draw_seed(draw)["seed"]
    for vocab in draw_vocabularies(draw, LONGEST_OF_PAIRS):
        p = draw_distribution(draw, vocab)
        first, second = (take(sample, np.stack([p, p]), DRAWS // 2, {"seed": s}) for s in (seed, seed + 1))
        for row in (1, 0):
            with add_fact("rows", f"row {row}, and row 0 with the next seed"):
                assert_pairs(first[row], second[0], exact(p), facts_of(p, {"seed": seed}))


@invariant("E", source=DEVROYE, needs=("keyword:seed",))
def test_two_seeds_differ(sample: Operation, draw: Draw) -> None:
    """Two seeds give other tokens: 64 draws, none more probable than ½, would agree by chance less than once in 10¹⁹."""
    within_domain(draw, vocab=33)
    p = draw_distribution(draw, 33)
    p = np.asarray(draw.format.round(exact(np.minimum(exact(p), LARGEST_SHARE / 4) + 1 / 64)))
    seed = draw_seed(draw)["seed"]
    one, other = (take(sample, p[None], 64, {"seed": s}) for s in (seed, draw.one_of((seed + 1, (seed + 2**20) % (2**31 - 1)))))
    assert_true(bool(np.any(one != other)), "two seeds give the same 64 tokens", seed=seed)


@invariant("E", source=DEVROYE)
def test_what_has_no_probability_is_never_drawn(sample: Operation, draw: Draw) -> None:
    """A token of the probability 0 is never drawn: neither between others nor at the ends of the vocabulary."""
    seed, vocab = draw_seed(draw), draw.size("vocab", (3, 33, 2, 127))
    p = draw_distribution(draw, vocab)
    kept = draw.rng.random(vocab) < draw.one_of((0.3, 0.7))
    kept[[0, -1]] = (False, draw.one_of((False, True))) if draw.one_of((True, False)) else (True, False)
    kept[vocab // 2] |= not kept.any()
    p = np.asarray(draw.format.round(exact(np.where(kept, p + 1 / vocab, 0.0))))
    counts = count_tokens(take(sample, p[None], DRAWS // 4, seed), vocab)
    forbidden = np.flatnonzero((p == 0) & (counts > 0))
    assert_true(not forbidden.size, "tokens of probability 0 are drawn", tokens=forbidden[:8].tolist(), seed=seed.get("seed"))
