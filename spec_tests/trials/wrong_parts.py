"""Which wrong calls the wrong answer of a call comes from: those of its parts, or of the operation whose gradient it is.

A block that calls a wrong part has no bug of its own, and neither has the gradient of a wrong result. For a block the backend's
parts are put into the equation: they are to blame if it then gives the backend's answer, within the error that random roundings
before, in and after the parts make.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import numpy as np

from ..bounds.bounded import Bounded
from ..bounds.expectation import Expectation
from ..bounds.sample import Sample
from ..bounds.sampled_error import few_draws_error, sampled_error
from ..calls.call import Call
from ..calls.gradient import Gradient
from ..calls.operation import Operation
from ..calls.recorder import Recorder
from ..calls.violation import NotImplementedVariant
from ..diagnosis.evidence import answer_of, is_wrong, truth_of, wrong_in
from ..specification.composition import parts_of, substitute
from ..specification.formats import Arithmetic, is_floating
from ..specification.pytree import leaves, tree_map
from ..specification.registry import specification
from .asker import answer_instead
from .failure import Failure

OTHER_VALUES = 4  # that are tried where the forward result for the arguments of a gradient is right


def find_origin(failure: Failure, operation_of: Callable[[str], Operation | None]) -> list[Call]:
    """Return the wrong calls that each wrong answer of a failing example comes from, [] if one does not come from others.

    They are those of the parts of a block, of the operation whose gradient is wrong, or of the operation outside of the
    state of its framework in which the law failed. `operation_of` returns an operation of the backend, None if it has none.
    """
    found = list[Call]()
    for failing in failure.wrong_calls:
        call = answer_instead(failing, {}) if failure.state else failing
        if call is None or not is_wrong(call):
            return []
        forward = find_wrong_forward(call)
        parts = [part for made in forward or [call] for part in find_wrong_parts(made, operation_of)]
        if not (wrong := parts or forward or ([call] if failure.state else [])):
            return []
        found += wrong
    return found


class PartsOfBackend:
    """The functions of a backend in place of the parts of equations. `calls` are those that were made with plain arrays."""

    def __init__(self, operation_of: Callable[[str], Operation | None]):
        self.operation_of, self.calls, self._is_judging = operation_of, list[Call](), False

    @contextmanager
    def inside(self, names: Iterable[str]) -> Iterator[None]:
        """Within the context every equation that calls one of these operations calls the backend instead."""
        with ExitStack() as stack:
            for name in names:
                stack.enter_context(substitute(name, partial(self._answer, name)))
            yield

    def _answer(self, name: str, *arguments: Any, **keywords: Any) -> Any:
        numbers = [x for _, x in leaves([list(arguments), keywords])]
        operation = None if self._is_judging or any(isinstance(x, Bounded) for x in numbers) else self.operation_of(name)
        if operation is None:
            return specification(name).reference(*arguments, **keywords)
        samples = [x for x in numbers if isinstance(x, Sample)]
        if not samples:
            return self._ask(operation, arguments, keywords, self.calls)
        draws = range(max(len(x.value) for x in samples))
        answers = [self._ask(operation, _pick_draw(i, arguments), _pick_draw(i, keywords), []) for i in draws]
        return samples[0].at(np.stack(answers))

    def _ask(self, operation: Operation, arguments: Any, keywords: Any, calls: list[Call]) -> Any:
        """Return the backend's answer, or that of the equation if the backend refuses the call. Add the call to `calls`."""
        hold = operation.storage.round
        arguments, keywords = (tree_map(lambda x: hold(x) if is_floating(x) else x, tree) for tree in (arguments, keywords))
        self._is_judging = True
        try:
            call = operation.call(*arguments, **keywords)
            calls.append(call)
            return np.asarray(operation.values(call, operation.run(call, operation.native(call))))
        except NotImplementedVariant:
            return operation.spec.reference(*arguments, **keywords)
        finally:
            self._is_judging = False


def _pick_draw(i: int, tree: Any) -> Any:
    return tree_map(lambda x: x.value[min(i, len(x.value) - 1)] if isinstance(x, Sample) else x, tree)


def find_wrong_parts(call: Call, operation_of: Callable[[str], Operation | None]) -> list[Call]:
    """Return wrong calls of parts that explain the wrong answer of a call, [] if none do. One part is blamed before several."""
    if call.operation.spec.is_gradient or not (names := parts_of(call.operation.name)):
        return []
    with suppress(Exception):  # what cannot be asked of the parts is no evidence
        parts = PartsOfBackend(operation_of)
        _evaluate(call, parts, names)
        wrong = [made for made in parts.calls if is_wrong(made)]
        blamed = tuple(dict.fromkeys(made.operation.name for made in wrong))
        for tried in dict.fromkeys([*((name,) for name in blamed), blamed] if blamed else []):
            if _gives_the_answer(call, parts, tried):
                return [made for made in wrong if made.operation.name in tried]
    return []


def _evaluate(call: Call, parts: PartsOfBackend, names: Sequence[str], wrap: Callable[[Any], Any] = np.asarray) -> Any:
    def equation(*arguments: Any, **keywords: Any) -> Any:
        with parts.inside(names):
            return call.operation.spec.reference(*arguments, **keywords)

    with np.errstate(all="ignore"):
        return call.evaluate(wrap, equation)


def _gives_the_answer(call: Call, parts: PartsOfBackend, names: Sequence[str]) -> bool:
    """Whether the equation with the backend's parts of these names gives the backend's answer."""
    answer, truth, wrong = answer_of(call), truth_of(call).value, wrong_in(call)
    value = np.asarray(_evaluate(call, parts, names), dtype=np.float64)
    with np.errstate(all="ignore"):
        is_nearer = np.abs(answer - value) < np.abs(answer - truth)
        is_same = (answer == value) | (np.isnan(answer) & np.isnan(value))
    if not np.all((is_nearer | is_same)[wrong]):
        return False
    arithmetic = Arithmetic.of(call.operation.dtype, call.operation.classes()[-1])
    for find_error in (few_draws_error, sampled_error):  # the first is never larger, and takes fewer calls
        error = find_error(lambda wrap: _evaluate(call, parts, names, wrap), value, arithmetic)
        expected = Expectation(value, error, call.storage)
        if np.all(np.where(wrong, is_same | (expected.claimed & expected.accepts(answer)), expected.accepts(answer))):
            return True
    return False


def find_wrong_forward(gradient: Call) -> list[Call]:
    """Return a wrong call of the operation whose gradient this is, [] if none is found, or if the backend has its own gradient.

    The forward result may be right by chance where the gradient is not, as that of zeros. Then other values are tried.
    """
    operation = gradient.operation
    if not isinstance(operation, Gradient) or operation.own:
        return []
    forward = replace(operation.forward, recorder=Recorder())
    with suppress(Exception):  # a call without a readable result is no evidence
        first, source = forward_call(gradient, forward), Random(0)
        for number in range(1 + OTHER_VALUES):
            call = _draw_other_values(first, source) if number else first
            forward.values(call, forward.run(call))
            if is_wrong(call):
                return [call]
    return []


def _draw_other_values(call: Call, source: Random) -> Call:
    """Return the call with other values in its floating arrays: those that are there, moved, or ordinary ones for equal ones."""

    def change(x: Any) -> Any:
        if not (is_floating(x) and x.size):
            return x
        if np.all(x == x.flat[0]):
            return call.operation.storage.round(np.reshape([source.gauss(0, 1) for _ in range(x.size)], x.shape))
        return np.where(np.isfinite(x), np.roll(x, source.randrange(x.size)), x)

    keywords = {name: tree_map(change, x) for name, x in call.keywords.items()}
    return Call(call.operation, tuple(tree_map(change, x) for x in call.arguments), keywords)


def forward_call(gradient: Call, forward: Operation) -> Call:
    """Return the call of the forward operation with the arguments of its gradient."""
    keywords = {name: value for name, value in gradient.keywords.items() if name != "wrt"}
    return forward.call(*gradient.arguments[1:], **keywords)
