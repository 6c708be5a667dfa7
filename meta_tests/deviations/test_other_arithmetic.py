"""Right equations in an arithmetic that loses digits: a textbook form of a variance, and everything in 16 bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from spec_tests.calls.call import Call
from spec_tests.calls.operation import Operation
from spec_tests.diagnosis.equations.unstable_forms import find_unstable_form
from spec_tests.diagnosis.evidence import Evidence
from spec_tests.diagnosis.explanation import Explanation
from spec_tests.diagnosis.precision.results import find_narrow_results
from spec_tests.implementation.backend import Backend
from spec_tests.implementation.framework import Framework
from spec_tests.specification.formats import FORMATS
from spec_tests.specification.registry import specification

Function = Callable[..., Any]
round_to_bfloat16 = FORMATS["bfloat16"].round


def textbook(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """The variance is mean(x²) − mean(x)², which may come out negative."""
    mean = np.mean(x, axis=-1, keepdims=True, dtype=np.float32)
    variance = np.mean(x * x, axis=-1, keepdims=True, dtype=np.float32) - mean * mean
    return (x - mean) / np.sqrt(variance + np.float32(eps)) * weight + bias


def clamped(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    mean = np.mean(x, axis=-1, keepdims=True, dtype=np.float32)
    variance = np.maximum(np.mean(x * x, axis=-1, keepdims=True, dtype=np.float32) - mean * mean, np.float32(0))
    return (x - mean) / np.sqrt(variance + np.float32(eps)) * weight + bias


def without_epsilon(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    mean = np.mean(x, axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(np.mean(np.square(x - mean), axis=-1, keepdims=True)) * weight + bias


def in_bfloat16(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """Every step is rounded to bfloat16, and the result is stored in float32."""
    steps = round_to_bfloat16
    centred = steps(x - steps(np.mean(x, axis=-1, keepdims=True)))
    scale = steps(np.sqrt(steps(steps(np.mean(steps(np.square(centred)), axis=-1, keepdims=True)) + eps)))
    return steps(steps(steps(centred / scale) * weight) + bias).astype(np.float32)


def in_bfloat16_without_bias(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    return in_bfloat16(x, weight, 0 * bias, eps=eps)


def answer(function: Function, seed: int, offset: float = 300.0) -> Call:
    """Return a call of layer_norm in float32 on rows whose mean is far beyond their spread, answered by the function."""
    rng, backend = np.random.default_rng(seed), Backend("mine", SimpleNamespace(layer_norm=function), Framework("numpy"))
    spec = specification("layer_norm")
    operation = Operation(spec, backend, "float32", spec.precision)
    single = FORMATS["float32"].round
    x, weight, bias = rng.standard_normal((4, 16)) + offset, rng.standard_normal(16), rng.standard_normal(16)
    operation(*map(single, (x, weight, bias)), eps=1e-3)
    return operation.recorder.calls[0]


def explain(find: Function, function: Function, offset: float = 300.0) -> Explanation | None:
    evidence = Evidence.gather([answer(function, seed, offset) for seed in range(3)])
    assert evidence.wrong

    def ask(wish: Any = None) -> Iterator[Call]:
        return (answer(function, seed, offset * (seed % 2)) for seed in range(10, 20))

    found: Explanation | None = find(evidence, ask, lambda: False)
    return found


@pytest.mark.parametrize("function", [textbook, clamped], ids=lambda function: function.__name__)
def test_a_textbook_variance_is_named(function: Function) -> None:
    found = explain(find_unstable_form, function)
    assert found is not None
    assert found.what.startswith("the right equation, but its variance is mean(x²) − mean(x)²")
    assert found.predicts(answer(function, 7)) is True
    assert found.predicts(answer(without_epsilon, 7, 0.0)) is False


def test_another_equation_is_no_textbook_variance() -> None:
    assert explain(find_unstable_form, without_epsilon) is None
    assert explain(find_unstable_form, in_bfloat16) is None


def test_bfloat16_throughout_is_named() -> None:
    found = explain(find_narrow_results, in_bfloat16, offset=0.0)
    assert found is not None
    assert found.what == "the right equation, computed in bfloat16: every result is a number of that format"
    assert found.predicts(answer(in_bfloat16, 7, 0.0)) is True
    assert found.predicts(answer(in_bfloat16_without_bias, 7, 0.0)) is False


def test_wrong_numbers_of_bfloat16_are_not_those_of_the_right_equation() -> None:
    assert explain(find_narrow_results, in_bfloat16_without_bias, offset=0.0) is None
    assert explain(find_narrow_results, textbook) is None
