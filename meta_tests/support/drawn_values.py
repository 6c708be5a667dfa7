"""What an example gives to a law, as plain data: it is recorded, written as JSON, and given to the law again.

A law asks its draw for calls, arrays, sizes and options. These are stored, not the choices that made them. So a stored example
stays the same when the suite draws its examples in another way.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType
from typing import Any

import numpy as np

from spec_tests.bounds.bounded import Bounded
from spec_tests.calls.call import Call
from spec_tests.calls.operation import Operation
from spec_tests.inputs.choices import Choose, NoExample
from spec_tests.inputs.draw import Draw
from spec_tests.specification.formats import Arithmetic

LARGE = 512  # elements: a larger array is written as its digest, and its example is drawn again by its choices

PASSED_ON = ("operation", "format", "log")  # attributes of a draw that are not drawn
SOURCES = ("rng", "shape")  # attributes of a draw that draw by methods of their own


class RecordingDraw:
    """A draw that keeps what it gives to the law, as [name, value]. What it draws for itself is not kept."""

    def __init__(self, source: Any, operation: Operation, kept: list[list[Any]], prefix: str = ""):
        self._source, self._operation, self._kept, self._prefix = source, operation, kept, prefix

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._source, name)
        if name in PASSED_ON:
            return found
        if name in SOURCES:
            return RecordingDraw(found, self._operation, self._kept, f"{name}.")
        if name == "for_operation":
            return lambda operation: RecordingDraw(found(operation), operation, self._kept)
        if not callable(found):
            return self._keep(name, found)
        if name == "one_of":
            return lambda values: self._keep_choice(found, tuple(values))
        return lambda *arguments, **options: self._keep(name, found(*arguments, **options))

    def _keep(self, name: str, value: Any) -> Any:
        self._kept.append([self._prefix + name, encode(value)])
        return value

    def _keep_choice(self, choose: Callable[[Any], Any], values: tuple[Any, ...]) -> Any:
        """Choose one of the values and keep it, or its place among them if it is no plain value, such as a function."""
        chosen = choose(values)
        try:
            return self._keep("one_of", chosen)
        except TypeError:
            place = next(i for i, value in enumerate(values) if value is chosen)
            self._kept.append([f"{self._prefix}one_of", {"place": place}])
            return chosen


class StoredDraw:
    """A draw that gives what was kept. It raises NoExample if the law asks for something else."""

    def __init__(self, operation: Operation, kept: Iterator[list[Any]], prefix: str = ""):
        self.operation, self.format, self.log = operation, operation.storage, list[Any]()
        self._kept, self._prefix = kept, prefix

    def __getattr__(self, name: str) -> Any:
        if name in SOURCES:
            return StoredDraw(self.operation, self._kept, f"{name}.")
        if name == "for_operation":
            return lambda operation: StoredDraw(operation, self._kept)
        if self._prefix or isinstance(getattr(Draw, name, None), FunctionType):
            return lambda *arguments, **options: self._give(name, *arguments)
        return self._give(name)

    def _give(self, name: str, *arguments: Any) -> Any:
        asked = self._prefix + name
        kept, value = next(self._kept, ("nothing", None))
        if kept != asked:
            raise NoExample(f"the law asks for {asked}, where {kept} is stored")
        if isinstance(value, dict) and "place" in value:
            return _take(tuple(arguments[0]), value["place"])
        return decode(value, self.operation)


def _take(values: tuple[Any, ...], place: int) -> Any:
    if place >= len(values):
        raise NoExample(f"the law chooses from {len(values)} values, of which number {place} is stored")
    return values[place]


class RecordedChoices:
    """A source of choices whose draw keeps what it gives. The choices are those of another source."""

    def __init__(self, choices: Any):
        self.kept: list[list[Any]] = []
        self.numbers: list[int] = []  # the choices, as a failing example has them
        self.mark_overrun = choices.mark_overrun
        self.plan = getattr(choices, "plan", None)
        self.draw_integer = self._keep_number(choices.draw_integer)
        self.draw_shape = self._keep_number(getattr(choices, "draw_shape", choices.draw_integer))

    def _keep_number(self, choose: Choose) -> Choose:
        def choose_and_keep(low: int, high: int) -> int:
            self.numbers.append((number := choose(low, high)) - low)
            return number

        return choose_and_keep

    def make_draw(self, choose: Choose, operation: Operation, choose_shape: Choose) -> RecordingDraw:
        draw = Draw(choose, operation, choose_shape)
        draw.plan = self.plan
        return RecordingDraw(draw, operation, self.kept)


class StoredValues:
    """A source of no choices, whose draw gives what was kept."""

    def __init__(self, kept: Iterable[list[Any]]):
        self.kept = iter(kept)

    def draw_integer(self, low: int, high: int) -> int:
        raise NoExample("the law asks for a choice, where values are stored")

    def mark_overrun(self) -> None:
        """Do nothing, since there is no shrinking."""

    def make_draw(self, choose: Choose, operation: Operation, choose_shape: Choose) -> StoredDraw:
        return StoredDraw(operation, self.kept)


def encode(value: Any) -> Any:
    """Return a value as JSON can hold it. A list, a number and a text are themselves, anything else is {kind: content}."""
    if isinstance(value, Call):
        return {"call": [encode(list(value.arguments)), encode(value.keywords)]}
    if isinstance(value, Bounded):
        return {"bounded": [encode(value.value), encode(np.array(value.error))]}
    if isinstance(value, np.ndarray):
        return _encode_array(value)
    if isinstance(value, np.generic):
        return {"scalar": [_name(value.dtype), value.item()]}
    if isinstance(value, list):
        return [encode(item) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [encode(item) for item in value]}
    if isinstance(value, set):
        return {"set": sorted(value)}
    if isinstance(value, dict):
        return {"dict": [[encode(key), encode(item)] for key, item in value.items()]}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{type(value).__name__} is not written")


def _name(dtype: np.dtype) -> str:
    return "str" if dtype.kind == "U" else dtype.name


def _encode_array(x: np.ndarray) -> dict[str, Any]:
    if x.size > LARGE:
        content = hashlib.sha256(np.ascontiguousarray(x).astype(x.dtype.newbyteorder("<")).tobytes()).hexdigest()[:16]
        return {"digest": [_name(x.dtype), list(x.shape), content]}
    if x.dtype.kind == "b":
        return {"array": [_name(x.dtype), list(x.shape), "".join(map(str, x.astype(int).ravel()))]}
    return {"array": [_name(x.dtype), list(x.shape), x.ravel().tolist()]}


def decode(value: Any, operation: Operation) -> Any:
    """Return the value that `encode` wrote. A call is one of the operation. Raise NoExample where only a digest is kept."""
    if isinstance(value, list):
        return [decode(item, operation) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    return DECODERS[kind](content, operation)


def _decode_call(content: Any, operation: Operation) -> Call:
    arguments, keywords = (decode(part, operation) for part in content)
    return operation.call(*arguments, **keywords)


def _decode_array(content: Any, operation: Operation) -> np.ndarray:
    dtype, shape, items = content
    return np.array([item == "1" for item in items] if dtype == "bool" else items, dtype=dtype).reshape(shape)


def _decode_bounded(content: Any, operation: Operation) -> Bounded:
    value, error = (decode(part, operation) for part in content)
    return Bounded(value, error, Arithmetic.of(operation.dtype))


def _refuse_digest(content: Any, operation: Operation) -> Any:
    raise NoExample("of a large array only the digest is stored")


DECODERS: dict[str, Callable[[Any, Operation], Any]] = {
    "call": _decode_call,
    "bounded": _decode_bounded,
    "array": _decode_array,
    "digest": _refuse_digest,
    "scalar": lambda content, operation: np.dtype(content[0]).type(content[1]),
    "tuple": lambda content, operation: tuple(decode(content, operation)),
    "set": lambda content, operation: set(content),
    "dict": lambda content, operation: {decode(key, operation): decode(item, operation) for key, item in content},
}


def outline(value: Any, *, kinds: bool) -> Any:
    """Return a written value in which each floating array has the kinds of its elements in place of them, or nothing.

    The kinds are the same on every machine, while the last digits of an element may differ.
    """
    if isinstance(value, list):
        return [outline(item, kinds=kinds) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "array" and content[0].startswith("float"):
        dtype, shape, items = content
        return {kind: [dtype, shape, _list_kinds(np.array(items, dtype=float)) if kinds else None]}
    return {kind: outline(content, kinds=kinds)}


def _list_kinds(x: np.ndarray) -> list[int]:
    """Return how many elements are NaN, ∞, −∞ and 0, and the exponents of the largest and the smallest of the others."""
    counts = [int(np.sum(is_kind)) for is_kind in (np.isnan(x), x == np.inf, x == -np.inf, x == 0)]
    _, exponents = np.frexp(x[np.isfinite(x) & (x != 0)])
    return [*counts, int(exponents.max()), int(exponents.min())] if exponents.size else counts
