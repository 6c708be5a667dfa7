"""An operation as a function of those of its arguments alone that have a gradient."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..specification.pytree import leaves, tree_map

if TYPE_CHECKING:
    from .framework import Framework

Arrays = tuple[Any, ...]
Keywords = dict[str, Any]


NO_GRADIENT = re.compile(r"reverse-mode|::vjp\] not implemented", re.IGNORECASE)


@contextmanager
def _where_there_is_a_gradient() -> Iterator[None]:
    """Of a kernel or a loop that they cannot differentiate some frameworks say so in the words of a ValueError alone."""
    try:
        yield
    except ValueError as error:
        if not NO_GRADIENT.search(str(error)):
            raise
        raise NotImplementedError("its result carries no gradient") from error


@dataclass(frozen=True)
class Differentiable:
    operation: str
    positional: tuple[str, ...]  # the names of its arguments
    dtype: str  # of those that have a gradient

    def linearized(
        self, framework: Framework, function: Any, arrays: Arrays, keywords: Keywords
    ) -> tuple[Any, Callable[[Any], dict[str, Any]]]:
        """What the function answers, and what pulls a cotangent back to its arguments, each under its name."""
        of_inputs, names, inputs = self._of_inputs(framework, function, arrays, keywords)
        with _where_there_is_a_gradient():
            y, pull = framework.linearized(of_inputs, inputs)

        def pulled(cotangent: Any) -> dict[str, Any]:
            with _where_there_is_a_gradient():
                return dict(zip(names, map(framework.computed, pull(cotangent)), strict=True))

        return y, pulled

    def accumulated(
        self, framework: Framework, function: Any, arrays: Arrays, keywords: Keywords, cotangents: list[Any]
    ) -> dict[str, Any]:
        of_inputs, names, inputs = self._of_inputs(framework, function, arrays, keywords)
        return dict(zip(names, framework.accumulated(of_inputs, inputs, cotangents), strict=True))

    def _of_inputs(
        self, framework: Framework, function: Any, arrays: Arrays, keywords: Keywords
    ) -> tuple[Callable[[Any], Any], list[str], list[Any]]:
        given = {**dict(zip(self.positional, arrays, strict=False)), **keywords}
        named = {path: x for name in self.positional for path, x in leaves(given.get(name), name)}
        names = [path for path, x in named.items() if framework.is_array(x) and framework.dtype_of(x) == self.dtype]
        inputs = [named[name] for name in names]

        def of_inputs(others: Any) -> Any:
            replaced = {id(x): y for x, y in zip(inputs, others, strict=True)}
            fresh = tree_map(lambda x: replaced.get(id(x), x), (list(arrays), keywords))
            return function(*fresh[0], **fresh[1])

        return of_inputs, names, inputs
