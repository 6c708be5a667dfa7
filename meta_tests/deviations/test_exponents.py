"""Decays that are taken apart within chunks, whose exponentials overflow: where the answers of a recurrence are not finite."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from spec_tests.calls.call import Call
from spec_tests.calls.operation import Operation
from spec_tests.diagnosis.evidence import Evidence, answer_of
from spec_tests.diagnosis.explanation import Explanation
from spec_tests.diagnosis.precision.exponents import find_overflow
from spec_tests.implementation.backend import Backend
from spec_tests.implementation.framework import Framework
from spec_tests.specification.formats import FORMATS
from spec_tests.specification.registry import specification

CHUNK = 16
Pairs = Callable[[np.ndarray], np.ndarray]


def of_differences(total: np.ndarray) -> np.ndarray:
    """The right decays between two tokens: no exponent is above 0."""
    return np.tril(np.exp(np.minimum(total - total.mT, 0)))


def masked_afterwards(total: np.ndarray) -> np.ndarray:
    return np.exp(total - total.mT) * np.tri(total.shape[-2], dtype=np.float32)


def apart_at_the_middle(total: np.ndarray) -> np.ndarray:
    middle = total[..., total.shape[-2] // 2, None, :]
    return np.tril(np.exp(total - middle) * np.exp(middle - total).mT)


def lost_where_a_token_decays_much(total: np.ndarray) -> np.ndarray:
    much = np.diff(total, axis=-2, prepend=np.float32(0)) < -60
    return np.where(much.any(axis=-2, keepdims=True), np.nan, of_differences(total)).astype(np.float32)


def doubled(total: np.ndarray) -> np.ndarray:
    return 2 * of_differences(total)


def attend(pairs: Pairs) -> Callable[..., Any]:
    """Return linear attention in chunks, with these decays between the tokens of each."""

    def linear_attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        outs, state = [], np.zeros((*v.shape[:-2], k.shape[-1], v.shape[-1]), np.float32)
        for start in range(0, v.shape[-2], CHUNK):
            own = slice(start, start + CHUNK)
            queries, keys, values, total = q[..., own, :], k[..., own, :], v[..., own, :], np.cumsum(g[..., own, :], axis=-2)
            outs.append((queries * np.exp(total)) @ state + (queries @ keys.mT * pairs(total)) @ values)
            last = total[..., -1:, :]
            state = np.exp(last) * state + (keys * np.exp(last - total)).mT @ values
        scale = np.float32(1 / np.sqrt(q.shape[-1]))
        return np.concatenate(outs, axis=-2) * scale, state

    return linear_attention


def answer(pairs: Pairs, seed: int) -> Call:
    rng, spec = np.random.default_rng(seed), specification("linear_attention")
    backend = Backend("mine", SimpleNamespace(linear_attention=attend(pairs)), Framework("numpy"))
    operation = Operation(spec, backend, "float32", spec.precision)
    n = int(rng.choice((2, 3, 15, 33)))
    q, k, v = (FORMATS["float32"].round(rng.standard_normal((2, n, width))) for width in (4, 4, 3))
    strengths = ((1.0, 0.0625), (20.0, 0.0625, 90.0), (9.0, 5.0), (4.0, 2.5))[seed % 4]
    with np.errstate(all="ignore"):
        operation(q, k, v, -rng.choice(strengths, (2, n, 1)))
    return operation.recorder.calls[0]


def explain(pairs: Pairs) -> Explanation | None:
    evidence = Evidence.gather([answer(pairs, seed) for seed in range(1, 9)], [answer(pairs, seed) for seed in range(10, 14)])
    assert evidence.wrong

    def ask(wish: Any = None) -> Iterator[Call]:
        return (answer(pairs, seed) for seed in range(20, 80))

    found: Explanation | None = find_overflow(evidence, ask, lambda: False)
    return found


@pytest.mark.parametrize(
    ("pairs", "where"),
    [
        (masked_afterwards, "from the second token of a chunk of 16 to the last"),
        (apart_at_the_middle, "between the middle token of a chunk of 16 and another"),
    ],
    ids=["masked afterwards", "apart at the middle"],
)
def test_exponents_that_overflow_are_named(pairs: Pairs, where: str) -> None:
    found = explain(pairs)
    assert found is not None
    assert (
        found.what == f"not finite where the logarithms of the decays {where} sum to less than −88.7: e^88.7 overflows in float32"
    )
    assert found.predicts(next(call for seed in range(61, 99) if not np.isfinite(answer_of(call := answer(pairs, seed))).all()))
    assert found.predicts(next(call for seed in range(61, 99) if (call := answer(doubled, seed)).value.size > 99)) is False


def test_answers_lost_otherwise_are_no_overflow() -> None:
    assert explain(lost_where_a_token_decays_much) is None


def test_finite_answers_are_no_overflow() -> None:
    assert explain(doubled) is None


def test_right_decays_explain_nothing() -> None:
    assert not Evidence.gather([answer(of_differences, seed) for seed in range(1, 9)]).wrong
