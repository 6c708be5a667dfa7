"""One call of an operation as plain data: its arguments, the oracle's value for them, and the backend's answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np

from ..bounds.answers import judged_at
from ..bounds.bounded import Bounded
from ..bounds.derivation import StagedExpectation, expect
from ..bounds.expectation import Expectation
from ..bounds.sampled_error import Evaluate
from ..implementation.backend import Backend
from ..specification.carriers import Carrier
from ..specification.conventions import Convention, apply_conventions, conventions_of
from ..specification.float_errors import ignored_float_errors
from ..specification.formats import Arithmetic, Format, JoinedFormat
from ..specification.pytree import count_elements, join, leaves, pick
from ..specification.registry import Specification
from .asked_rank import RANK
from .axis_order import AxisOrder
from .blocks import ExpectationOfBlocks, cut_into_blocks
from .given import PLAIN, Given
from .open_choices import expect_by_choice
from .parts import Parts
from .real_numbers import drop_errors, wrap_numbers


class Callee(Protocol):
    """What a call needs of its operation. `Operation` has all of it, but imports this file."""

    @property
    def spec(self) -> Specification: ...

    @property
    def backend(self) -> Backend: ...

    @property
    def dtype(self) -> str: ...

    @property
    def precision(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def storage(self) -> Format: ...

    @property
    def domain(self) -> dict[str, Any]: ...

    @property
    def left_out(self) -> frozenset[str]: ...

    @property
    def accepted_keywords(self) -> frozenset[str] | None: ...

    def accepts(self, keyword: str) -> bool: ...

    def argument_format(self, name: str, keywords: Mapping[str, Any]) -> Format: ...

    def named_format(self, name: str, keywords: Mapping[str, Any]) -> Format | None: ...

    def rounds_to_few_bits(self, keywords: Mapping[str, Any]) -> bool: ...

    def carrier(self, name: str, keywords: Mapping[str, Any]) -> Carrier | None: ...

    def call(self, *arguments: Any, **keywords: Any) -> Call: ...

    def native(self, call: Call, layout: str = "contiguous") -> tuple[tuple[Any, ...], dict[str, Any]]: ...

    def result(self, call: Call) -> Bounded: ...

    def values(self, call: Call, result: Any) -> np.ndarray: ...

    def as_returned(self, call: Call, values: np.ndarray) -> dict[str, np.ndarray]: ...

    @property
    def argument_order(self) -> AxisOrder: ...

    @property
    def result_order(self) -> AxisOrder: ...

    @property
    def recorder(self) -> Any: ...

    def by_name(self, result: Any) -> dict[str, Any]: ...

    def list_parts(self, call: Call) -> Parts | None: ...

    def result_format(self, call: Call) -> Format: ...

    def place(self, call: Call, index: tuple[Any, ...]) -> str: ...

    def classes(self) -> tuple[str, ...]: ...

    def possible_values(self, convention: Convention) -> tuple[str, ...]: ...


@dataclass(eq=False)
class Call:
    """One call. Its floating arrays are float64 and hold values that the dtype can represent; others are bool or integer."""

    operation: Callee
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    result: Any = None  # what the backend returned, until `release`
    observed: np.ndarray | None = None  # the result's values as NumPy; None until the backend has answered
    formats: dict[str, Format] = field(default_factory=dict)  # of results that may be wider than the arguments, as answered
    layout: str = "contiguous"  # in which the arrays were stored for the answer: see implementation/layouts.py
    given: Given = PLAIN  # in which other way
    was_answered: bool = False  # whether there was a result, which is released
    history: dict[str, Any] = field(default_factory=dict, repr=False)  # the facts of its place among the calls of its operation
    rank: int = 0  # whose answer it is, where a backend runs on several: see ranks.py
    of_all_ranks: Any = field(default=None, repr=False)  # what they returned
    of_rank_zero: Call | None = field(default=None, repr=False)  # the same call with the answer of rank 0, if this has another's
    by_rank: list[Call] | None = field(default=None, repr=False)  # the call with the answer of each, as far as it was looked at
    previous: Call | None = field(default=None, repr=False)  # the small call before it that had such a result
    deviation_results: dict[Any, Any] = field(default_factory=dict, repr=False)  # a cache of the diagnosis
    _expectations: dict[str, Expectation] = field(default_factory=dict)

    @cached_property
    def named(self) -> dict[str, Any]:
        """Return every argument by its name."""
        return {**dict(zip(self.operation.spec.positional, self.arguments, strict=False)), **self.keywords}

    @cached_property
    def size(self) -> int:
        """Return how many elements the arguments have in all."""
        return count_elements(self.named)

    @cached_property
    def inexact(self) -> bool:
        """Whether some argument carries an error of its own."""
        return any(isinstance(x, Bounded) for _, x in leaves(self.named))

    @cached_property
    def value(self) -> np.ndarray:
        """Return the oracle's value. Several results, or gradients, are one vector; `parts` says which elements are whose."""
        return np.asarray(self._as_one_array(self.oracle_results, self.keywords.get("wrt")))

    @property
    def oracle_results(self) -> Any:
        """Return what the equation returns: one array, or a tuple of several results or gradients."""
        return self._settled[1]

    @property
    def conventions(self) -> dict[str, str]:
        """Return the values of the conventions that decide the result of this call, {} for most calls."""
        return self._settled[0]

    @cached_property
    def _settled(self) -> tuple[dict[str, str], Any]:
        """Return the values of the conventions that decide this call, and what the equation returns under them."""
        operation, values = self.operation, dict[str, str]()
        for convention in conventions_of(operation.name):
            stated = operation.backend.convention(convention.name, operation.name)
            if self.asks(convention, values) and (stated or not convention.is_allowed):
                values[convention.name], *_ = operation.possible_values(convention)
        return values, self._evaluate_exactly(apply_conventions(operation.spec.reference, operation.name, values))

    def asks(self, convention: Convention, settled: dict[str, str]) -> bool:
        """Whether the convention decides the result of this call, given the values of earlier conventions."""
        in_dtype = not convention.dtypes or self.operation.dtype in convention.dtypes
        return in_dtype and convention.is_asked(self.named, settled)

    def settle(self, values: dict[str, str]) -> None:
        """Judge the call under these values of its conventions."""
        equation = apply_conventions(self.operation.spec.reference, self.operation.name, values)
        self.__dict__["_settled"] = values, self._evaluate_exactly(equation)

    def _evaluate_exactly(self, equation: Callable[..., Any]) -> Any:
        """Return what an equation returns for the arguments in float64."""
        keywords = drop_errors(self.keywords)
        keywords.pop("wrt", None)
        self.operation.backend.meter.add_evaluation(self.operation.spec.steps, self.size)
        with ignored_float_errors():
            return equation(*drop_errors(self.arguments), **keywords)

    @cached_property
    def parts(self) -> Parts | None:
        """Return the arrays that the value is made of, None if it is a single one."""
        return self.operation.list_parts(self)

    @property
    def storage(self) -> Format | JoinedFormat:
        """Return the format of the result's elements."""
        return self.parts.storage if self.parts else self.operation.result_format(self)

    def record_formats(self, formats: dict[str, Format]) -> None:
        """Keep the formats in which the results were returned. The bounds are those of these formats."""
        if formats != self.formats:
            self.formats = formats
            self.__dict__.pop("parts", None)
            self._expectations.clear()
            self.deviation_results.clear()

    @property
    def is_answered(self) -> bool:
        """Whether the backend has returned a result."""
        return self.was_answered or self.result is not None

    def release(self) -> None:
        """Let go of the framework's arrays, whose memory is the device's. The values that were read stay."""
        self.was_answered, self.result = self.is_answered, None

    def record(self, result: Any, values: np.ndarray) -> np.ndarray:
        """Keep the values of the call's own result, and return them.

        A law may run the call again with other arguments that must not matter. The values of those results are not kept.
        """
        self.operation.backend.meter.add(values.size)
        self.result = result if self.result is None else self.result
        if result is self.result:
            self.observed = values
            if self.operation.backend.framework.passes_copies and self.operation.backend.framework.world_size > 1:
                self.of_all_ranks, self.by_rank = result, None
            if self.chooses or self.operation.spec.declaration.judged_at:
                self._expectations.clear()
        return values

    @cached_property
    def chooses(self) -> bool:
        """Whether roundings may decide which of some entries the equation chooses."""
        chooses = self.operation.spec.declaration.chooses
        if isinstance(chooses, str):
            return any(path.endswith(f"[{chooses!r}]") and x is not None for path, x in leaves(self.named))
        return chooses

    def expectation(self, precision: str) -> Expectation:
        """Return the oracle's value with its error bound in a precision class. The result is cached."""
        if precision not in self._expectations:
            self._expectations[precision] = self.expect(precision)
        return self._expectations[precision]

    def evaluate(self, wrap: Callable[[Any], Any], equation: Callable[..., Any] | None = None) -> Any:
        """Evaluate the reference equation, or another, on the arguments, with every real number in them passed through `wrap`.

        Where a convention decides the result, the equation is changed by the value that holds of the backend.
        """
        return self.prepare(wrap)(equation)

    def prepare(self, wrap: Callable[[Any], Any]) -> Callable[[Callable[..., Any] | None], Any]:
        """Return what evaluates an equation as `evaluate` does. The arguments pass through `wrap` once for all equations."""
        spec = self.operation.spec
        wrapped = {name: wrap_numbers(name, value, wrap) for name, value in self.named.items()}
        times = max((getattr(x, "evaluations", 1) for _, x in leaves(wrapped)), default=1)

        def evaluate(equation: Callable[..., Any] | None) -> Any:
            if equation is None and (custom := spec.declaration.bound):
                self.operation.backend.meter.add_evaluation(spec.steps, self.size, times)
                return custom(wrap, **wrapped)
            named = dict(wrapped)
            positional, wrt = [named.pop(name) for name in spec.positional[: len(self.arguments)]], named.pop("wrt", None)
            changed = apply_conventions(equation or spec.reference, spec.name, self.conventions)
            self.operation.backend.meter.add_evaluation(spec.steps, self.size, times)
            token = RANK.set(self.rank)
            try:
                result = self._as_one_array(changed(*positional, **named), wrt, positional)
            finally:
                RANK.reset(token)
            self.operation.backend.meter.add(times * count_elements(result))
            return result

        return evaluate

    def _as_one_array(self, result: Any, wrt: Any, arguments: Sequence[Any] = ()) -> Any:
        """Return the gradients that `wrt` names, or the results, as one array.

        A plain array among number types that carry an error, as the indices that a deviation draws, has no error.
        """
        if wrt is not None:
            return pick(result, self.operation.spec.positional[1:], wrt)
        results = result if self.operation.spec.has_several_results else (result,)
        like = next((x for x in (*results, *arguments) if hasattr(x, "constant")), None)
        if like is not None:
            results = tuple(like.constant(x) if isinstance(x, np.ndarray) else x for x in results)
        return join(results) if self.operation.spec.has_several_results else results[0]

    def expect(self, precision: str, equation: Callable[..., Any] | None = None, exact: np.ndarray | None = None) -> Expectation:
        """Derive the value and the error bound of the reference equation, or of another, in a precision class.

        exact: the values of the other equation in float64. With them, its error is derived only as far as a question needs it.
        """
        op = self.operation
        precision = "fused" if precision == "exact" and op.rounds_to_few_bits(self.keywords) else precision
        if precision == "exact":
            with ignored_float_errors():
                value = self.value if equation is None else np.asarray(self.evaluate(lambda x: x, equation))
                is_open = op.spec.declaration.left_open(**self.named) if op.spec.declaration.left_open else False
            error = np.where(np.broadcast_to(is_open, value.shape), np.inf, 0.0)
            return Expectation(value.astype(np.float64), error, self.storage)
        if equation is not None and op.spec.declaration.bound:
            # The equation takes no real numbers, so that none can carry an error: use the relative error of the right equation.
            right, value = self.expectation(precision), np.asarray(self.evaluate(np.asarray, equation))
            relative = np.max(right.error / np.where(right.value == 0, np.inf, np.abs(right.value)))
            return Expectation(value, relative * np.abs(value), self.storage)
        widens = any(f.precision > op.storage.precision for f in self.formats.values())
        narrows, sums_are_stored = self._computes_in_16_bits, op.backend.adds_summands(op.name)
        arithmetic = Arithmetic.of(op.dtype, precision, widens=widens, narrows=narrows, sums_are_stored=sums_are_stored)
        sampled = op.spec.composed and not self.inexact
        evaluate: Evaluate = partial(self._unanswered().evaluate, equation=equation)
        if op.spec.declaration.judged_at:
            evaluate = self._at_answers(evaluate)
            exact = self.value if equation is None else exact
        elif equation is None and not self.chooses:
            return self._expect_in_blocks(arithmetic, sampled=sampled)
        if self.chooses:

            def derive(evaluate: Evaluate, arithmetic: Arithmetic, *, exact: np.ndarray | None = None) -> StagedExpectation:
                exact = None if self._settles_a_rounding else exact
                return StagedExpectation(evaluate, arithmetic, self.storage, sampled=sampled, exact=exact)

            return expect_by_choice(self, evaluate, arithmetic, derive)
        if exact is not None and not self._settles_a_rounding:
            return StagedExpectation(evaluate, arithmetic, self.storage, sampled=sampled, exact=exact)
        return expect(evaluate, arithmetic, self.storage, sampled=sampled)

    def _at_answers(self, evaluate: Evaluate) -> Evaluate:
        """Return the evaluation at the results that were returned, of those that others are judged at."""
        if self.observed is None or self.parts is None:
            return evaluate
        found = self.parts.split(self.observed)
        answers = {name: found[name] for name in self.operation.spec.declaration.judged_at if name in found}

        def evaluate_at_answers(wrap: Any) -> Any:
            with judged_at(answers):
                return evaluate(wrap)

        return evaluate_at_answers

    def _expect_in_blocks(self, arithmetic: Arithmetic, *, sampled: bool) -> Expectation:
        """Return the expectation of the reference equation. A large call is judged block by block."""
        storage = self.storage

        def derive(call: Call, exact: np.ndarray | None) -> StagedExpectation:
            return StagedExpectation(call.evaluate, arithmetic, storage, sampled=sampled, exact=exact)

        exact = None if self._settles_a_rounding else self.value
        whole = partial(derive, self._unanswered(), exact)
        cut = cut_into_blocks(self.operation.spec, self.named, self.size, self.value)
        blocks = [(rows, partial(derive, self._change(x), None if exact is None else exact[rows])) for rows, x in cut]
        return ExpectationOfBlocks(blocks, whole) if blocks else whole()

    @property
    def _computes_in_16_bits(self) -> bool:
        """Whether a convention of this call says that a part of the equation is computed so."""
        decided = (c for c in conventions_of(self.operation.name) if c.name in self.conventions)
        return any(convention.values[self.conventions[convention.name]].computes_in for convention in decided)

    @property
    def _settles_a_rounding(self) -> bool:
        """Whether a convention of this call decides about a rounding inside of the equation, which its value in float64 lacks."""
        return any(
            convention.is_allowed and convention.name in self.conventions for convention in conventions_of(self.operation.name)
        )

    def at_exact_values(self) -> Call:
        """Return the same call, with the same answer, of arguments without errors of their own: those that were passed."""
        keywords = drop_errors(self.keywords)
        call = Call(self.operation, drop_errors(self.arguments), keywords, observed=self.observed, formats=self.formats)
        call.layout, call.given = self.layout, self.given
        return call

    def _unanswered(self) -> Call:
        """Return the same call without its answer, for an expectation to keep: one that kept the call itself would be a cycle."""
        return self.at_rank(self.rank)

    @property
    def kept_by_answer(self) -> np.ndarray | None:
        """Return the answer if it says by which of the open choices any equation is judged, else None."""
        return self.observed if self.operation.spec.declaration.keeps else None

    @property
    def judged_by_answer(self) -> np.ndarray | None:
        """Return the answer if a call with other values is judged by it, as where a result is judged at another; else None."""
        return self.observed if self.operation.spec.declaration.judged_at else self.kept_by_answer

    def at_rank(self, rank: int) -> Call:
        """Return the same call without its answer, for that of a rank."""
        call = Call(self.operation, self.arguments, self.keywords, rank=rank, layout=self.layout, given=self.given)
        call.__dict__["_settled"] = self._settled
        return call

    def _change(self, changed: dict[str, Any]) -> Call:
        """Return the call without its answer and with other values of some arguments, under the same conventions."""
        named = zip(self.operation.spec.positional, self.arguments, strict=False)
        keywords = {name: changed.get(name, x) for name, x in self.keywords.items()}
        call = Call(self.operation, tuple(changed.get(name, x) for name, x in named), keywords)
        call.__dict__["_settled"] = self.conventions, None
        return call
