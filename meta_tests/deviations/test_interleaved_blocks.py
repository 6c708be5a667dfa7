"""Scales of blocks that go round along an axis are said so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from spec_tests.specification.registry import specification

from ..support.answered import answers, read_words

DEQUANTIZE = specification("dequantize").reference
Calls = list[tuple[tuple[Any, ...], dict[str, Any]]]
WORDS = "along K, entry i has the scale of block i mod C, where {} makes C blocks that follow one another"
SHAPES = ((1, 4, 2), (3, 9, 2), (2, 12, 4), (2, 6, 6))  # rows, columns and the size of a block


def expand(scale: Any, columns: int, size: int) -> Any:
    """The scale of each column, where the blocks go round."""
    return scale[:, np.arange(columns) % (-(-columns // size))]


def goes_round(q: Any, scale: Any, *, block: Any, **options: Any) -> Any:
    return (q * expand(scale, q.shape[1], block[1])).astype(np.float32)


def goes_backward(q: Any, scale: Any, *, block: Any, **options: Any) -> Any:
    return DEQUANTIZE(q, scale[:, ::-1], block=block, **options).astype(np.float32)


def multiplies_so(a: Any, b: Any, scale_b: Any, *, block_b: Any, **options: Any) -> Any:
    return (a.astype(np.float64) @ (b * expand(scale_b, b.shape[1], block_b[1])).T).astype(np.float32)


def draw_dequantize() -> Calls:
    rng = np.random.default_rng(3)
    return [
        (
            (rng.integers(-100, 100, (m, k)), 2.0 ** rng.integers(-3, 4, (m, -(-k // size)))),
            {"q_dtype": "int8", "block": (1, size)},
        )
        for m, k, size in SHAPES
    ]


def draw_product() -> Calls:
    rng, calls = np.random.default_rng(4), list[tuple[tuple[Any, ...], dict[str, Any]]]()
    for m, k, size in SHAPES:
        arrays = rng.integers(-8, 8, (2, k)).astype(float), rng.integers(-100, 100, (m, k))
        options = {"a_dtype": "float32", "b_dtype": "int8", "block_b": (1, size), "dtype": "float32"}
        calls.append((arrays, {"scale_b": 2.0 ** rng.integers(-3, 4, (m, -(-k // size))), **options}))
    return calls


def explain(operation: str, function: Callable[..., Any], calls: Calls) -> str:
    return read_words(answers(operation, function, calls))


@pytest.mark.parametrize(
    ("operation", "function", "draw", "option"),
    [("dequantize", goes_round, draw_dequantize, "block"), ("scaled_matmul", multiplies_so, draw_product, "block_b")],
)
def test_scales_that_go_round_are_said(
    operation: str, function: Callable[..., Any], draw: Callable[[], Calls], option: str
) -> None:
    assert explain(operation, function, draw()) == WORDS.format(option)


def test_another_order_of_scales_is_not_called_so() -> None:
    assert "mod C" not in explain("dequantize", goes_backward, draw_dequantize())
