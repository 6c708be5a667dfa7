"""An argument that multiplies another one too early is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from spec_tests.calls.call import Call
from spec_tests.diagnosis.operator.factors_ahead import list_factors_ahead
from spec_tests.specification.registry import specification

from ..support.answered import answers, read_words

INDEXER, LINEAR, LATENT = (specification(name).reference for name in ("indexer_scores", "linear_attention", "latent_attention"))
SHAPES = ((1, 3, 2, 4), (2, 4, 3, 2), (4, 6, 2, 3), (3, 3, 5, 4))
Calls = list[tuple[tuple[Any, ...], dict[str, Any]]]


def weights_inside(q: Any, k: Any, weights: Any, *, is_causal: bool = True) -> Any:
    """The weights go through relu, which matters where they are negative."""
    return INDEXER(q * weights[..., None], k, np.ones_like(weights), is_causal=is_causal)


def weights_squared(q: Any, k: Any, weights: Any, *, is_causal: bool = True) -> Any:
    return INDEXER(q, k, weights * weights, is_causal=is_causal)


def scaled_before_the_norm(q: Any, k: Any, v: Any, *, scale: float | None = None, qk_l2norm: bool = False) -> Any:
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    return LINEAR(q * scale, k, v, scale=1.0, qk_l2norm=qk_l2norm)


def one_part_scaled(q_nope: Any, q_rope: Any, *arrays: Any, scale: float | None = None) -> Any:
    """Attention to latents whose scores of rotated parts are added behind the scale."""
    scale = (q_nope.shape[-1] + q_rope.shape[-1]) ** -0.5 if scale is None else scale
    return LATENT(q_nope, q_rope / scale, *arrays, scale=scale)


def draw_latent() -> Calls:
    rng = np.random.default_rng(10)
    return [
        (tuple(rng.normal(size=s) for s in ((h, n, d), (h, n, 2), (m, 3), (m, 2), (h, d, 3), (h, 2, 3))), given)
        for (n, m, h, d), given in zip(SHAPES, ({}, {"scale": 0.25}, {}, {"scale": 2.0}), strict=True)
    ]


def draw_indexer() -> Calls:
    rng = np.random.default_rng(8)
    return [((rng.normal(size=(n, h, d)), rng.normal(size=(m, d)), rng.normal(size=(n, h))), {}) for n, m, h, d in SHAPES]


def draw_linear() -> Calls:
    rng = np.random.default_rng(9)
    options: list[dict[str, Any]] = [{"qk_l2norm": True}, {}, {"qk_l2norm": True, "scale": 2.0}, {"qk_l2norm": True}]
    return [
        (tuple(rng.normal(size=(h, m, d)) for _ in range(3)), given) for (_, m, h, d), given in zip(SHAPES, options, strict=True)
    ]


def explain(calls: list[Call]) -> str:
    return read_words(calls)


@pytest.mark.parametrize(
    ("operation", "function", "draw", "sentence"),
    [
        (
            "indexer_scores",
            weights_inside,
            draw_indexer,
            "weights multiplies q before all else, and not where the equation has it",
        ),
        (
            "linear_attention",
            scaled_before_the_norm,
            draw_linear,
            "scale multiplies q before all else, and not where the equation has it",
        ),
        ("latent_attention", one_part_scaled, draw_latent, "scale does not act on q_rope"),
    ],
)
def test_an_early_factor_is_said(operation: str, function: Callable[..., Any], draw: Callable[[], Calls], sentence: str) -> None:
    assert explain(answers(operation, function, draw())) == sentence


def test_another_change_of_the_factor_is_not_called_early() -> None:
    assert "before all else" not in explain(answers("indexer_scores", weights_squared, draw_indexer()))


def test_every_early_factor_takes_every_number_type() -> None:
    for call in answers("indexer_scores", weights_inside, draw_indexer()):
        alternatives = list(list_factors_ahead(call))
        assert alternatives
        for alternative in alternatives:
            call.expect(call.operation.precision, alternative.function)
