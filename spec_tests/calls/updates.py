"""Operations that write to their arguments: caches and states are updated in place, or new ones are returned."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..implementation.backend import Backend
from ..specification.conventions import UPDATE
from .call import Call
from .violation import Violation

IN_PLACE, RETURNED = "in place", "returned"


def known_update(backend: Backend, operation: str) -> str:
    """Return how the backend updates caches, as it states or as its earlier answers show; "" if nothing is known."""
    seen = backend.inferred_conventions.get((operation, UPDATE), ("",))
    return backend.convention(UPDATE, operation) or seen[0]


def settle_update(call: Call, result: Any, given: dict[str, Any]) -> Any:
    """Return the results of a call that may have written to the native arrays `given`: what it returned, or those arrays.

    Code that writes to them may return the other results alone, or nothing if there are none.
    Raise a Violation if it did not do as the backend states, or as its other answers did.
    """
    operation = call.operation
    framework = operation.backend.framework
    if not given:
        return result
    others = [name for name in operation.spec.results if name not in given]
    is_whole = result is not None and not _has_others_alone(framework, result, len(others))
    written = {name: _read(call, name, x) for name, x in given.items()}
    before = {name: _as_given(call, name) for name in given}
    changed = any(not np.array_equal(x, before[name], equal_nan=True) for name, x in written.items())
    known = known_update(operation.backend, operation.name)
    if is_whole and not changed:
        expected = call.parts.split(call.value) if call.parts else {}
        nothing_to_write = all(np.array_equal(expected[name], x, equal_nan=True) for name, x in before.items())
        how = known if nothing_to_write and known else RETURNED
    else:
        how = IN_PLACE
    if known and how != known:
        source = "where the backend states" if operation.backend.convention(UPDATE, operation.name) else "and in other answers"
        raise Violation(f"the update of {' and '.join(given)} is {how}, {source} {known}", [("decides", "cache_update")])
    if not operation.backend.convention(UPDATE, operation.name):
        operation.backend.inferred_conventions[operation.name, UPDATE] = (how,)
        operation.recorder.add_convention(UPDATE, how)
    if how == RETURNED or (is_whole and not changed):
        return result
    if is_whole:
        returned = operation.by_name(result)
        _require_same(call, {name: x for name, x in returned.items() if name in given}, written)
    else:
        returned = dict(zip(others, result if isinstance(result, list | tuple) else [result], strict=False))
    return tuple(given[name] if name in given else returned[name] for name in operation.spec.results)


def _has_others_alone(framework: Any, result: Any, count: int) -> bool:
    """Whether these are so many results, which are not written to any argument, without those that are."""
    if isinstance(result, list | tuple):
        return 0 < len(result) == count
    return count == 1 and framework.is_array(result)


def _as_given(call: Call, name: str) -> Any:
    """Return the numbers that an argument holds. A format of few bits may lack some that are drawn, such as infinities."""
    x, carrier = getattr(call.named[name], "value", call.named[name]), call.operation.carrier(name, call.keywords)
    return carrier.load(carrier.store(x)) if carrier else x


def _read(call: Call, name: str, x: Any) -> Any:
    """Return the numbers of an array in the equation's order of axes, those that its codes stand for where it holds codes."""
    values, carrier = call.operation.backend.framework.numpy(x), call.operation.carrier(name, call.keywords)
    return carrier.load(values) if carrier else call.operation.argument_order.exchange(name, values)


def _require_same(call: Call, returned: dict[str, Any], written: dict[str, np.ndarray]) -> None:
    """Raise a Violation unless what is returned is what was written."""
    framework = call.operation.backend.framework
    for name, x in returned.items():
        if not framework.is_array(x) or not np.array_equal(_read(call, name, x), written[name], equal_nan=True):
            raise Violation(f"{name} was written to, and another array is returned", [("decides", "cache_update")])
