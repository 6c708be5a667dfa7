"""Automatic differentiation of one operation by those of its arguments that have a gradient."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..specification.formats import DTYPES
from ..specification.pytree import leaves, tree_map
from .named_results import name_results

if TYPE_CHECKING:
    from .framework import Framework

NO_GRADIENT_MESSAGE = re.compile(r"reverse-mode|::vjp\] not implemented", re.IGNORECASE)

# Forward code that works in place leaves autograd without a gradient: it has changed a leaf, or what the backward pass needs.
CHANGED_IN_PLACE_MESSAGE = re.compile(
    r"a (view of a )?leaf variable that requires grad is being used in an in-?place operation"
    r"|one of the variables needed for gradient computation has been modified by an in-?place operation"
    r"|output \d+ of \w+ is a view and is being modified in-?place"
    r"|a view was created in no_grad mode and is being modified in-?place"
    r"|functions with out=\.\.\. arguments don't support automatic differentiation",
    re.IGNORECASE,
)


@contextmanager
def _translate_no_gradient_error() -> Iterator[None]:
    """Raise NotImplementedError instead of a framework's error if its message says that there is no gradient.

    Some frameworks raise a plain ValueError where they cannot differentiate a kernel or a loop. Autograd raises a RuntimeError
    where the forward code has changed in place what the backward pass needs.
    """
    try:
        yield
    except ValueError as error:
        if not NO_GRADIENT_MESSAGE.search(str(error)):
            raise
        raise NotImplementedError("its result carries no gradient") from error
    except RuntimeError as error:
        if not (found := CHANGED_IN_PLACE_MESSAGE.search(str(error))):
            raise
        raise NotImplementedError(f"its result carries no gradient (autograd: {found[0]})") from error


@dataclass(frozen=True)
class Differentiation:
    """What is differentiated: an operation, at arguments that are arrays of the framework."""

    operation: str
    positional: tuple[str, ...]  # the names of its array arguments
    results: tuple[str, ...]  # the names of its results, () if there is a single one
    arrays: tuple[Any, ...]
    keywords: dict[str, Any]

    def linearize(self, framework: Framework, function: Any) -> tuple[Any, Callable[[Any], dict[str, Any]]]:
        """Return the function's result, and a function from a cotangent to the gradient of each argument by name.

        Several results are a tuple, and so is their cotangent, with None where a result has none.
        Once a backward pass has succeeded there is a gradient: an error of a later one, as where the first has overwritten what
        it saved, is passed on as it is.
        """
        function_of_inputs, names, inputs = self._as_function_of_inputs(framework, function)
        with _translate_no_gradient_error():
            y, pull = framework.linearize(function_of_inputs, inputs)

        has_succeeded = False

        def pull_back(cotangent: Any) -> dict[str, Any]:
            nonlocal has_succeeded
            with nullcontext() if has_succeeded else _translate_no_gradient_error():
                gradients = dict(zip(names, map(framework.force, pull(cotangent)), strict=True))
            has_succeeded = True
            return gradients

        return y, pull_back

    def accumulate(self, framework: Framework, function: Any, cotangents: list[Any]) -> dict[str, Any]:
        """Return the gradient that each argument holds after a backward pass for each cotangent."""
        function_of_inputs, names, inputs = self._as_function_of_inputs(framework, function)
        return dict(zip(names, framework.accumulate(function_of_inputs, inputs, cotangents), strict=True))

    def _as_function_of_inputs(self, framework: Framework, function: Any) -> tuple[Callable[[Any], Any], list[str], list[Any]]:
        """Return the function of the arguments that have a gradient, their names, and their values."""
        arguments = {**dict(zip(self.positional, self.arrays, strict=False)), **self.keywords}
        arrays_by_path = {path: x for name in self.positional for path, x in leaves(arguments.get(name), name)}
        names = [path for path, x in arrays_by_path.items() if framework.is_array(x) and framework.dtype_of(x) in DTYPES]
        inputs = [arrays_by_path[name] for name in names]

        def function_of_inputs(values: Any) -> Any:
            replacements = {id(x): y for x, y in zip(inputs, values, strict=True)}
            arrays, keywords = tree_map(lambda x: replacements.get(id(x), x), (list(self.arrays), self.keywords))
            y = function(*arrays, **keywords)
            if not self.results:
                return y
            kinds = {type(x) for x in values}  # a framework may trace with objects that are no arrays of its own

            def describe(x: Any) -> Any:
                return x if type(x) in kinds else framework.describe_foreign(x)

            return tuple(name_results(self.results, framework.map_results(describe, y)).values())

        return function_of_inputs, names, inputs
