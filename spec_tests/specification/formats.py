"""Binary floating-point formats, and the arithmetic that an implementation promises to use.

A precision class says where an implementation may round to the dtype of the inputs (see `Arithmetic`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from .float_errors import ignored_float_errors

PRECISIONS = ("fused", "mixed", "eager")  # nested, strictest first
FLOAT64_IN_FLOAT32 = "float64 in float32"  # the name of a bug: results in float64 that are computed in float32


def order_classes(classes: tuple[str, ...], reached: str) -> tuple[str, ...]:
    """Return the classes from `reached` on, then the stricter ones."""
    start = classes.index(reached) if reached in classes else 0
    return (*classes[start:], *classes[:start])


@dataclass(frozen=True)
class Format:
    """A binary floating-point format with subnormal numbers."""

    name: str
    precision: int  # bits of the significand, including the implicit bit
    emin: int  # exponent of the smallest normal number
    emax: int  # exponent of the largest number

    @cached_property
    def bytes(self) -> int:
        """The size of one number in bytes."""
        return {53: 8, 24: 4}.get(self.precision, 2)

    @cached_property
    def u(self) -> float:
        """Unit roundoff: rounding to nearest changes a normal x by at most u|x|."""
        return float(2.0**-self.precision)

    @cached_property
    def tiny(self) -> float:
        """The smallest positive normal number."""
        return float(2.0**self.emin)

    @cached_property
    def quantum(self) -> float:
        """The spacing of the subnormal numbers."""
        return float(2.0 ** (self.emin - self.precision + 1))

    @cached_property
    def max(self) -> float:
        """The largest finite number."""
        return float((2 - 2 * self.u) * 2.0**self.emax)

    @cached_property
    def flush(self) -> float:
        """The largest error of a result below the normal range.

        Subnormal float32 numbers may be flushed to zero. Subnormal float16 numbers are normal float32 numbers: they are
        rounded, with an error of at most half their spacing.
        """
        return self.quantum / 2 if self.emin > -126 else self.tiny

    @cached_property
    def numpy_dtype(self) -> np.dtype[Any] | None:
        """The NumPy dtype of this format, if NumPy has one and casting to it is the faster way to round."""
        name = {(24, -126): "float32", (11, -14): "float16"}.get((self.precision, self.emin))
        return np.dtype(name) if name else None

    def round(self, x: Any) -> np.ndarray:
        """Round x to the nearest number of the format, ties to even."""
        x = np.asarray(x, dtype=np.float64)
        if self.precision == 53:
            return x
        if self.numpy_dtype is not None:
            with ignored_float_errors():
                return x.astype(self.numpy_dtype).astype(np.float64)
        # Round the significand as an integer: add half a unit in the last place, less one if the last kept bit is 0
        # (so that ties go to even), then clear the dropped bits. A carry into the exponent is correct.
        drop = 53 - self.precision
        bits = np.ascontiguousarray(x).view(np.int64).reshape(x.shape)
        y = np.asarray(bits >> drop)
        y &= 1
        y += bits
        y += (1 << (drop - 1)) - 1
        y &= -(1 << drop)
        y, size = y.view(np.float64), np.abs(x)
        if not np.all(((size >= self.tiny) | (size == 0)) & (size < self.max)):
            with ignored_float_errors():
                y = np.where(size < self.tiny, np.rint(x / self.quantum) * self.quantum, y)
                y = np.where(np.abs(y) > self.max, np.copysign(np.inf, x), np.where(np.isfinite(x), y, x))
        return np.asarray(y)

    def half_gap(self, x: np.ndarray, toward: np.ndarray) -> np.ndarray:
        """Return half the distance from x, a number of the format, to its neighbour on the side of `toward`."""
        mantissa, exponent = np.frexp(np.abs(x))
        below = (mantissa == 0.5) & (np.abs(toward) < np.abs(x))
        return np.maximum(np.ldexp(0.5, exponent - self.precision - below), self.quantum / 2)

    def at(self, index: Any) -> Format:
        """Return the format of one element, which is this one."""
        return self


class JoinedFormat:
    """The formats of a vector of several arrays, each stored in a format of its own. It has what `Expectation` asks of a format.

    `u`, `tiny` and `flush` are arrays with an entry for each element.
    """

    def __init__(self, sizes: Sequence[int], formats: Sequence[Format]):
        self.formats, self.stops = tuple(formats), np.cumsum(sizes)
        self.u, self.tiny, self.flush = (np.repeat([getattr(f, name) for f in formats], sizes) for name in ("u", "tiny", "flush"))

    def _split(self, x: Any) -> list[np.ndarray]:
        return np.split(np.asarray(x, dtype=np.float64), self.stops[:-1])

    def round(self, x: Any) -> np.ndarray:
        """Round each part of the vector to its format."""
        return np.concatenate([f.round(part) for f, part in zip(self.formats, self._split(x), strict=True)])

    def half_gap(self, x: Any, toward: Any) -> np.ndarray:
        """Return half the distance from each number to its neighbour on the side of `toward`, in its own format."""
        parts = zip(self.formats, self._split(x), self._split(toward), strict=True)
        return np.concatenate([f.half_gap(part, side) for f, part, side in parts])

    def at(self, index: tuple[Any, ...]) -> Format:
        """Return the format of one element."""
        return self.formats[int(np.searchsorted(self.stops, index[0], side="right"))]


FORMATS = MappingProxyType(
    {
        f.name: f
        for f in (
            Format("float64", 53, -1022, 1023),
            Format("float32", 24, -126, 127),
            Format("bfloat16", 8, -126, 127),
            Format("float16", 11, -14, 15),
        )
    }
)
DTYPES = tuple(FORMATS)
DISCRETE_DTYPES = ("bool", "int64", "int8", "uint8")  # of masks, counts, and integers of few bits
RESULT_DTYPES = (*DTYPES, *DISCRETE_DTYPES)
WIDER = "wider"  # the dtype of a result that may have more digits than the arguments
INTEGER = "integer"  # the dtype of a result that has one of INTEGER_DTYPES
INTEGER_DTYPES = ("int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8")


def at_least_float32(f: Format) -> Format:
    """Return the format, or float32 if that has more digits."""
    return f if f.precision >= 24 else FORMATS["float32"]


def is_floating(x: Any) -> bool:
    """Whether x is an array of floating numbers, bfloat16 included."""
    return isinstance(x, np.ndarray) and (x.dtype.kind == "f" or x.dtype.name == "bfloat16")


@dataclass(frozen=True)
class Arithmetic:
    """The format in which inputs and outputs are stored, the format of the computation, and the precision class.

    fused   nothing between the inputs and the one rounding at the end is rounded to the storage format
    mixed   tensors that the equation marks `rounded` may be rounded to the storage format
    eager   the result of every elementwise step may be as well; sums still accumulate in the compute format
    """

    storage: Format
    compute: Format
    precision: str = "fused"
    wide: bool = False  # this part of the equation is computed in the compute format in every precision class
    widens: bool = False  # a result that may be wider than the arguments is (see `reference_numpy._marks.widened`)
    narrows: bool = False  # a part of the equation is computed in 16 bits, whatever the arguments have

    @staticmethod
    def of(
        dtype: str, precision: str = "fused", *, widens: bool = False, narrows: bool = False, sums_are_stored: bool = False
    ) -> Arithmetic:
        """Return the arithmetic of a dtype. 16-bit dtypes are computed in float32, the others in themselves and always fused.

        sums_are_stored: parts of sums are stored in the dtype before they are added, so 16-bit dtypes are computed in themselves.
        """
        storage = FORMATS[dtype]
        narrow = storage.precision < 24
        compute, precision = storage if sums_are_stored else at_least_float32(storage), precision if narrow else "fused"
        return Arithmetic(storage, compute, precision, widens=widens and narrow, narrows=narrows)

    @property
    def rounded_storage(self) -> Format | None:
        """The format in which tensors marked `rounded` may be stored; None if they may not be."""
        return None if self.precision == "fused" else self.storage

    @property
    def step_storage(self) -> Format | None:
        """The format in which the result of any step may be stored; None if it may not be."""
        return self.storage if self.precision == "eager" and not self.wide else None
