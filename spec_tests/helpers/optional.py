"""Calls that a backend may refuse by any exception, since the protocol does not ask for an answer."""

from __future__ import annotations

from ..calls.call import Call
from ..calls.operation import Operation
from ..calls.result import Result
from ..calls.violation import Lost, NoAnswer, NotImplementedVariant


def answer_broadcast(operation: Operation, call: Call) -> Result:
    """Return the result of a call with unequal batches, which may be refused unless the domain states that they broadcast."""
    if operation.domain.get("broadcast"):
        return operation.result(call)
    return answer_optional(operation, call, "it refuses batches that broadcast")


def answer_optional(operation: Operation, call: Call, what: str) -> Result:
    """Return the result of a call that the backend may refuse. Raise NotImplementedVariant if it does, by whatever exception.

    A timeout and a crash are no refusal. A wrong type, device or shape of the result is a violation, as for any call.
    """
    try:
        answer = operation.run(call)
    except Lost:
        raise
    except NoAnswer as refusal:
        raise NotImplementedVariant(f"{what}: {refusal}", "backend") from refusal
    return Result(operation.values(call, answer), call)
