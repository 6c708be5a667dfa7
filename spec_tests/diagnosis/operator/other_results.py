"""What a result may be in place of the right one: zero, a multiple of it, its entries in another order, or another array."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from reference_numpy._marks import positive
from reference_numpy.log_softmax import log_softmax
from reference_numpy.sigmoid import sigmoid
from reference_numpy.softmax import softmax

from ...calls.call import Call
from ...calls.in_domain import sizes_of
from ...specification.registry import Specification
from ..evidence import answer_of, wrong_in
from ..result_parts import map_parts, say_part, split_parts
from .alternative import Alternative, Named, call_right, take
from .axes import name_axes, plural
from .binding import bound
from .indices import IndexMap, list_maps, list_plain_maps
from .numbers import Number, collect_values, list_numbers

FUNCTIONS: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    ("the softmax of the right one along the last axis", partial(softmax, axis=-1)),
    ("the log_softmax of the right one along the last axis", partial(log_softmax, axis=-1)),
    ("the sigmoid of the right one", sigmoid),
    ("the tanh of the right one", np.tanh),
    ("the exponential of the right one", np.exp),
    ("the positive part of the right one", positive),
    ("the square of the right one", np.square),
    ("the absolute value of the right one", np.abs),
)

Change = Callable[[Specification, Named, Any], Any]  # of a right result
DIGITS = 0.05  # relative distance of a quotient from the number that it is taken for, in roots of the unit roundoff


def list_other_results(call: Call) -> Iterator[Alternative]:
    """Yield the changes of each result of a call that is wrong, the answer of which suggests some of them."""
    spec, name = call.operation.spec, call.operation.name
    right, answer = split_parts(call, np.asarray(call.value, dtype=float)), split_parts(call, answer_of(call))
    wrong = split_parts(call, wrong_in(call))
    for part in right:
        if not wrong[part].any():
            continue
        said = say_part(spec, part)
        path = part if spec.is_gradient or spec.has_several_results else ""
        for what, change, cost in (
            *_list_multiples(call, said, right[part], answer[part], wrong[part]),
            *_list_orders(call, part, right[part], answer[part]),
            *_list_others(spec, call, said, part, right),
            *_list_sums(call, said, right[part]),
            *(() if spec.is_gradient else _list_functions(said, right[part])),
        ):
            yield Alternative(name, what, None, cost, change=_changed(path, change))


def _changed(part: str, change: Change) -> Change:
    def change_part(spec: Specification, named: Named, right: Any) -> Any:
        return map_parts(lambda name, y: change(spec, named, y) if name == part else y, spec, right)

    return change_part


def _list_multiples(
    call: Call, said: str, right: np.ndarray, answer: np.ndarray, wrong: np.ndarray
) -> Iterator[tuple[str, Change, float]]:
    yield f"{said} is 0", lambda spec, named, y: 0.0 * y, 0.0
    yield f"{said} is negated", lambda spec, named, y: -y, 0.0
    with np.errstate(all="ignore"):
        quotient = (answer / right)[wrong & (right != 0)]
    quotient = quotient[np.isfinite(quotient)]
    if not quotient.size:
        return
    spec, gap = call.operation.spec, 4 * np.sqrt(float(np.max(call.operation.storage.u))) * DIGITS
    values = collect_values(spec, call.named, sizes_of(spec, call.named))
    for number in list_numbers(float(np.median(quotient)), values, gap):
        yield f"{said} is multiplied by {number.words}", _multiplied(number), 0.5 + number.cost


def _multiplied(number: Number) -> Change:
    def change(spec: Specification, named: Named, y: Any) -> Any:
        return y * number.at(collect_values(spec, named, sizes_of(spec, named)))

    return change


def _list_orders(call: Call, part: str, right: np.ndarray, answer: np.ndarray) -> Iterator[tuple[str, Change, float]]:
    """Yield the changes of the order of entries along one axis, and the exchange of the last two axes of a square."""
    spec = call.operation.spec
    sizes, said = sizes_of(spec, call.named), say_part(spec, part)
    for axis, one in enumerate(name_axes(spec, part, right.ndim), start=-right.ndim):
        length = right.shape[axis]
        if length < 2:
            continue
        pairs = _find_sources(np.moveaxis(right, axis, 0), np.moveaxis(answer, axis, 0))
        maps = list_maps(pairs, length, sizes) if len(pairs) > 1 else list_plain_maps(length)
        for turn in maps:
            yield f"in {said}, {turn.say(one, plural(one))}", _taken(axis, turn), 0.5 + turn.cost
    if right.ndim > 1 and right.shape[-1] == right.shape[-2] > 1:
        yield f"{said} is transposed where it is square", _transposed, 0.75


def _find_sources(right: np.ndarray, answer: np.ndarray) -> dict[int, int]:
    """Return for each entry along the first axis of the answer the one right entry that it is, where there is one."""
    found = {}
    scale = np.abs(np.where(np.isfinite(right), right, 0)).max(initial=0.0)
    for i, y in enumerate(answer):
        with np.errstate(all="ignore"):
            far = np.abs(right - y).reshape(len(right), -1).max(axis=1, initial=0.0)
        near = np.flatnonzero(far <= 1e-3 * scale)
        if len(near) == 1:
            found[i] = int(near[0])
    return found


def _taken(axis: int, turn: IndexMap) -> Change:
    def change(spec: Specification, named: Named, y: Any) -> Any:
        if y.ndim < -axis:
            return y
        length = y.shape[axis]
        source = turn.source(np.arange(length), length, sizes_of(spec, named))
        return take(y, np.clip(source, 0, length - 1), axis)

    return change


def _transposed(spec: Specification, named: Named, y: Any) -> Any:
    return np.swapaxes(y, -1, -2) if y.ndim > 1 and y.shape[-1] == y.shape[-2] else y


def _list_others(
    spec: Specification, call: Call, said: str, part: str, right: dict[str, np.ndarray]
) -> Iterator[tuple[str, Change, float]]:
    """Yield the arrays of the same shape: other results, and arguments."""
    shape = right[part].shape
    for other, y in right.items():
        if other != part and y.shape == shape:
            yield f"{said} is {say_part(spec, other)}", _another_result(other), 0.5
    for name, x in call.named.items():
        if isinstance(x, np.ndarray) and x.dtype.kind == "f" and x.shape == shape:
            words = "the cotangent, unchanged" if name == "cotangent" else f"{name}, unchanged"
            yield f"{said} is {words}", bound(lambda spec, named, y, n: named[n] if named[n].shape == y.shape else y, name), 0.5


def _list_sums(call: Call, said: str, right: np.ndarray) -> Iterator[tuple[str, Change, float]]:
    """Yield the sums and differences of a result and each argument of its shape, as where a block's input is added too early."""
    for name, x in call.named.items():
        if isinstance(x, np.ndarray) and x.dtype.kind == "f" and x.shape == right.shape:
            yield f"{name} is added to {said}", bound(_added, name, 1), 0.5
            yield f"{name} is subtracted from {said}", bound(_added, name, -1), 0.75


def _added(spec: Specification, named: Named, y: Any, name: str, sign: int) -> Any:
    x = named[name]
    return (y + x if sign > 0 else y - x) if x.shape == y.shape else y


def _list_functions(said: str, right: np.ndarray) -> Iterator[tuple[str, Change, float]]:
    """Yield what a function makes of a result, as where scores go through a softmax that is not the operation's."""
    for words, function in FUNCTIONS:
        if right.ndim or "axis" not in words:
            yield f"{said} is {words}", bound(lambda spec, named, y, f: f(y), function), 0.75


def _another_result(other: str) -> Change:
    def change(spec: Specification, named: Named, y: Any) -> Any:
        found: list[Any] = []
        map_parts(lambda name, x: found.append(x) if name == other else x, spec, call_right(spec, named))
        return found[0] if found and found[0].shape == y.shape else y

    return change
