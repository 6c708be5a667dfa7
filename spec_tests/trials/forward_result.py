"""The cause of a wrong gradient, or of one without an answer: that of the forward result, which the framework differentiates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..calls.call import Call
from ..calls.violation import Lost
from ..diagnosis.evidence import is_wrong
from .cause import Asker, Cause
from .failure import Failure


def find_in_forward(found: Sequence[Cause], calls: list[Call], asker: Asker) -> Cause | None:
    """Return the cause of wrong gradients: that of the forward result, if it is wrong for the same arguments.

    Other answers of the same example may be wrong as well, where a known cause explains them.
    """
    calls = [call for call in calls if not any(cause.predicts(call) for cause in found)]
    known = find_cause_of_forward(found, calls, asker)
    if known is None:
        return None
    return known if all(known.covers(asker.forward_of(call)) or _is_forward_wrong(call, asker) for call in calls) else None


def find_failure_of_forward(gradient: Failure, asker: Asker) -> Failure | None:
    """Return how the forward operation fails for the arguments of a gradient without an answer, None if it answers."""
    call = gradient.last_call
    if call is None or isinstance(gradient.violation, Lost) or not _is_differentiated([call], asker):
        return None
    forward, violation = asker.run_forward(call)
    if violation is None or isinstance(violation, Lost):
        return None
    name = forward.operation.name
    return Failure(f"{name}.reference", name, gradient.dtype, violation, last_call=forward)


def find_cause_of_forward(found: Iterable[Cause], calls: list[Call], asker: Asker) -> Cause | None:
    """Return a cause that made the forward operation of gradients fail, if its framework differentiates it."""
    if not _is_differentiated(calls, asker):
        return None
    forward = {call.operation.name.removesuffix("_vjp") for call in calls}
    return next((cause for cause in found if forward & {law.partition(".")[0] for law, _ in cause.failures}), None)


def _is_differentiated(calls: list[Call], asker: Asker) -> bool:
    """Whether calls are of gradients that the framework computes from the backend's forward operations."""
    names = {call.operation.name for call in calls}
    return bool(names) and all(name.endswith("_vjp") and not asker.backend.function(name) for name in names)


def _is_forward_wrong(gradient: Call, asker: Asker) -> bool:
    """Whether the backend's forward result for the arguments of a gradient is wrong, or is none."""
    forward, violation = asker.run_forward(gradient)
    if violation is not None:
        return not asker.backend.framework.device_lost  # a lost device says nothing about the result
    return is_wrong(forward)
