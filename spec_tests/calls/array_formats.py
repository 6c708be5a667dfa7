"""The formats in which the arrays of an operation are given and returned."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..implementation.backend import Backend
from ..specification.carriers import CODES, Carrier
from ..specification.conventions import Convention, Stored, conventions_of
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

    if TYPE_CHECKING:

        @cached_property
        def stored(self) -> dict[str, Stored]: ...

    @cached_property
    def storage(self) -> Format:
        """Return the format of the result's elements."""
        return FORMATS.get(self.spec.dtype or self.dtype, FORMATS["float64"])

    def argument_format(self, name: str, keywords: Mapping[str, Any] = MappingProxyType({})) -> Format:
        """Return the format in which a floating argument is given. A keyword of the call may name it."""
        if stated := self.named_format(name, keywords):
            return stated
        f = FORMATS.get(self.dtype, FORMATS["float64"])
        is_wide = name in self.spec.declaration.wide_arguments and not self._is_stored_narrow(name, keywords)
        return at_least_float32(f) if is_wide else f

    def _is_stored_narrow(self, name: str, keywords: Mapping[str, Any]) -> bool:
        """Whether an array that is float32 or wider in the equation is given in the dtype of the arguments.

        Where the backend takes both, an array is given so if this changes none of its numbers, and none counts as given so.
        """
        stored = self.stored.get(name)
        if stored is None or not stored.is_either or keywords.get(name) is None:
            return stored is not None
        values = np.asarray(getattr(keywords[name], "value", keywords[name]), dtype=np.float64)
        return np.array_equal(FORMATS.get(self.dtype, FORMATS["float64"]).round(values), values, equal_nan=True)

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
        """Return the format of a result of no certain dtype: that of the array, if the result may have it."""
        framework = self.backend.framework
        found = FORMATS.get(framework.dtype_of(x) if framework.is_array(x) else "", self.storage)
        return found if found.precision > self.storage.precision or found.name in self.dtypes_by_convention else self.storage

    @cached_property
    def _deciding(self) -> tuple[Convention, ...]:
        """Return the conventions that decide of which dtype the results are."""
        found = (c for c in conventions_of(self.spec.name) if not c.dtypes or self.dtype in c.dtypes)
        return tuple(c for c in found if any(self.spec.name in value.returned_by for value in c.values.values()))

    @cached_property
    def dtypes_by_convention(self) -> tuple[str, ...]:
        """Return the dtypes that the results have under some value of a convention, () if none decides."""
        values = (value for convention in self._deciding for value in convention.values.values())
        return tuple(value.computes_in for value in values if self.spec.name in value.returned_by)

    @property
    def dtype_by_convention(self) -> str:
        """Return the dtype that the results have under the backend's conventions, "" if that of the arguments."""
        values = (convention.values[self.possible_values(convention)[0]] for convention in self._deciding)
        return next((value.computes_in for value in values if self.spec.name in value.returned_by), "")

    def possible_values(self, convention: Convention) -> tuple[str, ...]:
        """Return the values of a convention that the backend may follow."""
        raise NotImplementedError

    def expected_dtypes(self, name: str, keywords: Mapping[str, Any] = MappingProxyType({})) -> tuple[str, ...]:
        """Return the dtypes that a result of this name may have. A keyword of the call may name the format."""
        if stated := self.named_format(name, keywords):
            carrier = self.carrier(name, keywords)
            return (carrier.dtype if carrier else stated.name,)
        dtype = self.spec.dtype_rule(name) or self.dtype_by_convention or self.dtype
        if dtype != WIDER:
            return INTEGER_DTYPES if dtype == INTEGER else (dtype,)
        if name in self.stored:
            return (self.argument_format(name, keywords).name,)
        narrowest = self.argument_format(name, keywords)
        return narrowest.name, *(f.name for f in FORMATS.values() if f.precision > max(narrowest.precision, 23))

    def default_format(self, name: str) -> Format:
        """Return the format of the result of this name, as it usually is where it may be wider than the arguments."""
        rule = self.spec.dtype_rule(name)
        return at_least_float32(self.storage) if rule == WIDER else FORMATS.get(rule or self.dtype, FORMATS["float64"])

    def result_format(self, call: Call) -> Format:
        """Return the format of a single result, which may be wider than the arguments' if it was answered so."""
        return self.named_format("", call.keywords) or call.formats.get("", self.storage)
