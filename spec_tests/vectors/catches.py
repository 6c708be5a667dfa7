"""Which known bugs a vector catches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from ..calls.call import Call
from ..calls.operation import Operation
from ..calls.violation import Violation
from ..deviations import Deviation, OracleBackend, deviations_of
from ..specification.pytree import tree_map
from .candidates import Candidate

Function = Callable[..., Any]


def find_catches(operation: str, candidates: Sequence[Candidate]) -> dict[str, set[int]]:
    """Return for each known bug of the operation the numbers of the candidates that catch it, each tried on fresh state."""
    prepared = [Prepared(candidate) for candidate in candidates]
    return {
        deviation.id: {number for number, one in enumerate(prepared) if one.catches(deviation)}
        for deviation in deviations_of(operation)
    }


def make_function(deviation: Deviation) -> Function:
    """Return the function of the oracle with a known bug in it, in fresh state."""
    return _make_fresh(deviation) if deviation.asks("memory") else _make_once(deviation)


def _make_fresh(deviation: Deviation) -> Function:
    function: Function = getattr(OracleBackend(deviation), deviation.operation)
    return function


_make_once = cache(_make_fresh)


@dataclass(frozen=True)
class Prepared:
    """A candidate, whose arguments are made arrays of NumPy once for all bugs."""

    candidate: Candidate

    @cached_property
    def _call(self) -> Call:
        """The call without its answer, but with the value of the equation, which takes longest."""
        original = self.candidate.call
        call = Call(original.operation, original.arguments, dict(original.keywords))
        call.__dict__["_settled"] = original._settled
        return call

    @cached_property
    def _arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return self.candidate.call.operation.native(self.candidate.call)

    def catches(self, deviation: Deviation) -> bool:
        """Whether a checker of the vector's file catches a bug: by an error, a shape, a dtype, or an element outside."""
        return deviation.shows_in(self.candidate.dtype) and not self._is_right(make_function(deviation))

    def _is_right(self, function: Function) -> bool:
        call, operation = self._call, self.candidate.call.operation
        assert isinstance(operation, Operation)
        framework = operation.backend.framework
        positional, keywords = tree_map(lambda x: x.copy() if framework.is_array(x) else x, self._arguments)
        try:
            with np.errstate(all="ignore"):
                result = function(*positional, **keywords)
        except NotImplementedError:
            return True
        except Exception:
            return False
        try:
            values, arrays = operation.values(call, result), operation.by_name(result)
        except Violation:
            return False
        for name, x in () if operation.spec.is_gradient else arrays.items():
            if framework.is_array(x) and framework.dtype_of(x) not in operation.expected_dtypes(name, call.keywords):
                return False
        return bool(np.all(self.candidate.expectation.accepts(np.asarray(values, dtype=np.float64))))
