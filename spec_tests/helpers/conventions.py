"""The law of conventions: the answers follow what the backend states, or agree on one known value where it states nothing."""

from __future__ import annotations

from ..calls.conventions import judge_conventions
from ..calls.operation import Operation
from ..calls.recorder import REFUSED
from ..calls.violation import Lost, NoAnswer, NotImplementedVariant
from ..inputs.draw import Draw


def assert_convention(operation: Operation, draw: Draw, name: str) -> None:
    """The answer to a question of the convention is that of the value that the backend states, or of the one that is inferred.

    Where the backend states none, it may refuse the question by any exception: the equation does not ask it either.
    """
    arguments, keywords = operation.spec.module.open_questions[name](draw)
    call = operation.call(*arguments, **keywords)
    try:
        result = operation.run(call)
    except (NoAnswer, NotImplementedVariant) as refusal:
        if operation.backend.convention(name, operation.name) or isinstance(refusal, Lost):
            raise
        if isinstance(refusal, NotImplementedVariant) and refusal.kind != "backend":
            raise  # the suite or the domain excludes it, so that the backend was not asked
        operation.recorder.add_convention(name, REFUSED)
        raise NotImplementedVariant(f"{name} is not stated, and it refuses the question: {refusal}", "backend") from refusal
    operation.values(call, result)
    judge_conventions(call, operation.recorder.add_convention)
