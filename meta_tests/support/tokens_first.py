"""Any backend of NumPy with tokens before heads. A table of its own says which arrays are exchanged."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np

STATED = "before heads"
AXES = MappingProxyType(  # of each argument and result with tokens: where they stand where heads stand before them
    {
        "linear_attention": {"q": -2, "k": -2, "v": -2, "g": -2, "beta": -1, "out": -2},
        "mamba2_scan": {"x": -2, "dt": -1, "b": -2, "c": -2, "z": -2, "out": -2},
        "linear_attention_gate": {"x": -2, "": -2},
    }
)


def exchange(x: Any, axis: int | None) -> Any:
    return x if x is None or axis is None else np.swapaxes(x, axis - 1, axis)


class TokensFirst:
    """The functions of another backend, which have heads before tokens."""

    framework = "numpy"

    def __init__(self, source: Any, **stated: Any):
        self.name, self.source, self.conventions = "mine", source, {"token_axis": STATED}
        self.__dict__.update(stated)

    def __getattr__(self, name: str) -> Any:
        forward = name.removesuffix("_vjp")
        if forward not in AXES or not hasattr(self.source, name):
            raise AttributeError(name)
        function, results = getattr(self.source, name), [key for key in AXES[forward] if key in ("out", "")]
        wrap = _exchange_gradients if name != forward else _exchange_results
        return wrap(function, AXES[forward], results[0])


def _exchange_results(function: Callable[..., Any], axes: dict[str, int], result: str) -> Callable[..., Any]:
    names = list(inspect.signature(function).parameters)

    def call(*arguments: Any, **keywords: Any) -> Any:
        given = {**dict(zip(names, arguments, strict=False)), **keywords}
        returned = function(**{name: exchange(x, axes.get(name)) for name, x in given.items()})
        return (exchange(returned[0], axes[result]), *returned[1:]) if result else exchange(returned, axes[result])

    return _with_signature(call, function)


def _exchange_gradients(function: Callable[..., Any], axes: dict[str, int], result: str) -> Callable[..., Any]:
    names = list(inspect.signature(function).parameters)

    def call(cotangent: Any, *arguments: Any, **keywords: Any) -> Any:
        given = {**dict(zip(names[1:], arguments, strict=False)), **keywords}
        own = (exchange(cotangent[0], axes[result]), *cotangent[1:]) if result else exchange(cotangent, axes[result])
        found = function(own, **{name: exchange(x, axes.get(name)) for name, x in given.items()})
        return tuple(exchange(x, axes.get(name)) for name, x in zip(names[1:], found, strict=False))

    return _with_signature(call, function)


def _with_signature(call: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    call.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return call
