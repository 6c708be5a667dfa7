"""Formats of few bits: their numbers, their codes, and rounding to them.

Rounding saturates: what lies beyond the largest number becomes the largest number. It goes from float64 to the format in one
step. ml_dtypes and PyTorch go through float32, and round twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from .float_errors import ignored_float_errors
from .formats import FORMATS, Format


@dataclass(frozen=True)
class NarrowFormat(Format):
    """A format whose numbers have codes of at most eight bits.

    Integers are numbers of such a format too: all of them lie where its numbers are equally spaced, as subnormal numbers do.
    """

    bits: int  # of a code
    least: float  # the smallest number
    largest: float
    has_infinity: bool = False
    nan: int | None = None  # the code of NaN; of several, the one that is written

    @cached_property
    def max(self) -> float:
        """The largest number."""
        return self.largest

    @cached_property
    def flush(self) -> float:
        """The largest error of a result below the normal range. Numbers of few bits are never flushed to zero."""
        return self.quantum / 2

    @property
    def is_integer(self) -> bool:
        return self.quantum == 1

    @property
    def is_signed(self) -> bool:
        return self.least < 0

    @cached_property
    def numbers(self) -> np.ndarray:
        """The number of each code, in the order of the codes."""
        codes = np.arange(1 << self.bits)
        if self.is_integer:
            return np.where(codes > self.largest, codes - (1 << self.bits), codes).astype(np.float64)
        sign_bits, fraction_bits = int(self.is_signed), self.precision - 1
        sign = codes >> (self.bits - sign_bits) if sign_bits else np.zeros_like(codes)
        exponent = (codes & ((1 << (self.bits - sign_bits)) - 1)) >> fraction_bits
        fraction = (codes & ((1 << fraction_bits) - 1)) / (1 << fraction_bits)
        if fraction_bits:  # an exponent field of 0 is that of the subnormal numbers
            size = np.where(exponent == 0, fraction, 1 + fraction) * 2.0 ** (np.maximum(exponent, 1) + self.emin - 1)
        else:
            size = 2.0 ** (exponent + float(self.emin))
        if self.nan is not None:
            size = np.where(size > self.largest, np.nan, size)
            size[self.nan] = np.nan
        if self.has_infinity:
            size[exponent == np.max(exponent)] = np.where(fraction == 0, np.inf, np.nan)[exponent == np.max(exponent)]
        return np.where(sign == 1, -size, size)

    @cached_property
    def _order(self) -> tuple[np.ndarray, np.ndarray]:
        """The numbers without those below 0 and NaN, and their codes, from the smallest to the largest."""
        known = np.flatnonzero(~np.isnan(self.numbers) & ~np.signbit(self.numbers))
        order = known[np.argsort(self.numbers[known])]
        return self.numbers[order], order

    def round(self, x: Any) -> np.ndarray:
        """Round x to the nearest number of the format, ties to even. Beyond the largest number it is that number.

        Infinities stay: they are answers, or the values of a bug. Equations saturate them.
        """
        x = np.asarray(x, dtype=np.float64)
        with ignored_float_errors():
            return np.where(np.isinf(x), x, np.clip(super().round(x), self.least, self.largest))

    def decode(self, codes: Any) -> np.ndarray:
        """Return the numbers of these codes. A code may be signed, as that of an integer is."""
        return np.asarray(self.numbers[np.asarray(codes).astype(np.int64) & ((1 << self.bits) - 1)])

    def encode(self, x: Any) -> np.ndarray:
        """Return the codes of numbers of the format, as uint8. A format without −0 has the code of 0 for it."""
        x = np.asarray(x, dtype=np.float64)
        if self.is_integer:
            return (x.astype(np.int64) & ((1 << self.bits) - 1)).astype(np.uint8)
        sizes, codes = self._order
        found = codes[np.minimum(np.searchsorted(sizes, np.nan_to_num(np.abs(x), nan=0.0, posinf=np.inf)), len(codes) - 1)]
        if self.is_signed:
            has_sign = np.signbit(x) & ~((found == 0) & (self.nan == 1 << (self.bits - 1)))
            found = np.where(has_sign, found | 1 << (self.bits - 1), found)
        if self.nan is not None:
            found = np.where(np.isnan(x), self.nan, found)
        return np.asarray(found, dtype=np.uint8)

    def describe(self, x: float, text: str) -> str:
        """Return the text of a number with its code: in hexadecimal, and as the bits of sign, exponent and fraction."""
        code = int(self.encode(x))
        if self.is_integer or not np.array_equal(self.decode(code), x, equal_nan=True):
            return text
        bits, fraction = f"{code:0{self.bits}b}", self.precision - 1
        sign = bits[: int(self.is_signed)]
        fields = [sign, bits[len(sign) : self.bits - fraction], bits[self.bits - fraction :]]
        return f"{text} (code 0x{code:0{(self.bits + 3) // 4}x}, bits {' '.join(filter(None, fields))})"


def _floating(name: str, bits: int, precision: int, emin: int, largest: float, **specials: Any) -> NarrowFormat:
    emax = int(np.floor(np.log2(largest)))
    return NarrowFormat(name, precision, emin, emax, bits, -largest, largest, **specials)


def _integer(name: str, bits: int, least: int, largest: int) -> NarrowFormat:
    return NarrowFormat(name, bits + 1, bits, bits, bits, least, largest)


NARROW_FORMATS: Mapping[str, NarrowFormat] = MappingProxyType(
    {
        f.name: f
        for f in (
            _floating("float8_e4m3fn", 8, 4, -6, 448.0, nan=0x7F),
            _floating("float8_e5m2", 8, 3, -14, 57344.0, has_infinity=True, nan=0x7E),
            _floating("float8_e4m3fnuz", 8, 4, -7, 240.0, nan=0x80),
            _floating("float8_e5m2fnuz", 8, 3, -15, 57344.0, nan=0x80),
            _floating("float6_e2m3fn", 6, 4, 0, 7.5),
            _floating("float6_e3m2fn", 6, 3, -2, 28.0),
            _floating("float4_e2m1fn", 4, 2, 0, 6.0),
            NarrowFormat("float8_e8m0fnu", 1, -127, 127, 8, 2.0**-127, 2.0**127, nan=0xFF),
            _integer("int8", 8, -128, 127),
            _integer("int4", 4, -8, 7),
            _integer("uint8", 8, 0, 255),
            _integer("uint4", 4, 0, 15),
        )
    }
)
SCALE_FORMATS = ("float32", "float8_e4m3fn", "float8_e8m0fnu")
ELEMENT_FORMATS = tuple(name for name in NARROW_FORMATS if name != "float8_e8m0fnu")
FLOATING_ELEMENTS = tuple(name for name in ELEMENT_FORMATS if not NARROW_FORMATS[name].is_integer)


def find_format(name: str) -> Format:
    """Return the format of this name, whether of few bits or not."""
    return NARROW_FORMATS.get(name) or FORMATS[name]
