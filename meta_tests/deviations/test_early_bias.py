"""A bias that the scales of a product multiply is said, with the scales that do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ..support.answered import answers, read_words

SHAPES = ((1, 2, 3), (3, 4, 2), (2, 3, 5), (4, 2, 4))  # rows, columns and summands
OPTIONS = {"a_dtype": "int8", "b_dtype": "int8", "block_a": (1, None), "block_b": (1, None), "dtype": "float32"}


def explain(power_a: float, power_b: float) -> str:
    """Return what is said where these powers of the scales multiply the bias."""

    def scaled_matmul(a: Any, b: Any, scale_a: Any, scale_b: Any, bias: Any = None, **options: Any) -> Any:
        sums = a.astype(np.float64) @ b.T.astype(np.float64) * scale_a * scale_b.T
        own = 0.0 if bias is None else bias * scale_a**power_a * scale_b.T**power_b
        return (sums + own).astype(np.float32)

    rng, calls = np.random.default_rng(6), list[tuple[tuple[Any, ...], dict[str, Any]]]()
    for number, (m, n, k) in enumerate(SHAPES):
        arrays = rng.integers(-100, 100, (m, k)), rng.integers(-100, 100, (n, k))
        scales = {"scale_a": 2.0 ** rng.integers(-3, 4, (m, 1)), "scale_b": 2.0 ** rng.integers(-3, 4, (n, 1))}
        calls.append(
            (arrays, {**scales, **({"bias": rng.normal(size=n).astype(np.float32).astype(float)} if number else {}), **OPTIONS})
        )
    return read_words(answers("scaled_matmul", scaled_matmul, calls))


@pytest.mark.parametrize(
    ("powers", "sentence"),
    [
        ((1, 1), "the bias is added before scale_a and scale_b multiply"),
        ((1, 0), "the bias is added before scale_a multiplies"),
        ((0, 1), "the bias is added before scale_b multiplies"),
    ],
)
def test_a_bias_that_scales_multiply_is_said(powers: tuple[float, float], sentence: str) -> None:
    assert explain(*powers) == sentence


def test_another_factor_of_the_bias_is_not_called_so() -> None:
    assert "the bias is added before" not in explain(-1, 2)
