"""One call of an operation as plain data, what the equation makes of it, and what was answered."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np

from ..bounds.bounded import Bounded
from ..bounds.expectation import Expectation, expect
from ..specification.formats import Arithmetic
from ..specification.pytree import leaves, pick, tree_map


class Callee(Protocol):
    """What a call asks of its operation."""

    spec: Any
    dtype: str
    precision: str
    backend: Any

    @property
    def name(self) -> str: ...

    @property
    def storage(self) -> Any: ...

    @property
    def domain(self) -> dict[str, Any]: ...


@dataclass(eq=False)
class Call:
    """One call, as plain data: arguments are float64 arrays whose values the dtype holds, bool and integer arrays."""

    operation: Any  # a Callee; Operation, in practice
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    result: Any = None
    observed: np.ndarray | None = None  # the result's values
    deviation_results: dict[Any, Any] = field(default_factory=dict, repr=False)  # what deviations make of it

    @cached_property
    def named(self) -> dict[str, Any]:
        """Every argument by its name."""
        return {**dict(zip(self.operation.spec.positional, self.arguments, strict=False)), **self.keywords}

    @cached_property
    def size(self) -> int:
        """The numbers in all arguments."""
        return sum(math.prod(getattr(x, "shape", ())) for _, x in leaves(self.named))

    @cached_property
    def inexact(self) -> bool:
        """Some argument carries an error of its own."""
        return any(isinstance(x, Bounded) for _, x in leaves(self.named))

    @cached_property
    def value(self) -> np.ndarray:
        """The oracle's value."""
        keywords = _plain(self.keywords)
        wrt = keywords.pop("wrt", None)
        with np.errstate(all="ignore"):
            return np.asarray(self._asked(self.operation.spec.reference(*_plain(self.arguments), **keywords), wrt))

    def record(self, result: Any, values: np.ndarray) -> np.ndarray:
        """The values of its own result are kept; not those of a call whose arguments differ where it must not matter."""
        self.result = result if self.result is None else self.result
        if result is self.result:
            self.observed = values
        return values

    def expectation(self, precision: str) -> Expectation:
        if precision not in self._expectations:
            self._expectations[precision] = self.expect(precision)
        return self._expectations[precision]

    def evaluate(self, wrap: Callable[[Any], Any], equation: Callable[..., Any] | None = None) -> Any:
        """The equation, or another, on these arguments, every number of them wrapped."""
        spec = self.operation.spec
        named = {name: _wrapped(name, value, wrap) for name, value in self.named.items()}
        if equation is None and (custom := getattr(spec.module, "bound", None)):
            return custom(wrap, **named)
        positional, wrt = [named.pop(name) for name in spec.positional[: len(self.arguments)]], named.pop("wrt", None)
        return self._asked((equation or spec.reference)(*positional, **named), wrt)

    def _asked(self, result: Any, wrt: Any) -> Any:
        """Of several gradients those asked for."""
        return result if wrt is None else pick(result, self.operation.spec.positional[1:], wrt)

    _expectations: dict[str, Expectation] = field(default_factory=dict)

    def expect(self, precision: str, equation: Callable[..., Any] | None = None) -> Expectation:
        """What the equation, or another, allows in an arithmetic."""
        op = self.operation
        if precision == "exact":
            with np.errstate(all="ignore"):
                value = self.value if equation is None else np.asarray(self.evaluate(lambda x: x, equation))
            return Expectation(value.astype(np.float64), np.zeros(value.shape), op.storage)
        if equation is not None and hasattr(op.spec.module, "bound"):  # there is no number that could carry an error
            right, value = self.expectation(precision), np.asarray(self.evaluate(np.asarray, equation))
            relative = np.max(right.error / np.abs(right.value))
            return Expectation(value, relative * np.abs(value), op.storage)
        arithmetic = Arithmetic.of(op.dtype, precision)
        evaluate = partial(self.evaluate, equation=equation)
        return expect(evaluate, arithmetic, op.storage, composed=op.spec.composed, inexact=self.inexact)


def _wrapped(name: str, value: Any, wrap: Callable[[Any], Any]) -> Any:
    def one(x: Any) -> Any:
        if isinstance(x, Bounded | float | np.floating):
            return wrap(x)
        if isinstance(x, np.ndarray) and (x.dtype.kind == "f" or name == "positions"):
            return wrap(x.astype(np.float64))
        return x

    return tree_map(one, value)


def _plain(tree: Any) -> Any:
    return tree_map(lambda x: x.value if isinstance(x, Bounded) else x, tree)
