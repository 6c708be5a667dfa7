"""The arrays of few bits that the oracle takes and returns as a backend: codes of each format."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from ..specification.carriers import CODES, NATIVE_DTYPES, Carrier
from ..specification.formats import FORMATS
from ..specification.narrow_formats import NarrowFormat, find_format
from ..specification.registry import Specification

CARRIERS = MappingProxyType(dict.fromkeys(NATIVE_DTYPES, CODES))


def with_codes(spec: Specification, equation: Callable[..., Any], store: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return the equation on codes: it gets the numbers that they stand for, and its results become codes.

    Results whose format no keyword names are stored otherwise.
    """
    formats = spec.declaration.formats
    if not formats:
        return equation

    def find(name: str, keywords: Mapping[str, Any]) -> NarrowFormat | None:
        keyword = formats.get(name)
        format_name = keywords.get(keyword, spec.defaults.get(keyword)) if keyword else None
        f = find_format(format_name) if format_name else None
        return f if isinstance(f, NarrowFormat) else None

    def decode(name: str, x: Any, keywords: Mapping[str, Any]) -> Any:
        f = find(name, keywords)
        if f is None or x is None:
            return x
        numbers = Carrier(f, CODES).load(x)
        return numbers.astype(np.int64) if f.is_integer else numbers

    def encode(name: str, y: Any, keywords: Mapping[str, Any]) -> Any:
        f = find(name, keywords)
        if f is None:
            dtype = keywords.get(formats.get(name, ""), spec.defaults.get(formats.get(name, "")))
            return store(y) if dtype is None else _in_dtype(y, dtype)
        return Carrier(f, CODES).store(_fit(f, np.asarray(y, dtype=np.float64)))

    def on_codes(*arguments: Any, **keywords: Any) -> Any:
        numbers = [decode(name, x, keywords) for name, x in zip(spec.positional, arguments, strict=False)]
        y = equation(*numbers, **{name: decode(name, x, keywords) for name, x in keywords.items()})
        if not spec.has_several_results:
            return encode("", y, keywords)
        return tuple(
            encode(name, part, keywords) for name, part in zip(spec.results, y, strict=not spec.declaration.optional_results)
        )

    return on_codes


def _in_dtype(y: Any, name: str) -> Any:
    """Return a result in the dtype that a keyword names, rounded once."""
    rounded = FORMATS[name].round(np.asarray(y, dtype=np.float64))
    return rounded.astype(importlib.import_module("ml_dtypes").bfloat16 if name == "bfloat16" else name)


def _fit(f: NarrowFormat, y: np.ndarray) -> np.ndarray:
    """Return numbers that the format has: those of a bug may be none. NaN and infinities that it lacks are its largest number."""
    with np.errstate(all="ignore"):
        y = np.where(np.isnan(y) & (f.nan is None), f.max, y)
        return np.where(np.isinf(y) & (not f.has_infinity), np.sign(y) * f.max, f.round(y))
