"""Carriers: the arrays in which numbers of a narrow format are given and returned.

native      the framework's own dtype of this name
codes       one code each: int8 for int8 and int4, uint8 for all others
packed      two codes of four bits in a byte, the first in the lower half
packed32    eight codes of four bits, or four of eight, in a word of uint32, the first lowest
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from .narrow_formats import NARROW_FORMATS, NarrowFormat

NATIVE, CODES, PACKED, PACKED32 = "native", "codes", "packed", "packed32"
NATIVE_DTYPES = tuple(f.name for f in NARROW_FORMATS.values() if not f.is_integer)  # those that some framework has
BITS_OF_WORDS = MappingProxyType({PACKED: 8, PACKED32: 32})


@dataclass(frozen=True)
class Carrier:
    """How arrays of one format are carried."""

    format: NarrowFormat
    kind: str

    @property
    def dtype(self) -> str:
        """The dtype of the framework's array."""
        if self.kind == NATIVE:
            return self.format.name
        if self.kind == CODES:
            return "int8" if self.format.is_integer and self.format.is_signed else "uint8"
        return {PACKED: "uint8", PACKED32: "uint32"}[self.kind]

    @property
    def per_entry(self) -> int:
        """How many codes an entry of the array holds."""
        return BITS_OF_WORDS[self.kind] // self.format.bits if self.kind in BITS_OF_WORDS else 1

    def describe(self) -> str:
        """Return what the array is, in words."""
        words = {CODES: "one code each", PACKED: "two codes in a byte", PACKED32: f"{self.per_entry} codes in a word"}
        return self.dtype if self.kind == NATIVE else f"{self.dtype}, {self.format.name} as {words[self.kind]}"

    def shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of the array that carries numbers of this shape."""
        return (*shape[:-1], -(-shape[-1] // self.per_entry)) if self.per_entry > 1 else shape

    def store(self, numbers: Any) -> np.ndarray:
        """Return the array of NumPy that carries these numbers. Of a native dtype it has the codes."""
        codes = self.format.encode(numbers)
        if self.kind == NATIVE:
            return codes
        if self.kind == CODES:
            numbers = np.asarray(numbers)
            return numbers.astype(np.int8) if self.dtype == "int8" else codes
        words = codes.reshape(*codes.shape[:-1], codes.shape[-1] // self.per_entry, self.per_entry).astype(np.uint32)
        places = np.arange(self.per_entry, dtype=np.uint32) * self.format.bits
        return np.asarray(np.bitwise_or.reduce(words << places, axis=-1), dtype=self.dtype)

    def load(self, array: np.ndarray) -> np.ndarray:
        """Return the numbers that an array carries."""
        if self.per_entry == 1:
            return self.format.decode(array)
        places = np.arange(self.per_entry, dtype=np.uint32) * self.format.bits
        codes = array.astype(np.uint32)[..., None] >> places
        return self.format.decode(codes.reshape(*array.shape[:-1], array.shape[-1] * self.per_entry))


def possible_carriers(f: NarrowFormat) -> tuple[str, ...]:
    """Return the kinds of carriers that a format may have."""
    native = (NATIVE,) if f.name in NATIVE_DTYPES else ()
    packed = {4: (PACKED, PACKED32), 8: (PACKED32,)}.get(f.bits, ())
    return (*native, CODES, *packed)


def find_carrier_complaint(stated: Any) -> str:
    """Return what is wrong with the carriers that a backend states, or "". They are a dict of kinds by the names of formats."""
    if not isinstance(stated, Mapping):
        return f"its carriers are {stated!r}; give a dict, as in carriers = {{'float4_e2m1fn': 'packed'}}"
    for name, kind in stated.items():
        if name not in NARROW_FORMATS:
            return f"its carriers name {name!r}; there are {', '.join(NARROW_FORMATS)}"
        if kind not in (known := possible_carriers(NARROW_FORMATS[name])):
            return f"its carriers give {name} as {kind!r}; there are {', '.join(known)}"
    return ""
