"""Whole numbers that code keeps in 16 bits: neighbours among large ones collapse, as positions beyond 2048 in float16."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from ..bounds.expectation import Expectation
from ..calls.call import Call
from ..specification.formats import FORMATS
from .evidence import Evidence, answer_of, is_wrong, wrong_in
from .explanation import Explanation

NARROW = ("float16", "bfloat16")


def find_narrow_integers(evidence: Evidence) -> Explanation | None:
    """Return the argument of whole numbers of which every wrong answer is right once it is rounded to 16 bits.

    No right answer may belong to a call in which that rounding would show.
    """
    operation = evidence.wrong[0].operation
    for name in _list_integer_arguments(evidence.wrong[0]):
        for narrow in NARROW:
            predicts = partial(_is_of_rounded, operation.name, name, narrow)
            if all(map(predicts, evidence.wrong)) and all(predicts(call) is not False for call in evidence.right):
                what = f"the argument {name} is rounded to {narrow}, in which neighbours among large numbers collapse"
                return Explanation("near miss", f"{name} in {narrow}", what, operation.name, predicts)
    return None


def _list_integer_arguments(call: Call) -> list[str]:
    named = {**dict(zip(call.operation.spec.positional, call.arguments, strict=False)), **call.keywords}
    return [name for name, x in named.items() if isinstance(x, np.ndarray) and x.dtype.kind in "iu"]


def _is_of_rounded(operation: str, name: str, narrow: str, call: Call) -> bool | None:
    """Whether the answer of a call is the right one for the argument rounded to the format. None if rounding changes nothing."""
    if call.operation.name != operation:
        return None
    with suppress(Exception):  # the equation does not take the rounded numbers, as indices beyond the table
        if (expected := _expect_of_rounded(call, name, narrow)) is None:
            return False if is_wrong(call) else None
        answer = answer_of(call)
        if expected.value.shape == answer.shape:
            return bool(expected.accepts_all(answer)) and bool(np.all(expected.claimed | ~wrong_in(call)))
    return False


def _expect_of_rounded(call: Call, name: str, narrow: str) -> Expectation | None:
    """Return what the equation allows for the rounded argument, None if it is the same."""
    names = call.operation.spec.positional
    given = {**dict(zip(names, call.arguments, strict=False)), **call.keywords}
    rounded: Any = np.asarray(FORMATS[narrow].round(given[name].astype(np.float64)))
    if np.array_equal(rounded, given[name]) or not np.all(np.isfinite(rounded)):
        return None
    given[name] = rounded.astype(given[name].dtype)
    arguments = tuple(given[ours] for ours, _ in zip(names, call.arguments, strict=False))
    keywords = {ours: given[ours] for ours in call.keywords}
    return Call(call.operation, arguments, keywords, observed=call.judged_by_answer).expectation(call.operation.precision)
