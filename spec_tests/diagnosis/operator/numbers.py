"""Factors by which an answer may be off: a plain number, a size, an option, and their roots and quotients."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...specification.registry import Specification
from .binding import bound

Values = Mapping[str, Any]  # the sizes and options of a call


@dataclass(frozen=True)
class Number:
    """A number that depends on the sizes and options of a call."""

    words: str
    at: Callable[[Values], float]
    cost: float = 0.0


CONSTANTS = (
    Number("2", lambda v: 2.0), Number("1/2", lambda v: 0.5), Number("−1", lambda v: -1.0), Number("4", lambda v: 4.0),
    Number("1/4", lambda v: 0.25), Number("3", lambda v: 3.0), Number("1/3", lambda v: 1 / 3),
    Number("ln 2", lambda v: math.log(2.0)), Number("1 / ln 2", lambda v: 1 / math.log(2.0)),
    Number("√2", lambda v: math.sqrt(2.0)), Number("1/√2", lambda v: math.sqrt(0.5)),
)  # fmt: skip

WIDTHS_OF_KEYS = ("d_k", "d_n", "d_r")  # of which a key is made, whose root is the scale if none is given


def list_numbers(value: float, values: Values, gap: float) -> Iterator[Number]:
    """Yield the numbers that are this value, but for the gap, the simplest first."""
    for number in _list_all(values):
        try:
            found = number.at(values)
        except (ZeroDivisionError, ValueError, TypeError, OverflowError):
            continue
        if abs(found - value) <= gap * abs(found) and found not in (0.0, 1.0):
            yield number


def _list_all(values: Values) -> Iterator[Number]:
    yield from CONSTANTS
    for name in (name for name, value in values.items() if _is_number(value)):
        yield Number(name, bound(lambda v, n: float(v[n]), name), 0.25)
        yield Number(f"1 / {name}", bound(lambda v, n: 1 / v[n], name), 0.25)
        yield Number(f"√{name}", bound(lambda v, n: math.sqrt(v[n]), name), 0.5)
        yield Number(f"1 / √{name}", bound(lambda v, n: 1 / math.sqrt(v[n]), name), 0.5)
        yield Number(f"({name} − 1) / {name}", bound(lambda v, n: (v[n] - 1) / v[n], name), 0.75)
        yield Number(f"{name} / ({name} − 1)", bound(lambda v, n: v[n] / (v[n] - 1), name), 0.75)
        yield Number(f"{name}²", bound(lambda v, n: float(v[n]) ** 2, name), 0.75)
        yield Number(f"(1 − {name})", bound(lambda v, n: 1.0 - v[n], name), 0.75)
        yield Number(f"1 / (1 − {name})", bound(lambda v, n: 1 / (1.0 - v[n]), name), 0.75)
    for one, other in itertools.permutations([name for name, value in values.items() if _is_number(value)], 2):
        yield Number(f"{one} / {other}", bound(lambda v, a, b: v[a] / v[b], one, other), 0.75)
        if one < other:
            yield Number(f"{one} · {other}", bound(lambda v, a, b: float(v[a]) * v[b], one, other), 1.0)
            yield Number(f"1 / ({one} · {other})", bound(lambda v, a, b: 1 / (float(v[a]) * v[b]), one, other), 1.0)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def collect_values(spec: Specification, named: Mapping[str, Any], sizes: Mapping[str, int]) -> dict[str, Any]:
    """Return the sizes of a call, the number of its rows, and its options, as plain numbers.

    A scale of attention that is not given is the one that its equation takes: the root of a key's width, below 1.
    """
    options = {
        name: _unwrap(named.get(name, parameter.default))
        for name, parameter in spec.parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY and name != "axis"
    }
    first = next((named[name] for name in spec.positional if hasattr(named.get(name), "shape")), None)
    if "scale" in options and options["scale"] is None and (width := sum(sizes.get(name, 0) for name in WIDTHS_OF_KEYS)):
        options["scale"] = 1 / math.sqrt(width)
    rows = {} if first is None or not first.shape else {"the number of rows": math.prod(first.shape[:-1])}
    return {**sizes, **rows, **{name: value for name, value in options.items() if _is_number(value)}}


def _unwrap(value: Any) -> Any:
    """Return the plain number that a number with an error, or several draws of one, stands for."""
    held = getattr(value, "value", value)
    if hasattr(held, "item") and getattr(value, "shape", None) == ():
        return held.ravel()[0].item()
    return held
