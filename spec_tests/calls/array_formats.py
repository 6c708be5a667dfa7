"""The formats in which the arrays of an operation are given and returned."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ..implementation.backend import Backend
from ..specification.carriers import CODES, Carrier
from ..specification.formats import FORMATS, INTEGER, INTEGER_DTYPES, WIDER, Format, at_least_float32
from ..specification.narrow_formats import NarrowFormat, find_format
from ..specification.registry import Specification

if TYPE_CHECKING:
    from .call import Call


class ArrayFormats:
    """What an operation says of its arrays, by their names. The format of some is named by a keyword of the call."""

    spec: Specification
    backend: Backend
    dtype: str

    @cached_property
    def storage(self) -> Format:
        """Return the format of the result's elements."""
        return FORMATS.get(self.spec.dtype or self.dtype, FORMATS["float64"])

    def argument_format(self, name: str, keywords: Mapping[str, Any] = MappingProxyType({})) -> Format:
        """Return the format in which a floating argument is given. A keyword of the call may name it."""
        if stated := self.named_format(name, keywords):
            return stated
        f = FORMATS.get(self.dtype, FORMATS["float64"])
        return at_least_float32(f) if name in self.spec.declaration.wide_arguments else f

    def named_format(self, name: str, keywords: Mapping[str, Any]) -> Format | None:
        """Return the format of an argument or a result that a keyword names, None if none does."""
        keyword = self.spec.declaration.formats.get(name)
        format_name = None if keyword is None else keywords.get(keyword, self.spec.defaults.get(keyword))
        return None if format_name is None else find_format(format_name)

    def rounds_to_few_bits(self, keywords: Mapping[str, Any]) -> bool:
        """Whether a result is of few bits: an operation that only moves numbers rounds new ones to such a format."""
        return any(isinstance(self.named_format(name, keywords), NarrowFormat) for name in self.spec.results)

    def carrier(self, name: str, keywords: Mapping[str, Any]) -> Carrier | None:
        """Return how an argument or a result of few bits is carried, None if it is not of few bits."""
        f = self.named_format(name, keywords)
        if not isinstance(f, NarrowFormat):
            return None
        return Carrier(f, CODES) if name in self.spec.declaration.as_codes else self.backend.carrier(f)

    def answered_format(self, x: Any) -> Format:
        """Return the format of a result that may be wider than the arguments: that of the array, if it is so wide."""
        framework = self.backend.framework
        found = FORMATS.get(framework.dtype_of(x) if framework.is_array(x) else "", self.storage)
        return found if found.precision > self.storage.precision else self.storage

    def expected_dtypes(self, name: str, keywords: Mapping[str, Any] = MappingProxyType({})) -> tuple[str, ...]:
        """Return the dtypes that a result of this name may have. A keyword of the call may name the format."""
        if stated := self.named_format(name, keywords):
            carrier = self.carrier(name, keywords)
            return (carrier.dtype if carrier else stated.name,)
        dtype = self.spec.dtype_rule(name) or self.dtype
        if dtype != WIDER:
            return INTEGER_DTYPES if dtype == INTEGER else (dtype,)
        return self.dtype, *(f.name for f in FORMATS.values() if f.precision > self.storage.precision and f.precision >= 24)

    def default_format(self, name: str) -> Format:
        """Return the format of the result of this name, as it usually is where it may be wider than the arguments."""
        rule = self.spec.dtype_rule(name)
        return at_least_float32(self.storage) if rule == WIDER else FORMATS.get(rule or self.dtype, FORMATS["float64"])

    def result_format(self, call: Call) -> Format:
        """Return the format of a single result, which may be wider than the arguments' if it was answered so."""
        return self.named_format("", call.keywords) or call.formats.get("", self.storage)
