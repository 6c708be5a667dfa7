"""Known deviations, which an operation may have under some options, or in some elements, alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...calls.call import Call
from ...deviations import SUBSTITUTED, deviations_of
from ...deviations._oracle_backend import prepare
from ...specification.registry import Specification
from ..fit import is_nearer
from .alternative import Alternative, Named, call_equation
from .binding import bound

COST = 0.25


def list_known(call: Call) -> Iterator[Alternative]:
    """Yield the deviations of the operation that most wrong answers of a call are nearer to than to the right ones."""
    name = call.operation.name
    for deviation in deviations_of(name):
        if deviation.kind in SUBSTITUTED and deviation.shows_in(call.operation.dtype) and is_nearer(deviation, call):
            equation = prepare(name, deviation.function, call.operation.storage)
            yield Alternative(name, deviation.what, bound(_compute, equation), COST)


def _compute(spec: Specification, named: Named, equation: Callable[..., Any]) -> Any:
    return call_equation(equation, spec, named)
