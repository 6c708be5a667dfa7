"""The law of conventions: the answers follow what the backend states, or agree on one known value where it states nothing."""

from __future__ import annotations

from ..calls.conventions import judge_conventions
from ..calls.operation import Operation
from ..calls.recorder import REFUSED
from ..calls.violation import NotImplementedVariant
from ..inputs.draw import Draw
from ..specification.conventions import CONVENTIONS
from .optional import answer_optional


def holds_value(operation: Operation, name: str, value: str) -> bool:
    """Whether a convention has this value, as the backend states or as its answers show."""
    return operation.possible_values(CONVENTIONS[name])[0] == value


def assert_convention(operation: Operation, draw: Draw, name: str) -> None:
    """The answer to a question of the convention is that of the value that the backend states, or of the one that is inferred.

    Where the backend states none, it may refuse the question by any exception: the equation does not ask it either.
    """
    arguments, keywords = operation.spec.declaration.open_questions[name](draw)
    call = operation.call(*arguments, **keywords)
    if operation.backend.convention(name, operation.name):
        operation.result(call)
    else:
        try:
            answer_optional(operation, call, f"{name} is not stated, and it refuses the question")
        except NotImplementedVariant as refusal:
            if refusal.kind == "backend":  # otherwise the domain excludes the call, so that the backend was not asked
                operation.recorder.add_convention(name, REFUSED)
            raise
    judge_conventions(call, operation.recorder.add_convention)
