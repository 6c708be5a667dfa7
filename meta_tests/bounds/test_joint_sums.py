"""A sum over several axes may be one sum over all of their terms, one addition after the other. Terms that are alike show it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from spec_tests.calls.gradient import Gradient
from spec_tests.calls.operation import Operation
from spec_tests.specification.registry import specification

from ..support.in_process import backend

ROWS, TERMS = 300, 200  # one sum of 60 000 terms, or 300 sums of 200
F = np.float32
VALUE = F(0.7)


def full(*shape: int) -> np.ndarray:
    return np.full(shape, VALUE, F)


def one_by_one(term: np.ndarray | np.float32, count: int = ROWS * TERMS) -> np.float32:
    """Add a term `count` times in float32, from left to right."""
    return np.add.accumulate(np.full(count, term, F))[-1]


Case = tuple[str, tuple[Any, ...], dict[str, Any], str | None, np.float32]


def gradient_of_a_bias() -> Case:
    c = full(ROWS, TERMS, 1)
    return "layer_norm_vjp", (c, c, full(1), full(1)), {"eps": 0.5}, "bias", one_by_one(VALUE)


def gradient_of_a_bias_of_channels() -> Case:
    x, one = full(ROWS, 1, TERMS), np.ones((1, 1), F)
    return "causal_conv1d_vjp", ((x, None), x, one), {}, "weight", one_by_one(VALUE * VALUE)


def gradient_of_values_that_all_share() -> Case:
    c, one = full(ROWS, TERMS, 1), np.ones((1, 1), F)
    zero = np.zeros((ROWS, TERMS, 1), F)
    return "scaled_dot_product_attention_vjp", (c, zero, one, one), {"scale": 1.0}, "v", one_by_one(VALUE)


def gradient_of_values_of_a_group() -> Case:
    c, one = full(ROWS, TERMS, 1), np.ones((1, 1, 1), F)
    zero = np.zeros((ROWS, TERMS, 1), F)
    return "grouped_query_attention_vjp", (c, zero, one, one), {"scale": 1.0}, "v", one_by_one(VALUE)


def gradient_of_a_projection() -> Case:
    batch, n = ROWS, TERMS
    one, zero = np.ones((1, 1, 1), F), np.zeros((batch, 1, n, 1), F)
    latent, c = np.ones((batch, 1, 1), F), full(batch, 1, n, 1)
    return (
        "latent_attention_vjp",
        ((c, None), zero, zero, latent, latent, one, one),
        {"is_causal": False},
        "w_uv",
        one_by_one(VALUE),
    )


def sum_of_even_targets() -> Case:
    z, targets = np.zeros((ROWS, TERMS), F), np.zeros(ROWS, np.int64)
    own = one_by_one(np.log(F(TERMS)) * F(0.5), ROWS)
    even = one_by_one(np.log(F(TERMS)) * F(0.5 / TERMS))
    return "cross_entropy", (z, targets), {"label_smoothing": 0.5, "reduction": "sum"}, None, own + even


def sum_of_soft_targets() -> Case:
    z, q = np.zeros((ROWS, TERMS), F), full(ROWS, TERMS)
    return "soft_target_cross_entropy", (z, q), {"reduction": "sum"}, None, one_by_one(VALUE * np.log(F(TERMS)))


def sum_of_divergences() -> Case:
    student = np.repeat(np.array([0.0, -20.0], F), TERMS // 2)
    terms = (np.log(F(1 / TERMS)) - (student - np.log(F(TERMS / 2)))) / F(TERMS)
    total = np.add.accumulate(np.tile(terms, ROWS))[-1]
    student = np.tile(student, (ROWS, 1))
    return "divergence", (student, np.zeros_like(student)), {"beta": 0.0, "reduction": "sum"}, None, total


CASES = [
    gradient_of_a_bias,
    gradient_of_a_bias_of_channels,
    gradient_of_values_that_all_share,
    gradient_of_values_of_a_group,
    gradient_of_a_projection,
    sum_of_even_targets,
    sum_of_soft_targets,
    sum_of_divergences,
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_one_sum_of_alike_terms_stays_within_the_bound(case: Callable[[], Case]) -> None:
    name, arguments, keywords, wrt, found = case()
    spec = specification(name)
    operation = (Gradient if spec.is_gradient else Operation)(spec, backend("numpy-cpu"), "float32", "mixed")
    call = operation.call(*arguments, **(keywords | ({"wrt": wrt} if wrt else {})))
    expected = call.expectation("mixed")
    assert np.all(expected.accepts(np.full(expected.value.shape, found)))
    too_far = expected.value * (1 + 2 * ROWS * TERMS * 2.0**-24)
    assert not np.any(expected.accepts(too_far.astype(F)))
