"""Tests of the memory of changed equations: an array that is made from a wrong count has a limited length."""

from typing import Any

import numpy as np
import pytest

from spec_tests.diagnosis.equations.neighbours.limited_numpy import MAX_LENGTH, axes_of_at_most, limited_numpy
from spec_tests.diagnosis.equations.neighbours.source import source_of
from spec_tests.specification.registry import gradients, operations

from ..measure.leave_one_out import answered_calls
from ..support.in_process import backend

limited = limited_numpy()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("arange", (1e10,)),
        ("arange", (np.float64(1e10),)),
        ("arange", (-1e10, 0)),
        ("arange", (0, 8, 1e-10)),
        ("arange", (0, 8, 0)),
        ("zeros", (10**10,)),
        ("zeros", ((10**5, 10**5),)),
        ("full", ((3, 10**10), 1.0)),
        ("tri", (10**5, 10**5)),
    ],
)
def test_an_array_that_is_too_large_is_not_made(name: str, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(MemoryError, match="too large an array"):
        getattr(limited, name)(*arguments)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("arange", (5,)),
        ("arange", (2.5,)),
        ("arange", (10, 0, -3)),
        ("arange", (1e10, 1e10 + 3)),
        ("arange", (3, 0)),
        ("zeros", ((2, 3),)),
        ("full", (2, 1e10)),
        ("eye", (2, 3)),
    ],
)
def test_other_arrays_are_those_of_numpy(name: str, arguments: tuple[Any, ...]) -> None:
    np.testing.assert_array_equal(getattr(limited, name)(*arguments), getattr(np, name)(*arguments))


def test_the_limit_ends_with_its_context() -> None:
    with axes_of_at_most(8), pytest.raises(MemoryError):
        limited.arange(9)
    assert len(limited.arange(MAX_LENGTH)) == MAX_LENGTH


def test_a_changed_equation_makes_no_axis_much_longer_than_those_of_its_call() -> None:
    source = source_of("causal_mask")
    site = source.sites[0]
    made = []

    def changed(*, n: int, m: int, aligned: str) -> Any:
        made.append(len(site.namespace["np"].arange(n * site.namespace["length"])))

    equation = source.with_functions({site: changed})
    site.namespace["length"] = 2.0
    equation(n=100, m=3, aligned="top-left")
    site.namespace["length"] = 2.01
    with pytest.raises(MemoryError):
        equation(n=100, m=3, aligned="top-left")
    assert made == [200]


def test_the_longest_axis_of_an_argument_counts() -> None:
    source = source_of("silu")
    site = source.sites[0]

    def changed(x: Any) -> int:
        return len(site.namespace["np"].arange(site.namespace["length"]))

    equation = source.with_functions({site: changed})
    site.namespace["length"] = 3000
    assert equation(np.ones((2, 1500))) == 3000
    with pytest.raises(MemoryError):
        equation(np.ones((2, 1499)))
    assert equation(np.ones((30, 50, 2))) == 3000, "an equation may count the rows of all batch axes"
    assert equation(np.ones((50, 30), dtype=int)) == 3000, "each token id becomes a row"
    assert equation({"w1": np.ones((2, 1500))}) == 3000


@pytest.mark.rotating(one_in=4)
@pytest.mark.parametrize("operation", [*operations(), *gradients()])
def test_no_equation_exceeds_the_limit_as_it_is(operation: str) -> None:
    equation = source_of(operation).with_functions({})
    for call in answered_calls(backend("numpy-cpu"), operation, "float64", "limit", 24):
        with np.errstate(all="ignore"):
            call.evaluate(np.asarray, equation)
