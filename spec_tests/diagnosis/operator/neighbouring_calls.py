"""Calls of the right equation beside the one that was made: without an option, or with an input in another order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, permutations, product
from typing import Any

import numpy as np

from reference_numpy._marks import double

from ...calls.call import Call
from ...calls.signature import EXAMPLE_VALUES
from ...specification.registry import Specification, given_dimensions
from .alternative import Alternative, Named, call_right, take
from .axes import name_axes, name_dimension, plural
from .binding import bound
from .indices import IndexMap, IndexSet, list_ends, list_plain_maps
from .shared_orders import list_group_turns, list_shared_turns

Change = Callable[[Any, Named], Any]  # of one argument
MAX_AXES = 4
LIMITS = (1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 10.0)  # of numbers
MARGINS = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01)  # from the ends of shares

ONE_FOR_ALL: tuple[tuple[str, Callable[[Any], Any]], ...] = (  # as where rows of different lengths share one
    ("largest", np.max),
    ("smallest", np.min),
    ("first", lambda a: a[0]),
    ("last", lambda a: a[-1]),
)


def list_neighbouring_calls(call: Call) -> Iterator[Alternative]:
    """Yield the right answers to neighbouring calls, as alternatives to the right answer to a call."""
    spec, name = call.operation.spec, call.operation.name
    for argument, what, change, cost in (*_list_options(spec, call), *_list_arrays(spec, call)):
        yield Alternative(name, what, _instead(argument, change), cost)
    for options in _list_falsy(spec, call):
        said = f"{', '.join(options[:-1])} and {options[-1]} of 0 count as not given"
        yield Alternative(name, said, _left_out_at_zero(options), 0.25)
    for one, other in _list_pairs(spec, call):
        yield Alternative(name, f"{one} and {other} are taken for each other", _exchanged(one, other), 1.0)
        for given, used in ((one, other), (other, one)):
            yield Alternative(name, f"{used} is taken for {given} where they have one shape", _replaced(given, used), 1.0)
    for one, other in permutations(_list_numbers(spec, call), 2):
        yield Alternative(name, f"{other} is taken for {one} where both are given", _used_for(one, other), 1.0)
    for given, used in product(_list_numbers(spec, call), _list_flags(spec, call)):
        for words, itself in ((f"and {given} for {used}", None), (f"and {used} itself for False", False)):
            yield Alternative(name, f"{used} is taken for {given}, {words}", _flag_used_for(given, used, itself), 1.0)
    for what, compute in _list_repetitions(spec, call):
        yield Alternative(name, what, compute, 0.75)
    for what, compute in (*list_shared_turns(spec, call), *list_group_turns(spec, call)):
        yield Alternative(name, what, compute, 1.0)


def _instead(argument: str, change: Change) -> Callable[[Specification, Named], Any]:
    def compute(spec: Specification, named: Named) -> Any:
        if named.get(argument) is None and argument not in spec.defaults:
            return call_right(spec, named)
        return call_right(spec, {**named, argument: change(named.get(argument), named)})

    return compute


def _list_falsy(spec: Specification, call: Call) -> Iterator[tuple[str, ...]]:
    """Yield two and all options that may be left out, one of which is 0: code that asks `if option:` takes 0 for not given."""
    known = spec.parameters.items()
    falsy = tuple(name for name, x in known if x.default is None and x.kind is x.KEYWORD_ONLY and name != "wrt")
    for options in dict.fromkeys((*combinations(falsy, 2), falsy)):
        if len(options) > 1 and any(_is_zero(call.named.get(name)) for name in options):
            yield options


def _is_zero(x: Any) -> bool:
    return isinstance(x, int | float) and not isinstance(x, bool) and x == 0


def _left_out_at_zero(options: Sequence[str]) -> Callable[[Specification, Named], Any]:
    def compute(spec: Specification, named: Named) -> Any:
        return call_right(spec, {name: None if name in options and _is_zero(x) else x for name, x in named.items()})

    return compute


def _exchanged(one: str, other: str) -> Callable[[Specification, Named], Any]:
    return lambda spec, named: call_right(spec, {**named, one: named[other], other: named[one]})


def _replaced(given: str, used: str) -> Callable[[Specification, Named], Any]:
    def compute(spec: Specification, named: Named) -> Any:
        one, other = named.get(given), named.get(used)
        fits = one is not None and other is not None and one.shape == other.shape
        return call_right(spec, {**named, given: other} if fits else named)

    return compute


def _list_numbers(spec: Specification, call: Call) -> list[str]:
    """Return the options that are numbers in a call."""
    return [name for name in spec.parameters if isinstance(x := call.named.get(name), int | float) and not isinstance(x, bool)]


def _list_flags(spec: Specification, call: Call) -> list[str]:
    """Return the options that are true or false in a call."""
    return [name for name in spec.parameters if isinstance(call.named.get(name, spec.defaults.get(name)), bool)]


def _flag_used_for(given: str, used: str, other: bool | None) -> Callable[[Specification, Named], Any]:
    """Return the right answer if an option that is true or false stands for a number, as where two arguments change places.

    other: what stands for the option itself; None: whether the number is other than 0.
    """

    def compute(spec: Specification, named: Named) -> Any:
        flag, number = bool(named.get(used, spec.defaults.get(used))), named.get(given)
        return call_right(spec, {**named, given: float(flag), used: bool(number) if other is None else other})

    return compute


def _used_for(given: str, used: str) -> Callable[[Specification, Named], Any]:
    def compute(spec: Specification, named: Named) -> Any:
        are_given = named.get(given) is not None and named.get(used) is not None
        return call_right(spec, {**named, given: named[used]} if are_given else named)

    return compute


def _list_repetitions(spec: Specification, call: Call) -> Iterator[tuple[str, Callable[[Specification, Named], Any]]]:
    """Yield the operation applied to its own result, and to its result with weights of 1 and biases of 0."""
    first = spec.positional[0] if spec.positional else ""
    x = call.named.get(first)
    if spec.is_gradient or spec.has_several_results or not isinstance(x, np.ndarray) or x.shape != call.value.shape:
        return
    yield f"{first} goes through {spec.name} twice", _repeated(first, {})
    gains = {name: float("bias" not in name) for name in ("weight", "bias") if isinstance(call.named.get(name), np.ndarray)}
    if gains:
        said = " and ".join(f"{name} {value:g}" for name, value in gains.items())
        yield f"{first} goes through {spec.name} twice, the first time with {said}", _repeated(first, gains)


def _repeated(first: str, gains: dict[str, float]) -> Callable[[Specification, Named], Any]:
    def compute(spec: Specification, named: Named) -> Any:
        plain = {name: named[name] * 0.0 + value for name, value in gains.items() if named.get(name) is not None}
        return call_right(spec, {**named, first: call_right(spec, {**named, **plain})})

    return compute


def _list_options(spec: Specification, call: Call) -> Iterator[tuple[str, str, Change, float]]:
    """Yield the changes of one option: it is left out, it is the other of two, a number is 0 or next to it."""
    for name, parameter in spec.parameters.items():
        value, default = call.named.get(name, parameter.default), parameter.default
        if name in ("wrt", "axis") or (default is parameter.empty and parameter.kind is not parameter.KEYWORD_ONLY):
            continue
        if isinstance(value, np.ndarray) and default is None:
            yield name, f"{name} is left out", lambda x, named: None, 0.0
            continue
        if default is None and _is_zero(value):
            yield name, f"{name} of 0 counts as not given", lambda x, named: None if _is_zero(x) else x, 0.0
        if default is not parameter.empty and not _is_same(value, default):
            said = f"{name} is left out" if default is None else f"{name} is taken as {default!r}"
            yield name, said, bound(lambda x, named, d: d, default), 0.0
        if isinstance(value, bool):
            yield name, f"{name} means the opposite", lambda x, named: x if x is None else not x, 0.25
            continue
        if isinstance(value, int):
            for more in (1, -1):
                words = f"{name} is one {'larger' if more > 0 else 'smaller'} than was given"
                yield name, words, bound(lambda x, named, m: x if x is None else x + m, more), 0.5
        if isinstance(value, float):
            yield from _list_limits(name, value)
        if isinstance(value, float) and value:
            yield name, f"{name} is taken as 0", lambda x, named: x if x is None else 0.0 * x, 0.5
            yield name, f"1 / {name} is taken for {name}", lambda x, named: x if x is None else 1 / x, 0.75
        if value is None and parameter.kind is parameter.KEYWORD_ONLY:
            usual = (float(EXAMPLE_VALUES[name]),) if name in EXAMPLE_VALUES and "." in EXAMPLE_VALUES[name] else ()
            for number in (0, 1, *usual):
                words = f"{name} is taken as {number:g} where it is not given"
                yield name, words, bound(lambda x, named, v: v if x is None else x, number), 0.5


def _list_limits(name: str, value: float) -> Iterator[tuple[str, str, Change, float]]:
    """Yield the limits to which code may move an option: one that it lies beyond, or a distance from 0 and from 1."""
    for limit in LIMITS:
        if value < limit:
            said = f"{name} below {limit:g} is taken as {limit:g}"
            yield name, said, bound(lambda x, named, c: c if x is not None and double(x) < c else x, limit), 0.75
        elif value > limit:
            said = f"{name} above {limit:g} is taken as {limit:g}"
            yield name, said, bound(lambda x, named, c: c if x is not None and double(x) > c else x, limit), 0.75
    for margin in MARGINS:
        if value in (0.0, 1.0):
            said = f"{name} is kept between {margin:g} and 1 − {margin:g}"
            yield name, said, bound(_kept_apart, margin), 0.75


def _kept_apart(x: Any, named: Named, margin: float) -> Any:
    return x if x is None or margin <= double(x) <= 1 - margin else min(max(double(x), margin), 1 - margin)


def _is_same(value: Any, default: Any) -> bool:
    return value is default or (default is not None and not isinstance(value, np.ndarray) and value == default)


def _list_arrays(spec: Specification, call: Call) -> Iterator[tuple[str, str, Change, float]]:
    """Yield the changes of one array."""
    for name, x in call.named.items():
        if not isinstance(x, np.ndarray) or not x.size:
            continue
        if x.dtype.kind == "b":
            yield name, f"the entries of {name} mean the opposite", lambda a, named: ~a, 0.0
            yield from _list_turns(spec, name, x)
            continue
        if x.dtype.kind in "iu":
            for more in (1, -1):
                words = f"each entry of {name} is one {'larger' if more > 0 else 'smaller'} than was given"
                yield name, words, bound(lambda a, named, m: a + m, more), 0.5
            yield name, f"{name} is taken as 0, 1, 2, …", _counting, 0.75
            yield name, f"{name} is taken as 0", lambda a, named: 0 * a, 0.75
            yield name, f"{name} is negated", lambda a, named: -a, 0.75
            if x.ndim == 1 and len(set(x.tolist())) > 1:
                for which, choose in ONE_FOR_ALL:
                    words = f"the {which} entry of {name} is taken for each of them"
                    yield name, words, bound(_one_for_all, choose), 0.5
            yield from _list_turns(spec, name, x)
            continue
        if name != "cotangent":
            yield name, f"{name} is taken as 0", lambda a, named: 0.0 * a, 0.5
            yield name, f"{name} is taken as 1", lambda a, named: 0.0 * a + 1.0, 0.5
            yield name, f"{name} is negated", lambda a, named: -a, 0.75
            yield name, f"{name} is doubled", lambda a, named: a + a, 1.0
        if name not in spec.declaration.linear and not spec.is_gradient:  # entries of others are read one by one
            yield from _list_dropped(spec, name, x)
        yield from _list_turns(spec, name, x)


def _one_for_all(a: Any, named: Named, choose: Callable[[Any], Any]) -> Any:
    return np.full_like(a, choose(a)) if a is not None and a.size else a


def _list_dropped(spec: Specification, name: str, x: np.ndarray) -> Iterator[tuple[str, str, Change, float]]:
    """Yield the changes of an array some of whose entries along an axis are taken as 0, as where a loop ends too early."""
    for axis, one in enumerate(name_axes(spec, name, x.ndim), start=-x.ndim):
        if x.shape[axis] > 1 and axis >= -MAX_AXES:
            for indices in list_ends(x.shape[axis]):
                words = f"{indices.say(one, plural(one))} of {name} {'is' if indices.is_one else 'are'} taken as 0"
                yield name, words, _dropped(axis, indices), 1.0 + indices.cost


def _dropped(axis: int, indices: IndexSet) -> Change:
    def change(x: Any, named: Named) -> Any:
        if x is None or x.ndim < -axis:
            return x
        length = x.shape[axis]
        held = np.broadcast_to(indices.holds(np.arange(length), length, {}), (length,))
        return x * np.where(held, 0.0, 1.0).reshape(length, *(1,) * (-axis - 1))

    return change


def _counting(x: Any, named: Named) -> Any:
    return x if not x.shape else np.broadcast_to(np.arange(x.shape[-1]), x.shape)


def _list_turns(spec: Specification, name: str, x: np.ndarray) -> Iterator[tuple[str, str, Change, float]]:
    """Yield the changes of the order of an array: along one axis, or of its last two axes where they have one length."""
    for axis, one in enumerate(name_axes(spec, name, x.ndim), start=-x.ndim):
        length = x.shape[axis]
        if length < 2 or axis < -MAX_AXES:
            continue
        for turn in list_plain_maps(length):
            yield name, f"in {name}, {turn.say(one, plural(one))}", _taken(axis, turn), 1.0 + turn.cost
    for axis, label in enumerate(labels := given_dimensions(spec, {name: x.ndim}).get(name, ()), start=-len(labels)):
        if len(factors := label.split()) == 2 and not factors[0].isdigit():
            one = name_dimension(spec, factors[0])
            for turn in list_plain_maps(8):
                yield name, f"in {name}, {turn.say(one, plural(one))}", _taken_in_blocks(axis, factors[0], turn), 1.0 + turn.cost
            inner = plural(name_dimension(spec, factors[1]))
            yield name, f"in {name}, the {plural(one)} come after the {inner}", _taken_in_blocks(axis, factors[0], None), 1.0
    if x.ndim > 1 and x.shape[-1] == x.shape[-2] > 1:
        yield name, f"{name} is transposed where it is square", _transposed, 0.5


def _taken(axis: int, turn: IndexMap) -> Change:
    def change(x: Any, named: Named) -> Any:
        if x is None or x.ndim < -axis:
            return x
        length = x.shape[axis]
        return take(x, turn.source(np.arange(length), length, {}), axis)

    return change


def _taken_in_blocks(axis: int, outer: str, turn: IndexMap | None) -> Change:
    """Return the change of the order of blocks, as of heads along an axis of heads and features. None exchanges the two."""

    def change(x: Any, named: Named) -> Any:
        count = named.get("num_heads") if outer == "h" else named.get("num_kv_heads") or named.get("num_heads")
        if x is None or not count or x.shape[axis] % count:
            return x
        order = np.arange(x.shape[axis]).reshape(count, -1)
        order = order.T if turn is None else order[turn.source(np.arange(count), count, {})]
        return take(x, order.ravel(), axis)

    return change


def _transposed(x: Any, named: Named) -> Any:
    return np.swapaxes(x, -1, -2) if x is not None and x.ndim > 1 and x.shape[-1] == x.shape[-2] else x


def _list_pairs(spec: Specification, call: Call) -> Iterator[tuple[str, str]]:
    """Yield the pairs of real arrays that have one shape."""
    arrays = [n for n, x in call.named.items() if isinstance(x, np.ndarray) and x.dtype.kind == "f" and n in spec.parameters]
    for i, one in enumerate(arrays):
        for other in arrays[i + 1 :]:
            if call.named[one].shape == call.named[other].shape:
                yield one, other
