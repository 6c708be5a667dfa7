"""The usual property test: hypothesis.extra.numpy draws the arrays, torch.testing.assert_close compares with the oracle.

Arrays are float32, and there are a hundred examples, as is Hypothesis's default. Shapes and options are drawn as in this suite;
only the numbers are drawn differently.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis
import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from meta_tests.support.in_process import backend
from spec_tests.calls.call import Call
from spec_tests.calls.operation import Operation
from spec_tests.calls.result import Result
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.helpers.assertions import assert_conforms
from spec_tests.implementation.backend import Backend
from spec_tests.implementation.guard import Refused
from spec_tests.inputs.draw import Draw
from spec_tests.specification.pytree import tree_map
from spec_tests.specification.registry import operations, specification

from . import Absent, Judge

TITLE = "hypothesis arrays(), assert_close"
START = "import hypothesis.extra.numpy, pytest, torch"
EXAMPLES, MAX_MAGNITUDE, DTYPE = 100, 10.0, "float32"
ELEMENTS = st.floats(-MAX_MAGNITUDE, MAX_MAGNITUDE, width=32)

Compare = Callable[[Call, Result], None]


def build_judge() -> Judge:
    return build_judge_with(assert_close)


def build_judge_with(compare: Compare) -> Judge:
    """Build a judge that compares each answer by `compare`. Examples that numpy-cpu fails are not counted."""
    names = [name for name in operations() if specification(name).dtype is None]
    correct = backend("numpy-cpu")

    def fails_correct_code(call: Call) -> bool:
        operation = _make_operation(correct, call.operation.name)
        same_call = operation.call(*call.arguments, **call.keywords)
        try:
            compare(same_call, operation.result(same_call))
        except Exception:
            return True
        return False

    def passes(under_test: Backend, name: str) -> bool:
        operation = _make_operation(under_test, name)

        def judge(call: Call) -> None:
            try:
                compare(call, operation.result(call))
            except (NotImplementedError, Refused, NotImplementedVariant):
                return
            except Exception:  # a violation, an assertion, or what a wrong implementation raises
                if not fails_correct_code(call):
                    raise

        try:
            judge_each_example(operation, judge)
        except Exception:
            return False
        return True

    alarms: list[bool] = []
    for name in names:
        judge_each_example(_make_operation(correct, name), lambda call: alarms.append(fails_correct_code(call)))
    return Judge(passes, dict.fromkeys(names, frozenset([DTYPE])), EXAMPLES * len(names), sum(alarms))


def _make_operation(under_test: Backend, name: str) -> Operation:
    spec = specification(name)
    return Operation(spec, under_test, DTYPE, spec.declaration.precision)


def judge_each_example(operation: Operation, judge: Callable[[Call], None]) -> None:
    """Draw EXAMPLES calls with a fixed seed and hand each to `judge`, which raises to stop."""
    options = {"max_examples": EXAMPLES, "deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}

    @hypothesis.seed(1)
    @settings(**options, phases=[Phase.generate])  # type: ignore[arg-type]
    @given(data=st.data())
    def test(data: Any) -> None:
        judge(draw_call(data, operation))

    test()


def draw_call(data: Any, operation: Operation) -> Call:
    """Draw a call as this suite does, then draw the numbers of its floating-point arrays anew by `arrays()`."""

    def redraw(x: Any) -> Any:
        floating = isinstance(x, np.ndarray) and x.dtype.kind == "f"
        return data.draw(arrays(np.float32, x.shape, elements=ELEMENTS)).astype(np.float64) if floating else x

    call = Draw(data.conjecture_data.draw_integer, operation).call()
    return operation.call(*tree_map(redraw, call.arguments), **tree_map(redraw, call.keywords))


def assert_close(call: Call, result: Result) -> None:
    try:
        import torch
    except ImportError:
        raise Absent("torch.testing.assert_close needs torch: pip install -e '.[torch]'") from None
    expected = torch.tensor(np.asarray(call.value, dtype=np.float32))
    torch.testing.assert_close(torch.tensor(result.value.astype(np.float32)), expected, equal_nan=True)


def assert_bounded(call: Call, result: Result) -> None:
    assert_conforms(result)
