"""One operation of one backend in one dtype. Called with NumPy arrays, it returns a `Result`, which has an error bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any

import numpy as np

from ..bounds.bounded import Bounded
from ..implementation.backend import Backend
from ..implementation.domain import REQUIRED, canonical, list_left_out
from ..implementation.framework import CannotMakeArray
from ..implementation.guard import Fault, Refused
from ..implementation.named_results import name_results
from ..specification.conventions import Convention
from ..specification.float_errors import ignored_float_errors
from ..specification.formats import DTYPES, FORMATS, PRECISIONS, WIDER
from ..specification.pytree import count_elements, join, leaves, tree_map
from ..specification.registry import Specification
from .array_formats import ArrayFormats
from .call import Call
from .given import PLAIN
from .history import note_call, note_result, notes_losses
from .in_domain import keyword_not_taken, keyword_rejected, list_keywords, outside_domain
from .parts import Part, Parts
from .passed_arrays import PassedArrays
from .read_array import read_array, read_narrow
from .recorder import Recorder
from .result import Result
from .rounding import round_number, round_shifted
from .signature import (
    ask_for_keywords,
    describe_other_meaning,
    describe_too_few_arguments,
    find_left_out_argument,
    find_unknown_argument,
    list_required,
)
from .updates import IN_PLACE, known_update, settle_update
from .violation import NotImplementedVariant, Violation, format_index, from_fault

PLAIN_NUMBERS = MappingProxyType({"int64": int, "float64": float})  # the Python number that may stand for an array without axes


@dataclass(frozen=True)
class Operation(ArrayFormats, PassedArrays):
    """An operation under test, as laws call it: `operation(x, weight, eps=1e-5)` returns a `Result`."""

    spec: Specification
    backend: Backend
    dtype: str
    precision: str  # the loosest precision class that passes in this run
    recorder: Recorder = field(default_factory=Recorder, compare=False, repr=False)
    infer: Callable[[Operation, Convention], tuple[str, ...]] | None = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        return self.spec.name

    @cached_property
    def function(self) -> Callable[..., Any]:
        """Return the backend's function. `missing` says beforehand if there is none."""
        function = self.backend.function(self.name)
        assert function is not None
        return function

    @cached_property
    def accepted_keywords(self) -> frozenset[str] | None:
        """Return the keywords that the function takes, None if it takes any."""
        return list_keywords(self.function)

    @cached_property
    def required(self) -> frozenset[str]:
        """Return the arguments that the function has no default for, none if the backend lacks it."""
        function = self.backend.function(self.name)
        return frozenset() if function is None else list_required(function)

    def accepts(self, keyword: str) -> bool:
        """Whether the function takes a keyword or an optional array, and its domain has calls with it."""
        return keyword not in self.left_out and (self.accepted_keywords is None or keyword in self.accepted_keywords)

    @cached_property
    def domain(self) -> dict[str, Any]:
        """Return what the backend states about the arguments that its function takes, {} if it states nothing."""
        return canonical(self.spec, self.backend.domain.get(self.name, {}), self.left_out)

    @cached_property
    def left_out(self) -> frozenset[str]:
        """The optional arrays and keywords that no call inside the domain has, as if the function did not take them.

        What the function has no default for is given as None all the same.
        """
        names = list_left_out(self.spec, self.backend.domain.get(self.spec.forward, {}))
        return names - self.required

    @cached_property
    def missing(self) -> str:
        """Return why the operation cannot be tried at all, "" if it can."""
        if self.backend.function(self.name) is None:
            return self.backend.describe_absence(self.name)
        stated = self.domain.get("dtype", ())  # of formats of few bits, where the result has one
        if stated and self.dtype not in stated and all(dtype in DTYPES for dtype in stated):
            return f"{self.backend.domain_label} has {self.name} only in {', '.join(self.domain['dtype'])}"
        lacking = [name for name in self.spec.required if not self.accepts(name) and name != "axis"]
        if lacking := [name for name in lacking if len(self.domain.get(name, ())) != 1]:
            return f"{self.backend.name}'s {self.name} {ask_for_keywords(self.name, lacking)}"
        if differs := describe_too_few_arguments(self.spec, self.function) or describe_other_meaning(self.spec, self.function):
            return f"{self.backend.name}'s {self.name} {differs}"
        if unknown := find_unknown_argument(self.spec, self.function):
            required = f"requires the argument {unknown}, which is not the operation's"
            return f"{self.backend.name}'s {self.name} {required}; give it a default"
        left_out = find_left_out_argument(self.spec, self.function)
        if left_out and self.domain.get(left_out) != REQUIRED:
            required = f"requires the argument {left_out}, which most calls leave out"
            return f"{self.backend.name}'s {self.name} {required}: write {left_out}=None, and compute without it where it is None"
        defined = self.spec.declaration.dtypes
        if defined and self.dtype not in defined:  # the last reason: it says nothing of the backend
            return f"{self.name} is defined in {' and '.join(defined)}"
        return ""

    def possible_values(self, convention: Convention) -> tuple[str, ...]:
        """Return the value of a convention that the backend states, or those that its answers leave; all if it has none."""
        stated = self.backend.convention(convention.name, self.name)
        inferred = self.infer(self, convention) if self.infer and not stated else ()
        return (stated,) if stated else inferred or tuple(convention.values)

    def __call__(self, *arguments: Any, **keywords: Any) -> Result:
        return self.result(self.call(*arguments, **keywords))

    def call(self, *arguments: Any, **keywords: Any) -> Call:
        """Return the call with its arguments rounded to the dtype.

        An argument that rounding changes becomes a `Bounded`, whose error is the change. Optional arrays become keywords.
        """
        named, given = self.spec.part_arguments(arguments, keywords)
        with ignored_float_errors():
            optional = [(name, x) for name, x in given.items() if name in self.spec.positional]
            arrays = {name: self._round_argument(name, x, keywords) for name, x in optional}
            positional = tuple(self._round_argument(name, x, keywords) for name, x in named.items())
        defaults = {name: value for name, value in self.spec.defaults.items() if self.accepts(name)}
        given = {**defaults, **given, **arrays}
        if given.get("theta") is None and "layout" in self.domain:
            given["layout"], *_ = self.domain["layout"]  # without theta nothing is rotated, so that any layout will do
        call = Call(self, positional, given)
        self.recorder.calls.append(call)
        return call

    def _round_argument(self, name: str, value: Any, keywords: Mapping[str, Any]) -> Any:
        if name in self.shifts:
            return round_shifted(value, self.shifts[name], self.argument_format(name), self.dtype)
        declared = self.spec.declaration
        is_own = name in declared.wide_arguments or name in declared.formats
        storage = self.argument_format(name, {**keywords, name: value}) if is_own else self.storage
        return tree_map(lambda x: round_number(x, storage, self.dtype), value)

    def release(self) -> None:
        """Let go of the framework's arrays that the calls have returned."""
        self.recorder.release()

    def result(self, call: Call) -> Result:
        """Run the backend on the call, and return its result with its error bound."""
        return Result(self.values(call, self.run(call)), call)

    @notes_losses
    def run(self, call: Call, arguments: tuple[tuple[Any, ...], dict[str, Any]] | None = None, state: str = "") -> Any:
        """Run the backend on the call, or on other native arguments, in a state of its framework. Return what it returned."""
        self.recorder.before_run()
        if reason := outside_domain(call):
            raise NotImplementedVariant(reason)
        if not arguments and (reason := keyword_not_taken(call)):
            raise NotImplementedVariant(reason, "signature")
        if not self.admits(call):
            raise NotImplementedVariant("the search for the cause has reached its limit of new shapes", "suite")
        positional, keywords = arguments or self.native(call)
        self.backend.meter.add_call(count_elements(arguments) if arguments else call.size)
        framework = self.backend.framework
        note_call(call)
        self.backend.call_counts[self.name] += 1
        made = self.recorder.steps.add_call(call, state)

        def step() -> Any:
            return framework.describe_foreign(framework.force(framework.call(self.function, positional, keywords)))

        try:
            with self.backend.shapes.timed(self._shapes_of(call)):
                call.result = self.attempt(lambda: framework.in_state(state, step) if state else step())
        except Violation as violation:
            if not (rejected := keyword_rejected(call, violation.__cause__)) or rejected not in keywords:
                raise
            if reason := keyword_not_taken(call, {rejected}):
                raise NotImplementedVariant(reason, "signature") from violation
            self.recorder.steps.remove(made)
            return self.run(call, (positional, {name: x for name, x in keywords.items() if name != rejected}), state)
        if self.spec.declaration.updates and not self.spec.is_gradient:
            given = {**dict(zip(self.spec.positional, positional, strict=False)), **keywords}
            updated = {name: given[name] for name in self.spec.declaration.updates if given.get(name) is not None}
            call.result = settle_update(call, call.result, updated)
        note_result(call)
        return call.result

    def admits(self, call: Call) -> bool:
        """Whether a call of these shapes may be made: a search for a cause may be kept from new ones."""
        return self.backend.shapes.admits(self._shapes_of(call))

    def _shapes_of(self, call: Call) -> tuple[Any, ...]:
        """Return what a kernel that is compiled for each shape is compiled for: the arrays that are given, with their shapes."""
        return (self.name, self.dtype, *((path, x.shape) for path, x in leaves(call.named) if hasattr(x, "shape")))

    @property
    def updated_in_place(self) -> tuple[str, ...]:
        """Return the names of the arguments that the backend's function writes to, as far as is known."""
        return self.spec.declaration.updates if known_update(self.backend, self.name) == IN_PLACE else ()

    def attempt(self, step: Callable[[], Any]) -> Any:
        """Run a step of the backend. An exception other than NotImplementedError, a timeout or a crash is a violation."""
        try:
            return self.backend.run_guarded(step, self.name)
        except Refused as refusal:
            raise NotImplementedVariant(str(refusal), "backend") from refusal
        except CannotMakeArray as reason:  # an isolated backend makes them with the call
            raise NotImplementedVariant(str(reason), "framework") from reason
        except Fault as fault:
            raise from_fault(fault) from fault

    @notes_losses
    def native(self, call: Call, layout: str = "contiguous") -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments as the framework's arrays.

        Keywords that the function does not take are left out, since they have their default values. Raise NotImplementedVariant
        if the framework cannot make such an array.
        """
        call.layout, call.given = layout, PLAIN

        def convert(name: str, tree: Any) -> Any:
            floating = self.argument_format(name, call.keywords).name
            stored = "contiguous" if name in self.spec.declaration.updates else layout
            tree = self.as_given(name, tree)
            if tree is not None and (carrier := self.carrier(name, call.keywords)):
                tree = carrier.store(getattr(tree, "value", tree))
                return self._make_array(tree, carrier.dtype, stored, carrier.dtype)
            integer = self.spec.declaration.integer_dtypes.get(name, "")
            return tree_map(lambda x: self._make_array(x, floating, stored, integer), tree)

        positional = tuple(convert(name, a) for name, a in zip(self.spec.positional, call.arguments, strict=False))
        return positional, {name: convert(name, x) for name, x in call.keywords.items() if self.accepts(name)}

    def _make_array(self, x: Any, floating: str, layout: str, integer: str = "") -> Any:
        """Return an array of the framework for an array of NumPy. A floating one has the dtype `floating`, others `integer`."""
        framework, x = self.backend.framework, x.value if isinstance(x, Bounded) else x
        if not isinstance(x, np.ndarray):
            return x
        dtype = {"f": floating, "b": "bool"}.get(x.dtype.kind, integer or self.domain.get("index_dtype", "int64"))
        try:
            return framework.lay_out(x, dtype, layout)
        except CannotMakeArray as reason:
            raise NotImplementedVariant(str(reason), "framework") from reason

    # --- results ----------------------------------------------------------------------------------------------------

    @notes_losses
    def values(self, call: Call, result: Any) -> np.ndarray:
        """Return the values of the result as float64, bool or int. A result of a wrong type, device or shape is a violation.

        Several results are returned as one vector.
        """
        if type(result) is PLAIN_NUMBERS.get(str(self.spec.dtype)):
            return call.record(result, np.asarray(result))
        if call.parts is None:
            if self.spec.results[""] == WIDER or self.dtypes_by_convention:
                call.record_formats({"": self.answered_format(result)})
            if carrier := self.carrier("", call.keywords):
                narrow = partial(read_narrow, self.backend.framework, "the result", result, carrier=carrier)
                return call.record(result, self.read("", call.value.shape, narrow))
            plain = partial(read_array, self.backend.framework, "the result", result)
            plain = partial(plain, dtype=self.spec.dtype, storage=self.result_format(call))
            values = self.read("", call.value.shape, plain)
            return call.record(result, self.spec.declaration.arrange([values])[0])
        arrays, rule = self.by_name(result), self.spec.dtype_rule
        if self.spec.list_like and len(arrays) != len(call.oracle_results):
            expected = f"{len(call.oracle_results)}, as many as in {self.spec.list_like}"
            raise Violation(f"the result has {len(arrays)} arrays", [("expected", expected)])
        if (names := [part.name for part in call.parts]) != [*arrays] and self.spec.declaration.optional_results:
            raise Violation(f"the results are {', '.join(arrays)}", [("expected", ", ".join(names))])
        call.record_formats({name: self.answered_format(x) for name, x in arrays.items() if rule(name) == WIDER})
        parts = [self._read_part(part, arrays[part.name], call) for part in call.parts]
        return call.record(result, join(self.spec.declaration.arrange(parts)))

    def _read_part(self, part: Part, x: Any, call: Call) -> np.ndarray:
        """Return the values of one of several results. A number that depends on no array may be a Python float."""
        if carrier := self.carrier(part.name, call.keywords):
            return self.read(part.name, part.shape, partial(read_narrow, self.backend.framework, part.name, x, carrier=carrier))
        if type(x) is float and part.shape == () and not self.spec.positional:
            return part.storage.round(np.asarray(x))
        plain = partial(read_array, self.backend.framework, part.name, x)
        return self.read(part.name, part.shape, partial(plain, dtype=self.spec.dtype_rule(part.name), storage=part.storage))

    def by_name(self, result: Any) -> dict[str, Any]:
        """Return each result by its name. That of a single one is ""."""
        if not self.spec.has_several_results:
            return {"": result}
        if self.spec.list_like:
            if not isinstance(result, list | tuple):
                raise Violation(f"the result is {self.backend.framework.describe_type(result)}, not a list of arrays")
            return dict(leaves(result, *self.spec.results))
        try:
            return name_results(self._names_of(result), result)
        except ValueError as error:
            raise Violation(str(error)) from None

    def _names_of(self, result: Any) -> tuple[str, ...]:
        """Return the names of the results: without the last ones if those are optional and not there."""
        names, optional = tuple(self.spec.results), self.spec.declaration.optional_results
        if isinstance(result, dict):
            return tuple(name for name in names if name not in optional or name in result)
        missing = len(names) - len(result) if isinstance(result, list | tuple) else 0
        return names[:-missing] if 0 < missing <= len(optional) else names

    def arrays_by_name(self, result: Any) -> dict[str, Any]:
        """Return the arrays of the result by name: all of it but Python numbers."""
        numbers = PLAIN_NUMBERS.values()
        return {} if type(result) in numbers else {name: x for name, x in self.by_name(result).items() if type(x) not in numbers}

    def list_parts(self, call: Call) -> Parts | None:
        """Return the results that the call's value is made of, None if there is one."""
        if not self.spec.has_several_results:
            return None
        names = self.spec.results
        if self.spec.list_like:
            names = dict(leaves(call.oracle_results, *names))
        strict = not self.spec.declaration.optional_results
        shapes = {name: x.shape for name, x in zip(names, call.oracle_results, strict=strict)}
        named = {name: self.named_format(name, call.keywords) for name in shapes}
        return Parts(shapes, {name: named[name] or call.formats.get(name, self.default_format(name)) for name in shapes})

    def place(self, call: Call, index: tuple[Any, ...]) -> str:
        """Return how messages name an element of the result, or of one of several, as the backend returns it."""
        if call.parts is None:
            return format_index(self.result_order.exchange_places("", index))
        name, inside = call.parts.locate(index)
        inside = self.result_order.exchange_places(name, inside)
        return f"{name}{format_index(inside)}" if inside else name

    def classes(self) -> tuple[str, ...]:
        """Return the precision classes that pass, from the strictest to the loosest."""
        if self.precision == "exact" or FORMATS.get(self.dtype, FORMATS["float64"]).precision >= 24:
            return (self.precision if self.precision == "exact" else "fused",)
        return PRECISIONS[: PRECISIONS.index(self.precision) + 1]
