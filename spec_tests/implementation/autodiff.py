"""Automatic differentiation: one operation, as a function of those arguments that have a gradient."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..specification.pytree import leaves, tree_map

if TYPE_CHECKING:
    from .framework import Framework

NO_GRADIENT = re.compile(r"reverse-mode|::vjp\] not implemented", re.IGNORECASE)


@contextmanager
def _no_gradient_as_not_implemented() -> Iterator[None]:
    """Some frameworks raise a ValueError where they cannot differentiate a kernel or a loop. Only its words tell."""
    try:
        yield
    except ValueError as error:
        if not NO_GRADIENT.search(str(error)):
            raise
        raise NotImplementedError("its result carries no gradient") from error


@dataclass(frozen=True)
class Differentiation:
    """What is to be differentiated: an operation, at native arguments."""

    operation: str
    positional: tuple[str, ...]  # the names of its array arguments
    dtype: str  # of the arguments that have a gradient
    arrays: tuple[Any, ...]
    keywords: dict[str, Any]

    def linearize(self, framework: Framework, function: Any) -> tuple[Any, Callable[[Any], dict[str, Any]]]:
        """Return the answer of the function, and a function from a cotangent to the gradient of each argument by name."""
        of_inputs, names, inputs = self._as_function_of_inputs(framework, function)
        with _no_gradient_as_not_implemented():
            y, pull = framework.linearize(of_inputs, inputs)

        def gradients(cotangent: Any) -> dict[str, Any]:
            with _no_gradient_as_not_implemented():
                return dict(zip(names, map(framework.force, pull(cotangent)), strict=True))

        return y, gradients

    def accumulate(self, framework: Framework, function: Any, cotangents: list[Any]) -> dict[str, Any]:
        """Return what the gradient of each argument holds after a backward pass for each cotangent."""
        of_inputs, names, inputs = self._as_function_of_inputs(framework, function)
        return dict(zip(names, framework.accumulate(of_inputs, inputs, cotangents), strict=True))

    def _as_function_of_inputs(self, framework: Framework, function: Any) -> tuple[Callable[[Any], Any], list[str], list[Any]]:
        """Return the function of the arguments that have a gradient, their names, and their values."""
        given = {**dict(zip(self.positional, self.arrays, strict=False)), **self.keywords}
        named = {path: x for name in self.positional for path, x in leaves(given.get(name), name)}
        names = [path for path, x in named.items() if framework.is_array(x) and framework.dtype_of(x) == self.dtype]
        inputs = [named[name] for name in names]

        def of_inputs(others: Any) -> Any:
            replaced = {id(x): y for x, y in zip(inputs, others, strict=True)}
            arrays, keywords = tree_map(lambda x: replaced.get(id(x), x), (list(self.arrays), self.keywords))
            return function(*arrays, **keywords)

        return of_inputs, names, inputs
