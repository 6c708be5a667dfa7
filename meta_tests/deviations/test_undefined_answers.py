"""Test how an equation is judged where it has no value, as for a query that then sees no key, and the answer has one."""

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from reference_numpy.token_log_probs import token_log_probs
from spec_tests.diagnosis.equations.search import search_equation
from spec_tests.diagnosis.evidence import Evidence
from spec_tests.diagnosis.fit import try_fit

from ..support.answered import answers
from ..support.budgets import budget_for

RANDOM = np.random.default_rng(2)


def attend_from_the_first_key(
    q: Any, k: Any, v: Any, cu_seqlens_q: Any, cu_seqlens_k: Any, *, is_causal: bool = False, left_window: int | None = None
) -> Any:
    """Attention in each member; causality is top-left, and the window bottom-right. A query that sees no key gives 0."""
    out = np.zeros((*q.shape[:2], v.shape[2]))
    for (a, b), (c, d) in zip(pairwise(cu_seqlens_q), pairwise(cu_seqlens_k), strict=True):
        i, j = np.arange(b - a)[:, None], np.arange(d - c)
        seen = (j <= i) if is_causal else np.ones((b - a, d - c), dtype=bool)
        seen &= True if left_window is None else j >= i + (d - c) - (b - a) - left_window
        scores = np.einsum("nhd,mhd->hnm", q[a:b], k[c:d]) / np.sqrt(q.shape[-1])
        weights = np.where(seen, np.exp(scores), 0)
        sums = weights.sum(axis=-1, keepdims=True)
        out[a:b] = np.einsum("hnm,mhd->nhd", weights / np.where(sums > 0, sums, 1), v[c:d])
    return out


def members(*lengths: tuple[int, int], **options: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments for members with so many queries and keys."""
    ends_q, ends_k = (np.cumsum([0, *(pair[side] for pair in lengths)]) for side in (0, 1))
    q, k, v = (RANDOM.normal(size=(int(ends[-1]), 2, 3)) for ends in (ends_q, ends_k, ends_k))
    return (q, k, v, ends_q, ends_k), {"is_causal": True, **options}


def test_an_equation_is_found_although_some_queries_see_no_key_in_it() -> None:
    calls = [
        members((3, 5), (2, 4)),
        members((2, 6), (4, 5)),
        members((4, 7), left_window=3),
        members((2, 9), (3, 3), left_window=1),
        members((4, 4), (2, 2)),
        members((4, 6), is_causal=False),
    ]
    evidence = Evidence.gather(answers("variable_length_attention", attend_from_the_first_key, calls))
    assert len(evidence.wrong) == 4
    found = search_equation(evidence, budget=budget_for(evidence, share=12.0))
    assert found is not None
    assert "is_causal" in found.id
    assert any(part in found.id for part in ("slots - n", "n - slots", "slot <= np.arange(n)"))  # counted from the first key


@pytest.mark.parametrize(("undefined", "is_named"), [(0, True), (1, True), (2, False), (3, False), (4, False)])
def test_an_equation_without_values_for_most_wrong_calls_is_not_named(undefined: int, is_named: bool) -> None:
    """It would explain anything."""

    def cubed(x: Any, weight: Any, *, eps: float) -> Any:
        return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * weight**3

    def nearly(x: Any, weight: Any, *, eps: float) -> Any:
        return cubed(x, weight, eps=eps) * (np.nan if x.shape[-1] < 3 + undefined else 1.0)

    shapes = ((2, 3), (2, 4), (3, 5), (1, 6))
    arguments = [((RANDOM.normal(size=shape), 2 + RANDOM.random(shape[-1])), {"eps": 0.1}) for shape in shapes]
    candidate: Any = SimpleNamespace(
        id="nearly", operation="rms_norm", kind="equation", function=nearly, shows_in=lambda dtype: True
    )
    assert (try_fit(candidate, answers("rms_norm", cubed, arguments), []) is not None) == is_named


@pytest.mark.parametrize(("undefined", "is_named"), [(2, True), (3, False), (4, False)])
@pytest.mark.parametrize("hidden", [False, True], ids=["", "right by chance in some elements"])
def test_answers_of_0_where_an_equation_has_no_value_do_not_speak_against_it(
    undefined: int, is_named: bool, hidden: bool
) -> None:
    """Code gives 0 to what it leaves out. Two calls must speak for the equation, or it would explain anything that is 0."""

    def cubed(x: Any, weight: Any, *, eps: float) -> Any:
        whole = x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * weight**3
        return whole * (0.0 if x.shape[-1] < 3 + undefined else 1.0)

    def nearly(x: Any, weight: Any, *, eps: float) -> Any:
        return cubed(x, weight, eps=eps) * (np.nan if x.shape[-1] < 3 + undefined else 1.0)

    shapes = ((2, 3), (2, 4), (3, 5), (1, 6))
    x = [RANDOM.normal(size=shape) for shape in shapes]
    for array in x:
        array[0, 0] = 0.0 if hidden else array[0, 0]  # the truth is 0 as well
    arguments = [((array, 2 + RANDOM.random(array.shape[-1])), {"eps": 0.1}) for array in x]
    candidate: Any = SimpleNamespace(
        id="nearly", operation="rms_norm", kind="equation", function=nearly, shows_in=lambda dtype: True
    )
    assert (try_fit(candidate, answers("rms_norm", cubed, arguments), []) is not None) == is_named


@pytest.mark.parametrize(("wholly", "is_named"), [(True, False), (False, True)])
def test_an_equation_explains_nan_only_if_finite_answers_speak_for_it(wholly: bool, is_named: bool) -> None:
    """Many equations make a whole answer NaN. That one makes some rows NaN, and no others, says more."""

    def undefined(x: Any, weight: Any, *, eps: float) -> Any:
        y = x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * weight
        return y + 0.0 * np.log(-np.square(x[..., :1]) if wholly else x[..., :1])

    arguments = [((RANDOM.normal(size=(6, size)), 2 + RANDOM.random(size)), {"eps": 0.1}) for size in (3, 4, 5)]
    candidate: Any = SimpleNamespace(
        id="undefined", operation="rms_norm", kind="equation", function=undefined, shows_in=lambda dtype: True
    )
    calls = answers("rms_norm", lambda x, weight, *, eps: undefined(x, weight, eps=eps), arguments)
    assert (try_fit(candidate, calls, []) is not None) == is_named


@pytest.mark.parametrize(("count", "is_named"), [(1, False), (2, True)])
def test_the_nans_of_one_call_name_no_equation(count: int, is_named: bool) -> None:
    """Slips that have nothing in common may give them. Those of several calls have more in common."""

    def times_zero(logits: Any, targets: Any, *, temperature: float = 1.0) -> Any:
        log_probs, entropy = token_log_probs(logits, targets, temperature=temperature)
        return log_probs, np.where(np.any(logits == -np.inf, axis=-1), np.nan, entropy)

    removed = [np.array([0.5, -np.inf]), np.array([0.25, -np.inf, 1.5, -1.0])][:count]
    rows = [*removed, *(RANDOM.normal(size=size) for size in (2, 2, 3, 3, 4, 5))]
    evidence = Evidence.gather(answers("token_log_probs", times_zero, [((row, np.int64(0)), {}) for row in rows]))
    assert len(evidence.wrong) == count
    assert (search_equation(evidence, budget=budget_for(evidence, share=4.0)) is not None) == is_named
