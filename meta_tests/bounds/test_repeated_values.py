"""Where most values of an array are equal, their roundings are equal and add up. Correct code stays within the sampled bound."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Any

import numpy as np
import pytest

from spec_tests.calls.gradient import Gradient
from spec_tests.calls.operation import Operation
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.implementation.guard import Refused
from spec_tests.inputs.draw import Draw
from spec_tests.specification.pytree import tree_map
from spec_tests.specification.registry import gradients, operations, specification

from ..support.in_process import backend

DAILY = 10
CALLS = [DAILY, pytest.param(100, marks=pytest.mark.nightly)]
ANY_ORDER = "meta_tests.backends.correct.summation:AnyOrder"
COMPOSED = [name for name in (*operations(), *gradients()) if specification(name).composed]


def make_most_equal(x: Any, rng: np.random.Generator) -> Any:
    """Return an array of the same shape, most of whose elements have one value and some have others."""
    if not isinstance(x, np.ndarray) or x.dtype.kind != "f" or not x.size:
        return x
    flat = np.full(x.size, rng.choice([0.0, 1.0, *rng.uniform(-4, 4, 4)]))
    some = rng.integers(0, x.size, rng.integers(0, min(x.size, 20)))
    flat[some] = rng.uniform(-4, 4, some.size) * 10.0 ** -rng.integers(0, 6, some.size)
    return flat.reshape(x.shape).astype(np.float32).astype(np.float64)


@pytest.mark.rotating(one_in=4)
@pytest.mark.parametrize("calls", CALLS)
@pytest.mark.parametrize("name", COMPOSED)
def test_equal_values_raise_no_alarm(name: str, calls: int) -> None:
    spec = specification(name)
    under_test = backend("torch-cpu" if spec.is_gradient else ANY_ORDER)
    if not spec.is_gradient and not under_test.has(name):
        under_test = backend("numpy-cpu")
    operation = (Gradient if spec.is_gradient else Operation)(spec, under_test, "float32", spec.precision)
    judged = 0
    for seed in range(calls):
        drawn = Draw(Random(seed).randint, operation).call()
        redraw = partial(make_most_equal, rng=np.random.default_rng(seed))
        call = operation.call(*tree_map(redraw, list(drawn.arguments)), **tree_map(redraw, drawn.keywords))
        try:
            result = operation.result(call)
        except (NotImplementedVariant, Refused):
            continue
        judged += 1
        accepted = call.expectation(spec.precision).accepts(result.value)
        assert np.all(accepted), (seed, call.expectation(spec.precision).share(result.value).max())
    assert judged
