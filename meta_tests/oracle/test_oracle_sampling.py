"""From logits to a token: the oracle, compared with exact rational arithmetic."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from reference_numpy import sampling_probabilities as module
from reference_numpy._kept import Filters, Rules
from reference_numpy.penalize_logits import penalize_logits
from reference_numpy.sample_with_noise import sample_with_noise
from reference_numpy.sampling_probabilities import sampling_probabilities
from reference_numpy.verify_draft import verify_draft

from ..support.sixty_digits import U, rng

NO_TOKEN = -1


@pytest.mark.parametrize("repetition", [1.0, 1.5, 0.75])
@pytest.mark.parametrize("others", [(0.0, 0.0), (0.375, -0.25)])
def test_penalize_logits(repetition: float, others: tuple[float, float]) -> None:
    """Every logit is below 8 and every other term below 12, so that none has an error of more than 6 roundings of 32."""
    r, vocab = rng(56), 7
    logits, bias = np.clip(3 * r.standard_normal((2, vocab)), -8, 8), r.standard_normal((2, vocab))
    output, prompt = r.integers(-1, vocab, (2, 9)), r.integers(0, 3, (2, 4))
    frequency, presence = others
    given = {"repetition_penalty": repetition, "frequency_penalty": frequency, "presence_penalty": presence}
    got = penalize_logits(logits, output, prompt, bias, **given)
    for i in range(2):
        for v in range(vocab):
            z, count = Fraction(logits[i, v]), output[i].tolist().count(v)
            if count or v in prompt[i]:
                z = z / Fraction(repetition) if z > 0 else z * Fraction(repetition)
            exact = z - Fraction(frequency) * count - Fraction(presence) * (count > 0) + Fraction(bias[i, v])
            assert abs(Fraction(float(got[i, v])) - exact) <= 6 * U * 32


def test_minus_infinity_is_kept_and_bans() -> None:
    y = penalize_logits(
        [[-np.inf, 1.0, 2.0]], [[0, 1]], None, [[0.0, -np.inf, 0.0]], repetition_penalty=2.0, presence_penalty=-1.0
    )
    assert y.tolist() == [[-np.inf, -np.inf, 2.0]]


def test_an_empty_output_leaves_the_prompt() -> None:
    y = penalize_logits(
        [[4.0, -4.0, 1.0]], np.zeros((1, 0), int), [[0, 1, NO_TOKEN]], repetition_penalty=2.0, frequency_penalty=1.0
    )
    assert y.tolist() == [[2.0, -8.0, 1.0]]


def _first_above(weights: list[Fraction], noise: Fraction) -> int:
    total = Fraction(0)
    for t, weight in enumerate(weights):
        total += weight
        if total > noise:
            return t
    return max(t for t, weight in enumerate(weights) if weight > 0)


def test_inverse_transform() -> None:
    """Multiples of 1/64, with which sums are exact in float64 as well, and a noise that equals a sum is frequent."""
    r, (rows, vocab) = rng(59), (256, 5)
    p, u = r.multinomial(64, np.full(vocab, 1 / vocab), rows) / 64, r.integers(0, 64, rows) / 64
    got = sample_with_noise(p, u)
    assert np.any(np.cumsum(p, axis=-1) == u[:, None])
    assert got.tolist() == [_first_above([Fraction(x) for x in p[i]], Fraction(u[i])) for i in range(rows)]


def test_races() -> None:
    """Two tokens of a row are never so near that a rounding of float64 could exchange them."""
    r, (rows, vocab) = rng(60), (256, 5)
    p = r.multinomial(64, [0.4, 0.3, 0.2, 0.1, 0.0], rows) / 64
    e = -np.log(r.random((rows, vocab)))
    exact = [max(range(vocab), key=lambda t, i=i: Fraction(p[i, t]) / Fraction(e[i, t])) for i in range(rows)]
    assert sample_with_noise(p, e, method="exponential").tolist() == exact
    assert sample_with_noise(p, -np.log(e), method="gumbel").tolist() == exact


def test_an_unknown_method_is_named() -> None:
    with pytest.raises(ValueError, match="there are 'inverse', 'exponential' and 'gumbel'"):
        sample_with_noise([[1.0]], [[1.0]], method="rejection")


def _verify(x: Any, q: Any, p: Any, u: Any, final: Any) -> tuple[list[int], int]:
    """Return the tokens of one row and how many are accepted, by a loop over the tokens in rational numbers."""
    tokens: list[int] = []
    for i, token in enumerate(x):
        if not Fraction(u[i]) * Fraction(q[i][token]) < Fraction(p[i][token]):
            rest = [max(Fraction(a) - Fraction(b), Fraction(0)) for a, b in zip(p[i], q[i], strict=True)]
            tokens.append(_first_above(rest, Fraction(final) * sum(rest)))
            break
        tokens.append(int(token))
    else:
        tokens.append(_first_above([Fraction(a) for a in p[len(x)]], Fraction(final)))
    return tokens + [-1] * (len(x) + 1 - len(tokens)), len(tokens) - 1


@pytest.mark.parametrize("with_draft", [True, False])
def test_verify_draft(with_draft: bool) -> None:
    """Multiples of 1/64, with which sums and products are exact in float64 as well."""
    r, (b, n, vocab) = rng(57), (64, 3, 4)
    q, p = (np.array([[r.multinomial(64, np.full(vocab, 1 / vocab)) for _ in range(n + 1)] for _ in range(b)]) / 64 for _ in "qp")
    x = np.array([[r.choice(vocab, p=q[i, j]) for j in range(n)] for i in range(b)])
    u, final = r.integers(0, 64, (b, n)) / 64, r.integers(0, 64, b) / 64
    tokens, accepted = verify_draft(x, q[:, :n] if with_draft else None, p, u, final)
    assert 0 < np.mean(accepted) < n
    for i in range(b):
        draft = q[i] if with_draft else np.eye(vocab)[x[i]]
        assert (tokens[i].tolist(), accepted[i]) == _verify(x[i], draft, p[i], u[i], final[i])


def test_a_draft_of_no_tokens_draws_from_the_target() -> None:
    tokens, accepted = verify_draft(np.zeros((2, 0), int), None, [[[0.25, 0.75]], [[0.25, 0.75]]], np.zeros((2, 0)), [0.0, 0.25])
    assert tokens.tolist() == [[0], [1]]
    assert accepted.tolist() == [0, 0]


def _filter(z: np.ndarray, t: float, k: int | None, share: float | None, least: float | None, how: Rules) -> list[float]:
    """Return the probabilities of one row by loops over its tokens, which all differ."""
    seen = z / t if how.temperature_order == "first" else z
    order = sorted(range(len(z)), key=lambda i: -seen[i])
    weight = [np.exp(x - max(seen)) for x in seen]
    by_k = order[: k or len(z)]
    by_min_p = [i for i in order if weight[i] >= (least or 0.0)]
    counted = {"whole": order, "after top_k": by_k, "after top_k and min_p": [i for i in by_k if i in by_min_p]}[how.top_p_mass]
    by_p: list[int] = []
    for i in counted:
        if sum(weight[j] for j in by_p) < (share or 1.0) * sum(weight[j] for j in counted):
            by_p.append(i)
    kept = {i for i in by_k if i in by_min_p and i in by_p}
    y = [np.exp((x - max(z)) / t) if i in kept else 0.0 for i, x in enumerate(z)]
    return [x / sum(y) for x in y]


@pytest.mark.parametrize("order", ["first", "last"])
@pytest.mark.parametrize("mass", ["after top_k", "after top_k and min_p", "whole"])
def test_sampling_probabilities(order: str, mass: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row of 12 probabilities, of which sums and quotients have an error of no more than 64 roundings."""
    r, how, kept = rng(58), Rules(temperature_order=order, top_p_mass=mass), set()
    monkeypatch.setattr(module, "rules", lambda: how)
    for k in (None, 1, 3, 8, 12, 40):
        for share, least in ((None, None), (0.7, None), (None, 0.3), (0.6, 0.1), (0.9, 0.4)):
            z, t = 2 * r.standard_normal(12), r.choice([0.5, 1.0, 3.0])
            got = module.sampling_probabilities(z, temperature=t, top_k=k, top_p=share, min_p=least)
            expected = _filter(z, t, k, share, least, how)
            assert np.array_equal(got > 0, np.array(expected) > 0)
            assert np.all(np.abs(got - expected) <= 64 * U * np.array(expected))
            kept.add(int(np.sum(got > 0)))
    assert len(kept) > 4


def test_a_temperature_of_zero_keeps_one_of_the_largest() -> None:
    y = sampling_probabilities([[1.0, 3.0, 3.0, -np.inf]], temperature=0.0, top_k=3, top_p=0.1)
    assert y.tolist() == [[0.0, 1.0, 0.0, 0.0]]
    filters = Filters(np.array([[1.0, 3.0, 3.0]]), 0.0, None, None, None, Rules())
    for kept, is_right in (([0, 1, 0], True), ([0, 0, 1], True), ([0, 1, 1], False), ([1, 0, 0], False)):
        assert filters.admit(np.array([kept], dtype=bool), 2.0**-24).tolist() == [is_right]


@pytest.mark.parametrize(
    ("logits", "given", "ties", "right"),
    [
        ([2.0, 1.0, 1.0, 0.0], (2, None, None), "all", ["1110"]),
        ([2.0, 1.0, 1.0, 0.0], (2, None, None), "some", ["1100", "1010"]),
        ([2.0, 1.0, 1.0 - 2.0**-23, 0.0], (2, None, None), "some", ["1100", "1010"]),
        ([2.0, 1.0, 1.0 - 2.0**-23, 0.0], (2, None, None), "all", ["1100", "1010", "1110"]),
        ([2.0, 1.0, 1.0 - 2.0**-12, 0.0], (2, None, None), "all", ["1100"]),
        (np.log([0.5, 0.25, 0.125, 0.125]), (None, 0.5, None), "some", ["1000", "1100"]),
        (np.log([0.5, 0.25, 0.125, 0.125]), (None, 0.75, None), "some", ["1100", "1110", "1101"]),
        (np.log([0.5, 0.25, 0.125, 0.125]), (None, 0.8, None), "all", ["1111"]),
        (np.log([0.5, 0.25, 0.125, 0.125]), (None, None, 0.5), "some", ["1000", "1100"]),
        (np.log([0.5, 0.25, 0.125, 0.125]), (None, None, 0.25), "some", ["1100", "1111"]),
        (np.log([0.5, 0.25, 0.125, 0.125]), (None, None, 0.3), "some", ["1100"]),
        ([1.0, -np.inf, 0.0, -np.inf], (3, None, None), "all", ["1010"]),
    ],
)
def test_which_sets_roundings_reach(logits: Any, given: Any, ties: str, right: list[str]) -> None:
    """Of all sets of four tokens these and no others may be kept where roundings are those of float32."""
    filters = Filters(np.array([logits]), 1.0, *given, Rules(top_k_ties=ties, top_p_ties=ties))
    sets = [format(i, "04b") for i in range(16)]
    found = [s for s in sets if filters.admit(np.array([[c == "1" for c in s]]), 2.0**-24)[0]]
    assert sorted(found) == sorted(right)
    assert "".join(str(int(x)) for x in filters.keep()[0]) in right
    assert bool(filters.are_open(2.0**-24)[0]) == (len(right) > 1)


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        ([1.0, 0.0, 0.0, 2e-43], "1001"),  # the last of three equal tokens, and not the first one as well
        ([1.0, 2e-43, 0.0, 0.0], "1100"),
        ([1.0, 0.0, 0.0, 0.0], "1100"),  # flushed to 0
        ([1.0, 1e-43, 0.0, 1e-43], "1101"),  # one too many
    ],
)
def test_which_tokens_an_answer_keeps_where_probabilities_vanish(answer: list[float], kept: str) -> None:
    filters = Filters(np.array([[-1.0, -128.0, -128.0, -128.0]]), 1.3, 2, None, None, Rules(top_k_ties="some"))
    found = filters.read(np.array([answer]), 2.0**-126)
    assert "".join(str(int(x)) for x in found[0]) == kept
    assert filters.admit(found, 2.0**-24)[0] == (kept.count("1") == 2)
