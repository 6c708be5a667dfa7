"""Mixtures of experts of the oracle, compared with 60 digits."""

from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from reference_numpy.mixture_of_experts import mixture_of_experts
from reference_numpy.moe_router import moe_router

from ..support.sixty_digits import DIGITS, U, assert_within, rng

OPTIONS: list[dict[str, Any]] = [
    {"k": 3},
    {"k": 1, "renormalize": False},
    {"k": 2, "scoring": "sigmoid", "scaling_factor": 2.5},
    {"k": 3, "groups": 4, "top_groups": 2},
    {"k": 3, "groups": 4, "top_groups": 2, "group_score": "two", "renormalize": False},
]


def route(z: Any, bias: Any, options: dict[str, Any]) -> tuple[list[Any], list[int]]:
    """Return the weights and the experts of one token in 60 digits."""
    if options.get("scoring") == "sigmoid":
        scores = [1 / (1 + mpmath.exp(-mpf(x))) for x in z]
    else:
        scores = [mpmath.exp(mpf(x)) / sum(mpmath.exp(mpf(y)) for y in z) for x in z]
    choice = [s + mpf(b) for s, b in zip(scores, bias, strict=True)]
    groups = options.get("groups", 1)
    runs = np.array_split(np.arange(len(z)), groups)
    best = 2 if options.get("group_score") == "two" else 1
    rank = sorted(runs, key=lambda run: -sum(sorted((choice[i] for i in run), reverse=True)[:best]))
    left = [int(i) for run in rank[: options.get("top_groups", 1)] for i in run]
    chosen = sorted(sorted(left, key=lambda i: -choice[i])[: options["k"]])
    total = sum(scores[i] for i in chosen) if options.get("renormalize", True) else mpf(1)
    return [scores[i] / total * mpf(options.get("scaling_factor", 1.0)) for i in chosen], chosen


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: ", ".join(map(str, options)))
def test_moe_router(options: dict[str, Any]) -> None:
    generator = rng()
    logits, bias = 2 * generator.standard_normal((20, 12)), generator.standard_normal(12) / 8
    with mpmath.workdps(DIGITS):
        for use_bias in (False, True):
            given = {**options, "group_score": options.get("group_score", "max")} if "groups" in options else options
            weights, indices = moe_router(logits, bias if use_bias else None, **given)
            for row, w, i in zip(logits, weights, indices, strict=True):
                expected, chosen = route(row, bias if use_bias else 0 * bias, options)
                assert i.tolist() == chosen
                assert_within(w, expected, 60 * U)


@pytest.mark.parametrize("options", [{"scoring": "relu"}, {"group_score": "three"}])
def test_unknown_choices_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="unknown"):
        moe_router(np.zeros((1, 4)), k=1, **options)


@pytest.mark.parametrize("renormalize", [True, False])
def test_mixture_of_experts(renormalize: bool) -> None:
    generator = rng(1)
    x, router = generator.standard_normal((2, 3, 4)), generator.standard_normal((5, 4))
    w1, w3, w2 = (generator.standard_normal((5, *shape)) / 2 for shape in ((6, 4), (6, 4), (4, 6)))
    y = mixture_of_experts(x, router, w1, w2, w3, k=2, renormalize=renormalize)
    with mpmath.workdps(DIGITS):
        for token, found in zip(x.reshape(-1, 4), y.reshape(-1, 4), strict=True):
            logits = [_dot(row, token) for row in router]
            weights, chosen = route(logits, np.zeros(5), {"k": 2, "renormalize": renormalize})
            expected = [mpf(0)] * 4
            for weight, e in zip(weights, chosen, strict=True):
                gate, signal = ([_dot(row, token) for row in w[e]] for w in (w1, w3))
                hidden = [g / (1 + mpmath.exp(-g)) * s for g, s in zip(gate, signal, strict=True)]
                expected = [total + weight * _dot(row, hidden) for total, row in zip(expected, w2[e], strict=True)]
            assert_within(found, expected, 400 * U)


def _dot(a: Any, b: Any) -> Any:
    return sum(mpf(x) * mpf(y) for x, y in zip(a, b, strict=True))
