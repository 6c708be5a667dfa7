"""Wrong answers that are those of the right equation in a form that loses digits.

Such forms are a variance as mean(x²) − mean(x)², and weights of a softmax as exp(x − lse), by which parts
of attention are merged.
Both forms have the same value, and only the error bounds tell them apart. Summation in another order gives other digits, so the
explanation is a bound, that of the other form: answers may lie within it, and some come near it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from typing import Any

import numpy as np

from ...bounds.expectation import Expectation
from ...calls.call import Call
from ..evidence import Evidence, answer_of, wrong_in
from ..explanation import Explanation
from ..further_calls import Ask
from .neighbours.candidate import Candidate
from .neighbours.edit import Change, Edit
from .neighbours.rules._rule import children, fill, name_of, without_marks
from .neighbours.source import source_of

MIN_WRONG_CALLS, MIN_WRONG_ELEMENTS = 2, 4  # one may be anywhere by chance
MIN_SHARE = 1 / 64  # of the other form's bound that the largest error reaches; an error far below it has another reason
ASKED_CALLS = 48
TEXTBOOK = "np.maximum(np.mean(np.square(x), axis=a, keepdims=True) - np.square(np.mean(x, axis=a, keepdims=True)), 0.0)"
BY_LSE = "np.exp(x - (m + np.log(s)))"
BY_LSE_WORDS = (
    "the right equation, with exp(x − lse) for the weights of its softmax, as where parts are merged by their lse:"
    " they lose digits where scores are large, so divide them by their sum"
)
WORDS = "the right equation, but its variance is mean(x²) − mean(x)², which loses digits where the mean is far beyond the spread"


def find_unstable_form(evidence: Evidence, ask: Ask, is_late: Callable[[], bool]) -> Explanation | None:
    """Return the explanation of wrong answers by a form that loses digits, None if none holds.

    ask: answers further calls, all of which must lie within the bound of that form, too.
    """
    wrong = evidence.wrong
    if len(wrong) < MIN_WRONG_CALLS or wrong[0].operation.precision == "exact":
        return None
    operation = wrong[0].operation.name
    for form in _list_forms(operation):
        equation = form.equation
        shares = [share for call in wrong if not is_late() and (share := _find_share(call, equation)) is not None]
        if len(shares) < len(wrong) or sum(map(len, shares)) < MIN_WRONG_ELEMENTS:
            continue
        if max(float(np.max(share, initial=0.0)) for share in shares) < MIN_SHARE:
            continue
        if all(not is_late() and _allows(call, equation) for call in (*evidence.right, *islice(ask(), ASKED_CALLS))):
            return Explanation("near miss", form.id, form.words, operation, partial(_predicts, operation, equation))
    return None


@dataclass(frozen=True)
class _Form:
    """An equation with one expression in a form that loses digits."""

    id: str
    words: str
    equation: Any


@cache
def _list_forms(operation: str) -> tuple[_Form, ...]:
    """Return the equation with each of its variances, and each of its softmaxes, in the other form."""
    source = source_of(operation)
    return tuple(
        _Form(name, words, Candidate(source, (Edit(site, (Change(parent, field, index, form),), name, 1.0),)).function)
        for site in source.sites
        for name, words, list_places in (
            ("variance of squares", WORDS, _list_variances),
            ("weights by lse", BY_LSE_WORDS, _list_softmaxes),
        )
        for parent, field, index, form in list_places(site.tree)
    )


def _list_softmaxes(function: ast.FunctionDef) -> Iterator[tuple[ast.AST, str, int | None, Any]]:
    """Yield where a function divides e = exp(x − m) by the sum of e, with the other form of it."""
    values = {
        node.targets[0].id: node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    for parent, field, index, node in children(function):
        if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and name_of(node.right) == "sum"):
            continue
        total: Any = node.right
        power: Any = without_marks(values.get(getattr(node.left, "id", ""), node.left))
        shifted = without_marks(power.args[0]) if name_of(power) == "exp" else None
        is_its_sum = ast.dump(total.args[0]) == ast.dump(node.left)
        if is_its_sum and isinstance(shifted, ast.BinOp) and isinstance(shifted.op, ast.Sub):
            yield parent, field, index, fill(BY_LSE, x=shifted.left, m=shifted.right, s=total)


def _list_variances(function: ast.FunctionDef) -> Iterator[tuple[ast.AST, str, int | None, Any]]:
    """Yield where a function has the mean of squares of x − mean(x), with the other form of it."""
    centred = {
        node.targets[0].id: x
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and (x := _find_centred(node.value)) is not None
    }
    for parent, field, index, node in children(function):
        inside = without_marks(node.args[0]) if name_of(node) == "mean" and node.args else None
        if inside is None or name_of(inside) != "square":
            continue
        name = without_marks(inside.args[0])
        axis = next((keyword.value for keyword in node.keywords if keyword.arg == "axis"), None)
        if axis is not None and isinstance(name, ast.Name) and name.id in centred:
            yield parent, field, index, fill(TEXTBOOK, x=centred[name.id], a=axis)


def _find_centred(node: Any) -> Any:
    """Return x of an expression x - mean(x), None of any other."""
    difference = without_marks(node)
    if not (isinstance(difference, ast.BinOp) and isinstance(difference.op, ast.Sub)):
        return None
    mean = without_marks(difference.right)
    is_mean = name_of(mean) == "mean" and ast.dump(mean.args[0]) == ast.dump(difference.left)
    return difference.left if is_mean else None


def _expect(call: Call, equation: Any) -> Expectation | None:
    with suppress(Exception), np.errstate(all="ignore"):
        return call.expect(call.operation.precision, equation)
    return None


def _allows(call: Call, equation: Any) -> bool:
    expected = _expect(call, equation)
    return call.observed is None or (expected is not None and expected.accepts_all(answer_of(call)))


def _find_share(call: Call, equation: Any) -> np.ndarray | None:
    """Return the share of the form's bound that each wrong element reaches, where it claims something; None if some exceed it."""
    expected, answer = _expect(call, equation), answer_of(call)
    if expected is None or expected.value.shape != answer.shape or not expected.accepts_all(answer):
        return None
    with np.errstate(all="ignore"):
        share = np.abs(answer - expected.value) / expected.error
    told = wrong_in(call) & expected.claimed & np.isfinite(share)
    return np.asarray(share[told])


def _predicts(operation: str, equation: Any, call: Call) -> bool | None:
    """Whether the answer of a call lies within the bound of the form."""
    return _allows(call, equation) if call.operation.name == operation else None
