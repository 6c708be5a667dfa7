"""An argument that multiplies another one before the operation, where it should multiply something inside of it.

The order matters where a step between the two is not linear: weights that go through the maximum of relu, a scale before a
normalization, which takes it away again. Where queries are in parts, the scale may also act on one of them alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from reference_numpy._marks import float64

from ...calls.call import Call
from ...specification.registry import Specification, given_dimensions
from .alternative import Alternative, Named, call_right

COST = 1.0
SCALE = "scale"  # of products of queries and keys: 1 / sqrt(d_k) where it is not given


def list_factors_ahead(call: Call) -> Iterator[Alternative]:
    """Yield the right answers to calls in which an argument multiplies another one first, and then counts as 1, or again."""
    spec = call.operation.spec
    if spec.is_gradient:
        return
    for factor, of, is_whole in _list_pairs(spec, call.named):
        said = f"{factor} multiplies {of} before all else, and not where the equation has it"
        yield Alternative(spec.name, said, partial(_compute, factor=factor, of=of, again=False), COST)
        if not is_whole:
            said = f"{factor} multiplies {of} before all else, and also where the equation has it"
            yield Alternative(spec.name, said, partial(_compute, factor=factor, of=of, again=True), COST)
    if SCALE in spec.parameters and len(parts := _list_queries(call.named)) > 1:
        for part in parts:
            yield Alternative(spec.name, f"{SCALE} does not act on {part}", partial(_compute_part, part=part, again=False), COST)
            yield Alternative(spec.name, f"{SCALE} acts on {part} twice", partial(_compute_part, part=part, again=True), COST)


def _list_pairs(spec: Specification, named: Named) -> Iterator[tuple[str, str, bool]]:
    """Yield a factor, an array that it can multiply, and whether it has as many dimensions as that."""
    dimensions = _dimensions(spec, named)
    if SCALE in spec.parameters and _list_queries(named) == ["q"] and _find_scale(named) is not None:
        yield SCALE, "q", False
    for factor, own in dimensions.items():
        for of, labels in dimensions.items():
            if factor != of and own and _is_within(own, labels):
                yield factor, of, own == labels


def _dimensions(spec: Specification, named: Named) -> dict[str, tuple[str, ...]]:
    """Return the dimensions of the real arrays of a call."""
    ranks = {name: x.ndim for name, x in named.items() if hasattr(x, "ndim")}
    return {
        name: tuple(labels)
        for name, labels in given_dimensions(spec, ranks, named).items()
        if _is_real(named.get(name)) and "..." not in labels
    }


def _is_real(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind == "f" and x.size > 0


def _is_within(own: tuple[str, ...], labels: tuple[str, ...]) -> bool:
    """Whether all dimensions of one array are those of another, in the same order, each of them once."""
    return len(set(labels)) == len(labels) and tuple(label for label in labels if label in own) == own


def _list_queries(named: Named) -> list[str]:
    """Return the arrays of queries: one, or the parts of which each query is made."""
    return [name for name in ("q", "q_nope", "q_rope") if len(getattr(named.get(name), "shape", ())) > 1]


def _find_scale(named: Named) -> Any:
    if named.get(SCALE) is not None:
        return named[SCALE]
    width = sum(named[name].shape[-1] for name in _list_queries(named))
    return 1 / math.sqrt(width) if width else None


def _compute(spec: Specification, named: Named, *, factor: str, of: str, again: bool) -> Any:
    if named.get(of) is None or (factor != SCALE and named.get(factor) is None):
        return call_right(spec, named)
    if factor == SCALE:
        changed = {**named, of: float64(named[of]) * _find_scale(named)}
        return call_right(spec, changed if again else {**changed, SCALE: 1.0})
    x, array = float64(named[factor]), float64(named[of])
    ranks = {name: len(named[name].shape) for name in (factor, of)}
    labels = given_dimensions(spec, ranks, named)
    changed = {**named, of: array * np.reshape(x, _spread(x.shape, tuple(labels[factor]), tuple(labels[of])))}
    return call_right(spec, changed if again else {**changed, factor: 0.0 * x + 1.0})


def _compute_part(spec: Specification, named: Named, *, part: str, again: bool) -> Any:
    scale, x = _find_scale(named), float64(named[part])
    return call_right(spec, {**named, part: x * scale if again else x / scale})


def _spread(shape: tuple[int, ...], own: tuple[str, ...], labels: tuple[str, ...]) -> tuple[int, ...]:
    """Return the shape in which an array broadcasts to another one, whose dimensions hold its own."""
    batch, sizes = shape[: len(shape) - len(own)], dict(zip(own, shape[len(shape) - len(own) :], strict=True))
    return (*batch, *(sizes.get(label, 1) for label in labels))
