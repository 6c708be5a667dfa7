"""Test the sums up to each entry, and that code that differentiates a softmax block by block stays within the bound."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spec_tests.bounds.derivation import expect
from spec_tests.bounds.prefix_sums import sum_up_to
from spec_tests.specification.formats import Arithmetic

from .test_bounds import operation

BLOCK = 7


@settings(max_examples=60, deadline=None, database=None)
@given(st.integers(1, 6), st.integers(1, 3), st.sampled_from([0, 1, -1]), st.integers(0, 1000))
def test_the_sum_is_that_of_the_entries_that_are_not_larger(length: int, other: int, axis: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = (length, other) if axis == 0 else (other, length)
    x, terms = rng.integers(-2, 3, shape).astype(float), rng.integers(1, 100, (4, *shape)).astype(float)
    last = x if axis else x.T
    is_included = last[:, :, None] <= last[:, None, :]
    each = terms if axis else terms.swapaxes(1, 2)
    expected = np.sum(each[..., None] * is_included, axis=-2)
    got = sum_up_to(terms, x[None], axis + 1 if axis >= 0 else axis)
    assert np.array_equal(got if axis else got.swapaxes(1, 2), expected)


def online(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the maximum and the sum of exponentials of columns, block by block; the gradient passes through each maximum."""
    top, total = torch.full_like(x[0], -torch.inf), torch.zeros_like(x[0])
    for part in x.split(BLOCK):
        larger = torch.maximum(top, part.amax(0))
        top, total = larger, total * torch.exp(top - larger) + torch.exp(part - larger).sum(0)
    return top, total


def softmax(x: torch.Tensor) -> torch.Tensor:
    top, total = online(x)
    return torch.exp(x - top) / total


def log_softmax(x: torch.Tensor) -> torch.Tensor:
    top, total = online(x)
    return x - top - total.log()


@pytest.mark.parametrize("function", [softmax, log_softmax])
def test_a_gradient_through_each_maximum_so_far_stays_within_the_bound(function: Callable[..., torch.Tensor]) -> None:
    rng, arithmetic = np.random.default_rng(0), Arithmetic.of("float32")
    x = np.float32(np.sort(rng.standard_normal((1000, 2)) / 10, axis=0))  # each block has a larger maximum
    c = np.ones_like(x)
    argument = torch.tensor(x, requires_grad=True)
    (gradient,) = torch.autograd.grad(function(argument), argument, torch.tensor(c))
    call = operation(f"{function.__name__}_vjp", "float32").call(c, x, axis=0)
    expectation = expect(call.evaluate, arithmetic, storage=arithmetic.storage, sampled=True)
    assert np.all(expectation.accepts(gradient.numpy().ravel()))


@pytest.mark.parametrize("shapes", [((2, 3, 4), (3, 4)), ((3, 4), (2, 3, 4)), ((4,), (3, 4)), ((2, 3, 4), (1, 4))])
def test_sums_of_entries_with_batch_axes_that_one_side_lacks(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    source = np.random.default_rng(3)
    terms, x = (source.integers(0, 9, shape).astype(float) for shape in shapes)
    found = sum_up_to(terms, x, axis=-1)
    whole = np.broadcast_arrays(terms, x)
    assert np.array_equal(np.broadcast_to(found, whole[0].shape), sum_up_to(*(part.copy() for part in whole), axis=-1))
