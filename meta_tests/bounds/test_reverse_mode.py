"""Try to falsify bounds of gradients that reverse differentiation derives: those of equations, evaluated with errors."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from reference_numpy import _reverse_mode
from reference_numpy._reverse_mode import vjp
from spec_tests.bounds.derivation import expect
from spec_tests.specification.formats import DTYPES, PRECISIONS, Arithmetic
from spec_tests.specification.registry import gradients, specification

from ..support.simulated_arithmetic import simulate
from .test_bounds import Extent, storage_of

EXTENT = Extent(calls=4, composed_calls=1, roundings=3, max_elements=400, seed=0)
NAMES = [name for name in gradients() if specification(name).dtype is None and not specification(name).declaration.chooses]


def derive(gradient: str) -> Callable[..., Any]:
    """Return the gradients of an operation as reverse differentiation of its equation gives them."""
    name = gradient.removesuffix("_vjp")
    equation = getattr(importlib.import_module(f"reference_numpy.{name}"), name)
    return lambda cotangent, *arguments, **keywords: vjp(equation, cotangent, *arguments, **keywords)


def test_a_copy_of_its_functions_changes_no_rule() -> None:
    """A search for a changed line runs the definitions of a module again, in a namespace of their own."""
    before = dict(vars(_reverse_mode._Rules))
    namespace = dict(vars(_reverse_mode))
    for node in ast.parse(inspect.getsource(_reverse_mode)).body:
        if isinstance(node, ast.FunctionDef):
            exec(compile(ast.Module([node], []), "<copy>", "exec"), namespace)
    assert dict(vars(_reverse_mode._Rules)) == before
    assert namespace["vjp"] is not vjp
    np.testing.assert_array_equal(vjp(np.exp, [1.0], [0.0])[0], [1.0])


@pytest.mark.rotating(one_in=4)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_no_simulated_derived_gradient_leaves_its_bound(name: str, dtype: str) -> None:
    equation, claimed = derive(name), 0
    for call in EXTENT.draw(name, dtype):
        evaluate = partial(call.evaluate, equation=equation)
        for arithmetic in dict.fromkeys(Arithmetic.of(dtype, precision) for precision in PRECISIONS):
            storage = storage_of(call, arithmetic)
            expectation = expect(evaluate, arithmetic, storage, sampled=call.operation.spec.composed)
            claimed += int(np.sum(expectation.claimed))
            for seed in range(EXTENT.roundings):
                result = simulate(evaluate, arithmetic, storage, seed)
                assert np.all(expectation.accepts(result)), (name, call, arithmetic)
    assert claimed
