"""The oracle as a backend: every operation in float64, rounded once. It may contain one deviation."""

from __future__ import annotations

import difflib
import importlib
import inspect
from collections.abc import Callable
from functools import cache, cached_property, partial
from typing import Any, ClassVar

import numpy as np

from ..implementation.lookup import DEVIATION_PREFIX, BackendError
from ..specification.conventions import apply_conventions
from ..specification.formats import FORMATS, WIDER, Format, is_floating
from ..specification.pytree import leaves, tree_map
from ..specification.registry import gradients, operations, specification
from ._carried import CARRIERS, with_codes
from ._catalogue import Deviation, catalogue, find
from ._steps import make_rounder


class OracleBackend:
    framework = "numpy"
    conventions: ClassVar[dict[str, str]] = {
        "causal_alignment": "bottom-right",
        "fully_masked_rows": "zero",
        "lse_base": "e",
        "softcap_bias": "after",
    }
    carriers: ClassVar[dict[str, str]] = dict(CARRIERS)

    def __init__(self, deviation: Deviation | None = None):
        self.name = "oracle" if deviation is None else f"deviation:{deviation.name}"
        if deviation is not None:
            wrap = _wrap_fault if deviation.kind == "fault" else _wrap_equation
            setattr(self, deviation.operation, wrap(deviation.operation, deviation.function))

    def __getattr__(self, name: str) -> Any:
        """Return an operation when it is first asked for: the search for a cause asks for few."""
        if name not in {*operations(), *gradients()}:
            raise AttributeError(f"the oracle has no operation {name!r}")
        return _wrap_reference(name, specification(name).reference)

    @cached_property
    def domain(self) -> dict[str, Any]:
        return _find_domain()


@cache
def _find_domain() -> dict[str, Any]:
    """Return the weights that some operations may lack, and what is stated of another one."""
    optional = {name: {"weights": specification(name).declaration.optional_weights} for name in operations()}
    caches = {name: {"slot_scales": True} for name in operations() if "k_scale" in specification(name).parameters}
    weights = {name: stated for name, stated in optional.items() if stated["weights"]}
    return weights | caches | {"penalize_logits": {"padding": True}}


def put_into_oracle(operation: str, equation: Callable[..., Any]) -> OracleBackend:
    """Return the oracle as a backend, in which one operation has another equation."""
    oracle = OracleBackend()
    setattr(oracle, operation, _wrap_equation(operation, equation))
    return oracle


def prepare(
    name: str, equation: Callable[..., Any], storage: Format, otherwise: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """Return the equation of operation `name`, with the extra keywords that it has (`held`, `storage`, `equation`) filled in.

    A deviation need not have every optional argument of the operation. The function `with_options` in the operation's file of
    deviations adds those that all of them lack. Without it, the right equation is evaluated where such an argument is given, or
    `otherwise`.
    """
    spec = specification(name)
    values = {"held": make_rounder(storage), "storage": storage, "equation": spec.reference}
    parameters = inspect.signature(equation).parameters
    filled = partial(equation, **{key: value for key, value in values.items() if key in parameters})
    if any(p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL) for p in parameters.values()):
        return filled
    defaults = {key: p.default for key, p in spec.parameters.items() if p.default is not p.empty and key not in parameters}
    if not defaults:
        return filled
    with_options = getattr(importlib.import_module(f"{__package__}.{name}"), "with_options", None)
    return with_options(filled) if with_options else _fall_back(filled, otherwise or spec.reference, defaults)


def _fall_back(equation: Callable[..., Any], otherwise: Callable[..., Any], defaults: dict[str, Any]) -> Callable[..., Any]:
    """Return the equation, replaced by another for calls that give another value than the default of an argument."""
    signature = inspect.signature(otherwise)

    def evaluate(*arguments: Any, **keywords: Any) -> Any:
        given = signature.bind(*arguments, **keywords).arguments
        if any(not _is_default(given[name], default) for name, default in defaults.items() if name in given):
            return otherwise(*arguments, **keywords)
        lacking = {name for name in given if name in defaults}
        positional = [name for name in list(signature.parameters)[: len(arguments)] if name not in lacking]
        return equation(*(given[name] for name in positional), **{k: v for k, v in keywords.items() if k not in lacking})

    return evaluate


def _is_default(value: Any, default: Any) -> bool:
    """Whether an argument has its default value. A number may carry an error."""
    plain = getattr(value, "value", value)
    return plain is default or (default is not None and np.ndim(plain) == 0 and bool(plain == default))


def _wrap_equation(name: str, equation: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that evaluates the equation on native arrays in float64 and rounds the result to their dtype."""
    spec = specification(name)

    def operation(*arguments: Any, **keywords: Any) -> Any:
        dtype = next((x.dtype for _, x in leaves([*arguments, keywords]) if is_floating(x)), None)
        storage = FORMATS.get(dtype.name if dtype else str(spec.dtype), FORMATS["float64"])
        wide = [rule == WIDER for rule in spec.results.values()]
        if spec.is_gradient:
            wide = [name in spec.declaration.wide_arguments for name in spec.positional[1:]]

        def store(y: Any, *, wide: bool = False) -> Any:
            if getattr(y, "dtype", np.dtype(int)).kind != "f":
                return y
            if wide and storage.precision < 24:
                return np.asarray(y).astype(np.float32)
            return storage.round(y).astype(dtype or spec.dtype)

        evaluate = apply_conventions(prepare(name, equation, storage), name, OracleBackend.conventions)
        if spec.declaration.formats:
            with np.errstate(all="ignore"):
                on_codes = with_codes(spec, evaluate, store)
                return on_codes(*tree_map(_to_float64, list(arguments)), **tree_map(_to_float64, keywords))
        with np.errstate(all="ignore"):
            y = evaluate(*tree_map(_to_float64, list(arguments)), **tree_map(_to_float64, keywords))
            if spec.list_like and len(y) == len(arguments[0]):  # each result has the dtype of its own array
                return [FORMATS[x.dtype.name].round(part).astype(x.dtype) for part, x in zip(y, arguments[0], strict=True)]
            if not any(wide):
                return tree_map(store, y)
            if not spec.is_gradient and not spec.has_several_results:
                return store(np.asarray(y), wide=True)
            return tuple(tree_map(partial(store, wide=is_wide), x) for x, is_wide in zip(y, wide, strict=True))

    return _set_signature(operation, spec.reference)


_wrap_reference = cache(_wrap_equation)  # all oracles have the same functions


def _wrap_fault(name: str, fault: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls the fault with the right function as its first argument."""
    right = _wrap_reference(name, specification(name).reference)
    extra: dict[str, Any] = {"memory": {}} if "memory" in inspect.signature(fault).parameters else {}

    def operation(*arguments: Any, **keywords: Any) -> Any:
        return fault(right, *arguments, **keywords, **extra)

    return _set_signature(operation, specification(name).reference)


def _set_signature(operation: Callable[..., Any], reference: Callable[..., Any]) -> Callable[..., Any]:
    """Give the operation the name and signature of the reference. A deviation itself may pass on `**options` that it ignores."""
    operation.__name__ = reference.__name__
    operation.__signature__ = inspect.signature(reference)  # type: ignore[attr-defined]
    return operation


def _to_float64(x: Any) -> Any:
    return x.astype(np.float64) if is_floating(x) else x


def backend(name: str) -> OracleBackend:
    """Return the oracle as a backend, with the deviation of this id in it."""
    if (found := find(name)) is None:
        near = difflib.get_close_matches(name, catalogue(), n=3, cutoff=0.4)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise BackendError(
            f"--backend={DEVIATION_PREFIX}{name}: the catalogue has no such deviation.{hint} --list-deviations prints it."
        )
    return OracleBackend(found)
