"""What explains the wrong answers of an operation: known deviations, a near miss of the right equation, or one found by search.

Each explanation predicts answers, so that later failures can be compared with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..calls.call import Call
from ..deviations import Deviation, deviations_of, deviations_of_parts
from ..specification.work import IsOver, never
from .evidence import Evidence
from .explanation import IF_MEANT, Explanation
from .fit import predicts
from .further_calls import AskInFloat32
from .known_deviations import Ask, diagnose
from .near_misses import find_near_miss
from .precision.operands import AnswerInstead, find_narrow_operands, says_rounding_to_even


def explain(
    evidence: Evidence,
    known: Sequence[Explanation] = (),
    is_late: IsOver = never,
    ask: Ask | None = None,
    answer: AnswerInstead | None = None,
    in_float32: AskInFloat32 = lambda call: None,
) -> list[Explanation]:
    """Return the explanations of the evidence that are equally good, the likeliest first, or [] if there is none.

    `known` are explanations of other answers. A near miss may come on top of one of them.
    Once `is_late` returns True, nothing else is tried. `ask` answers calls that have what a wish names, `answer` a call with
    other values, and `in_float32` the same call in float32. The catalogue knows operands that are rounded to even: those that are
    rounded otherwise may pass for them.
    """
    deviations = diagnose(evidence, is_late, ask)
    narrow = None
    if answer is not None and not is_late() and all(deviation.kind == "arithmetic" for deviation in deviations):
        narrow = find_narrow_operands(evidence, answer, is_late)
    if narrow and not (deviations and says_rounding_to_even(narrow)):
        return [narrow]
    if deviations:
        return [_describe_deviation(deviation) for deviation in deviations]
    near_miss = None if is_late() else find_near_miss(evidence, known, is_late, in_float32)
    return [near_miss] if near_miss else []


def _describe_deviation(deviation: Deviation) -> Explanation:
    root = deviation.part or deviation

    def find_counterpart(operation: str) -> Deviation | None:
        """Return the same deviation in an operation, which may be another that it is a part of."""
        candidates = (*deviations_of(operation), *deviations_of_parts(operation))
        return next((found for found in candidates if (found.part or found).id == root.id), None)

    def predicts_call(call: Call) -> bool | None:
        counterpart = find_counterpart(call.operation.name)
        return predicts(counterpart, call) if counterpart else None

    def find_equation(operation: str) -> Any:
        counterpart = find_counterpart(operation)
        return counterpart.function if counterpart else None

    what = ("deviation", deviation.id, deviation.what, root.operation)
    facts = ((IF_MEANT, f"add {deviation.meant}"),) if deviation.meant and deviation.part is None else ()
    return Explanation(*what, predicts_call, facts, equation_of=find_equation)
