"""The backward pass of a framework: from cotangents of an operation's results to the gradients of its inputs.

Several results are a tuple, and so are their cotangents, with None where a result has none. The functions are methods of
`Framework`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .states import SOME_ALONE, make_inputs
from .ways_of_calling import VJP


def linearize(self: Any, function: Callable[[Any], Any], inputs: list[Any]) -> tuple[Any, Callable[[Any], Any]]:
    """Return function(inputs), and a function from a cotangent to the gradients, which can be called more than once."""
    if self.state == VJP:
        return _linearize_by_transform(self, function, inputs)
    if self.differentiates == "autograd":
        return _linearize_by_autograd(self, function, inputs)
    if self.differentiates == "vjp":
        y, pull = self.module.vjp(lambda *x: function(x), *inputs)

        def pull_back(cotangent: Any) -> Any:
            cotangents = _complete(self, y, cotangent)
            return pull(tuple(cotangents) if isinstance(y, tuple) else cotangents[0])

        return y, pull_back
    y = function(inputs)
    return y, lambda cotangent: self.xp.vjp(lambda *x: function(x), inputs, _complete(self, y, cotangent))[1]


def _linearize_by_autograd(framework: Any, function: Callable[[Any], Any], inputs: list[Any]) -> tuple[Any, Callable[[Any], Any]]:
    inputs, asked_for = make_inputs(framework.module, inputs, framework.state)
    grad, y = framework.module.autograd.grad, framework.map_results(framework.as_own_type, function(inputs))
    carries_gradient = any(getattr(result, "requires_grad", False) for result in _as_tuple(y))
    is_empty = bool(inputs) and all(0 in x.shape for x in inputs)  # then each gradient is empty, whatever the results depend on

    def pull_back(cotangent: Any) -> Any:
        asked = list(_pair(framework, y, cotangent))
        dependent = [pair for pair in asked if getattr(pair[0], "requires_grad", False)]
        if is_empty and not dependent:
            return (None,) * len(inputs)
        if not carries_gradient:  # the result can still be compared with that of a call without gradients
            raise NotImplementedError("its result carries no gradient")
        if is_empty or SOME_ALONE.fullmatch(framework.state):  # some results need not depend on what is left
            asked = dependent or asked
        if len(dependent) < len(asked):
            raise NotImplementedError("one of its results carries no gradient")
        results, cotangents = [result for result, _ in asked], [c for _, c in asked]
        found = grad(results, [inputs[i] for i in asked_for], cotangents, retain_graph=True, allow_unused=True)
        by_place = dict(zip(asked_for, found, strict=True))
        return tuple(by_place.get(i) for i in range(len(inputs)))

    return y, pull_back


def _linearize_by_transform(
    framework: Any, function: Callable[[Any], Any], inputs: list[Any]
) -> tuple[Any, Callable[[Any], Any]]:
    y, pull = framework.module.func.vjp(lambda *x: function(x), *inputs)

    def pull_back(cotangent: Any) -> Any:
        cotangents = _complete(framework, y, cotangent)
        return pull(tuple(cotangents) if isinstance(y, tuple) else cotangents[0])

    return y, pull_back


def accumulate(self: Any, function: Callable[[Any], Any], inputs: list[Any], cotangents: list[Any]) -> list[Any]:
    """Return the gradient that each input holds after a backward pass for each cotangent."""
    inputs = [x.detach().requires_grad_() for x in inputs]
    for cotangent in cotangents:
        results, given = zip(*_pair(self, function(inputs), cotangent), strict=True)
        self.module.autograd.backward(list(results), list(given))  # one pass: each of several would round on its own
    return [x.grad for x in inputs]


def _as_tuple(y: Any) -> tuple[Any, ...]:
    return y if isinstance(y, tuple) else (y,)


def _pair(framework: Any, y: Any, cotangent: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each result that has a cotangent, and the cotangent in the dtype of the result."""
    for result, c in zip(_as_tuple(y), cotangent if isinstance(y, tuple) else (cotangent,), strict=True):
        if c is not None:
            yield result, _in_dtype_of(framework, c, result)


def _complete(framework: Any, y: Any, cotangent: Any) -> list[Any]:
    """Return a cotangent for each result, zeros where it has none."""
    pairs = zip(_as_tuple(y), cotangent if isinstance(y, tuple) else (cotangent,), strict=True)
    return [framework.xp.zeros_like(x) if c is None else _in_dtype_of(framework, c, x) for x, c in pairs]


def _in_dtype_of(framework: Any, cotangent: Any, y: Any) -> Any:
    """Return the cotangent in the dtype of its result, which may be wider than the arguments."""
    return (
        cotangent if framework.dtype_of(cotangent) == framework.dtype_of(y) else framework.cast(cotangent, framework.dtype_of(y))
    )
