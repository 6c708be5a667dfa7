"""The oracle as a backend: every operation in float64, rounded once. It may contain one deviation."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np

from reference_numpy.causal_mask import causal_mask
from reference_numpy.sliding_window_mask import sliding_window_mask

from ..implementation.lookup import DEVIATING, BackendError
from ..specification.formats import FORMATS, Format, is_floating
from ..specification.pytree import leaves, tree_map
from ..specification.registry import gradients, operations, specification
from ._catalogue import Deviation, catalogue, find
from ._steps import make_rounder


class OracleBackend:
    framework = "numpy"
    conventions: ClassVar = {"causal_alignment": "bottom-right", "fully_masked_rows": "zero"}

    def __init__(self, deviation: Deviation | None = None):
        self.name = "oracle" if deviation is None else f"deviation:{deviation.name}"
        for operation in (*operations(), *gradients()):
            setattr(self, operation, _native(operation, specification(operation).reference))
        if deviation is not None:
            own = _fault if deviation.kind == "fault" else _native
            setattr(self, deviation.operation, own(deviation.operation, deviation.function))


def prepare(name: str, equation: Callable[..., Any], storage: Format) -> Callable[..., Any]:
    """Return the equation of operation `name`, with the extra keywords that it has (`held`, `storage`, `equation`) filled in."""
    given = {"held": make_rounder(storage), "storage": storage, "equation": specification(name).reference}
    asked = inspect.signature(equation).parameters
    return partial(equation, **{key: value for key, value in given.items() if key in asked})


def _native(name: str, equation: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that evaluates the equation on native arrays."""
    spec = specification(name)
    attention = {"is_causal", "q"} <= set(spec.parameters) and not spec.is_gradient

    def operation(*arguments: Any, **keywords: Any) -> Any:
        dtype = next((x.dtype for _, x in leaves([*arguments, keywords]) if is_floating(x)), None)
        storage = FORMATS.get(dtype.name if dtype else str(spec.dtype), FORMATS["float64"])

        def stored(y: Any) -> Any:
            return storage.round(y).astype(dtype or spec.dtype) if getattr(y, "dtype", np.dtype(int)).kind == "f" else y

        ready = prepare(name, equation, storage)
        evaluate = _with_conventions(ready) if attention else ready
        with np.errstate(all="ignore"):
            y = evaluate(*tree_map(_to_float64, list(arguments)), **tree_map(_to_float64, keywords))
            return tree_map(stored, y)

    return _with_the_references_signature(operation, spec.reference)


def _fault(name: str, fault: Callable[..., Any]) -> Callable[..., Any]:
    right = _native(name, specification(name).reference)
    extra: dict[str, Any] = {"memory": {}} if "memory" in inspect.signature(fault).parameters else {}

    def operation(*arguments: Any, **keywords: Any) -> Any:
        return fault(right, *arguments, **keywords, **extra)

    return _with_the_references_signature(operation, specification(name).reference)


def _with_the_references_signature(operation: Callable[..., Any], reference: Callable[..., Any]) -> Callable[..., Any]:
    """Return the operation, which takes what the reference takes. A deviation itself may pass on `**options` that it ignores."""
    operation.__name__ = reference.__name__
    operation.__signature__ = inspect.signature(reference)  # type: ignore[attr-defined]
    return operation


def _to_float64(x: Any) -> Any:
    return x.astype(np.float64) if is_floating(x) else x


def _with_conventions(attention: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function, which does what `OracleBackend.conventions` states where the equation is undefined."""

    def settled(q: Any, k: Any, v: Any, mask: Any = None, **keywords: Any) -> Any:
        n, m = q.shape[-2], k.shape[-2]
        masked = {} if mask is None else {"mask": mask}
        try:
            y = attention(q, k, v, **masked, **keywords)
        except ValueError:
            aligned = causal_mask(n=n, m=m)
            mask = aligned if mask is None else np.logical_and(mask, aligned)
            y = attention(q, k, v, mask=mask, **{**keywords, "is_causal": False})
        if "window" in keywords:
            mask = sliding_window_mask(n=n, m=m, window=keywords["window"], is_causal=keywords.get("is_causal", False))
        if mask is None or not m:
            return y
        seen = np.any(np.broadcast_to(mask, (*mask.shape[:-1], m)), axis=-1)
        return y if np.all(seen) else np.where(seen[..., None] | ~np.isnan(y), y, 0.0)

    return settled


def backend(name: str) -> OracleBackend:
    """Return the oracle as a backend, with the deviation of this id in it."""
    if (found := find(name)) is None:
        near = difflib.get_close_matches(name, catalogue(), n=3, cutoff=0.4)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise BackendError(
            f"--backend={DEVIATING}{name}: the catalogue has no such deviation.{hint} --list-deviations prints it."
        )
    return OracleBackend(found)
