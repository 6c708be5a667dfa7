"""Which vectors catch which deviations, and which few of them catch most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..calls.call import Call
from ..calls.operation import Operation
from ..calls.violation import NotImplementedVariant, Violation
from ..deviations import Deviation, OracleBackend, deviations_of
from ..implementation.backend import build_backend
from ..specification.registry import operations
from .candidates import Candidate


def catches(candidate: Candidate, deviation: Deviation) -> bool:
    """Whether a checker of the vector's file catches a deviation: by an error, a shape, a dtype, or an element outside."""
    if not deviation.shows_in(candidate.dtype):
        return False
    operation = candidate.call.operation
    assert isinstance(operation, Operation)
    operation = replace(operation, backend=build_backend(OracleBackend(deviation), operations()))
    call = Call(operation, candidate.call.arguments, dict(candidate.call.keywords))
    framework = operation.backend.framework
    try:
        result = operation.run(call)
        values = operation.values(call, result)
        arrays = operation.by_name(result)
    except NotImplementedVariant:
        return False
    except Violation:
        return True
    for name, x in () if operation.spec.is_gradient else arrays.items():
        if framework.is_array(x) and framework.dtype_of(x) not in operation.expected_dtypes(name, call.keywords):
            return True
    return not np.all(candidate.expectation.accepts(np.asarray(values, dtype=np.float64)))


def measure(operation: str, candidates: Sequence[Candidate]) -> dict[str, set[int]]:
    """Return for each deviation of the operation the numbers of the candidates that catch it, each tried on fresh state."""
    return {
        deviation.id: {number for number, candidate in enumerate(candidates) if catches(candidate, deviation)}
        for deviation in deviations_of(operation)
    }


def choose(caught: Mapping[str, set[int]], sizes: Sequence[int]) -> list[int]:
    """Return the numbers of few candidates that catch every deviation that any catches.

    The next one is always the one that catches most of what is left and, of several, the smallest. This needs at most
    1 + ln(n) times as many as the fewest possible for n deviations.
    """
    left, chosen = {deviation for deviation, numbers in caught.items() if numbers}, list[int]()
    while left:
        gains = {number: sum(number in caught[deviation] for deviation in left) for number in range(len(sizes))}
        best = max(gains, key=lambda number: (gains[number], -sizes[number], -number))
        chosen.append(best)
        left -= {deviation for deviation in left if best in caught[deviation]}
    return chosen
