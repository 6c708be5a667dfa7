"""Hypothesis as it is mostly used: arrays drawn by hypothesis.extra.numpy, float32, a hundred examples (its default), compared
with the oracle by torch.testing.assert_close. Shapes and configuration are those that this suite draws; the numbers are not."""

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
from spec_tests.helpers.assertions import assert_conforms
from spec_tests.implementation.backend import Backend
from spec_tests.inputs.draw import Draw
from spec_tests.specification.pytree import tree_map
from spec_tests.specification.registry import operations, specification

from . import Absent, Judging

TITLE = "hypothesis arrays(), assert_close"
START = "import hypothesis.extra.numpy, pytest, torch"
EXAMPLES, LARGEST, DTYPE = 100, 10.0, "float32"
ELEMENTS = st.floats(-LARGEST, LARGEST, width=32)


Compare = Callable[[Call, Result], None]


def judging() -> Judging:
    return judging_by(assert_close)


def judging_by(compare: Compare) -> Judging:
    names = [name for name in operations() if specification(name).dtype is None]
    correct = backend("numpy-cpu")

    def unfair(call: Call) -> bool:
        """Correct code fails it too."""
        own = _operation(correct, call.operation.name)
        same = own.call(*call.arguments, **call.keywords)
        try:
            compare(same, own.result(same))
        except Exception:
            return True
        return False

    def passes(under_test: Backend, name: str) -> bool:
        def judge(call: Call) -> None:
            try:
                compare(call, call.operation.result(call))
            except Exception:  # a violation, an assertion, or what a wrong implementation raises
                if not unfair(call):
                    raise

        try:
            each(_operation(under_test, name), judge)
        except Exception:
            return False
        return True

    alarms: list[bool] = []
    for name in names:
        each(_operation(correct, name), lambda call: alarms.append(unfair(call)))
    return Judging(passes, dict.fromkeys(names, frozenset([DTYPE])), EXAMPLES * len(names), sum(alarms))


def _operation(of: Backend, name: str) -> Operation:
    spec = specification(name)
    return Operation(spec, of, DTYPE, getattr(spec.module, "precision", "eager"))


def each(operation: Operation, judge: Callable[[Call], None]) -> None:
    ours = {"max_examples": EXAMPLES, "deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}

    @hypothesis.seed(1)
    @settings(**ours, phases=[Phase.generate])  # type: ignore[arg-type]
    @given(data=st.data())
    def test(data: Any) -> None:
        judge(drawn(data, operation))

    test()


def drawn(data: Any, operation: Operation) -> Call:
    def redrawn(x: Any) -> Any:
        floating = isinstance(x, np.ndarray) and x.dtype.kind == "f"
        return data.draw(arrays(np.float32, x.shape, elements=ELEMENTS)).astype(np.float64) if floating else x

    call = Draw(data.conjecture_data.draw_integer, operation).call()
    return operation.call(*tree_map(redrawn, call.arguments), **tree_map(redrawn, call.keywords))


def assert_close(call: Call, result: Result) -> None:
    try:
        import torch
    except ImportError:
        raise Absent("torch.testing.assert_close needs torch: pip install -e '.[torch]'") from None
    expected = torch.tensor(np.asarray(call.value, dtype=np.float32))
    torch.testing.assert_close(torch.tensor(result.value.astype(np.float32)), expected, equal_nan=True)


def assert_bounded(call: Call, result: Result) -> None:
    assert_conforms(result)
