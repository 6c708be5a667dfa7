"""Where the ranks have an array: whole, cut, as summands, or one of these along each axis of a mesh of ranks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Literal

import numpy as np

from ..processes.message import ProcessArray
from ..specification.formats import FORMATS
from .shards import ORDERS, Cut, split_names

PARTIAL: Literal["partial"] = "partial"
FORMS = "give an axis, None for the whole array, 'partial', a pair as (-2, 'zigzag'), or a dict as {'axis': 0, 'heads': 8}"


@dataclass(frozen=True)
class Partial:
    """Each rank has a summand of the array, as before an all-reduce."""


@dataclass(frozen=True)
class OnMesh:
    """A placement along each axis of a mesh of ranks, whose last axis has neighbouring ranks, as those of torch's DeviceMesh."""

    mesh: tuple[int, ...]
    placements: tuple[Cut | Partial | None, ...]


Placement = Cut | Partial | OnMesh | None


# --- what a backend states ------------------------------------------------------------------------------------------------


def as_placement(stated: Any, mesh: Mapping[str, int] | None = None) -> Placement:
    """Return what a backend states of one array. Raise ValueError if it is of no known form.

    >>> as_placement(-1), as_placement((0, "zigzag")).order, as_placement(None), as_placement("partial")
    (Cut(axis=-1, order='contiguous', heads=(), fused=()), 'zigzag', None, Partial())
    >>> as_placement({"dp": 0, "tp": "partial"}, {"dp": 2, "tp": 3}).mesh
    (2, 3)
    """
    if isinstance(stated, Mapping) and mesh and stated and stated.keys() <= mesh.keys():
        placements = tuple(as_placement(stated.get(name)) for name in mesh)
        return OnMesh(tuple(mesh.values()), tuple(x for x in placements if not isinstance(x, OnMesh)))
    if isinstance(stated, str) and stated == PARTIAL:
        return Partial()
    return as_cut(stated)


def as_cut(stated: Any) -> Cut | None:
    """Return what a backend states of an array that is whole or cut. Raise ValueError if it is neither.

    >>> as_cut({"axis": 0, "heads": ("num_heads", 2, 2)}).heads
    ('num_heads', 2, 2)
    """
    if stated is None:
        return None
    fields = dict(stated) if isinstance(stated, Mapping) else _as_fields(stated)
    heads, fused = _as_tuple(fields.pop("heads", ())), _as_tuple(fields.pop("fused", ()))
    order, axis = fields.pop("order", ORDERS[0]), fields.pop("axis", None)
    are_counts = all(isinstance(x, str) or _is_count(x) for x in heads) and all(map(_is_count, fused))
    if fields or type(axis) is not int or order not in ORDERS or not are_counts or (heads and fused):
        raise ValueError(f"{stated!r}; {FORMS}")
    return Cut(axis, order, heads, fused)


def _as_fields(stated: Any) -> dict[str, Any]:
    is_pair = isinstance(stated, list | tuple) and len(stated) == 2
    return dict(zip(("axis", "order"), stated, strict=True)) if is_pair else {"axis": stated}


def _as_tuple(stated: Any) -> tuple[Any, ...]:
    return tuple(stated) if isinstance(stated, list | tuple) else (stated,)


def _is_count(x: Any) -> bool:
    return type(x) is int and x > 0


def list_names(placement: Placement) -> list[str]:
    """Return the names of arguments that a placement needs the numbers of."""
    cuts = placement.placements if isinstance(placement, OnMesh) else (placement,)
    return [name for cut in cuts if isinstance(cut, Cut) for x in cut.heads if isinstance(x, str) for name in split_names(x)]


def is_sum(placement: Placement) -> bool:
    """Whether the array is a sum of what some ranks have.

    >>> is_sum(as_placement({"tp": "partial"}, {"dp": 2, "tp": 2})), is_sum(as_placement(-1))
    (True, False)
    """
    parts = placement.placements if isinstance(placement, OnMesh) else (placement,)
    return any(isinstance(part, Partial) for part in parts)


# --- what the ranks are given, and what they answer -----------------------------------------------------------------------


def settle(placement: Placement, named: Mapping[str, Any]) -> Placement:
    """Return the placement with the numbers of heads of one call. Raise ValueError if the call lacks one."""
    if isinstance(placement, OnMesh):
        placements = tuple(cut.at(named) if isinstance(cut, Cut) else cut for cut in placement.placements)
        return OnMesh(placement.mesh, placements)
    return placement.at(named) if isinstance(placement, Cut) else placement


def of_gradient(placement: Placement) -> Placement:
    """Return where the gradient of such an array is: each summand has the whole one."""
    if isinstance(placement, OnMesh):
        return OnMesh(placement.mesh, tuple(x if isinstance(x, Cut) else None for x in placement.placements))
    return None if isinstance(placement, Partial) else placement


def divide(placement: Placement, x: ProcessArray, world_size: int) -> list[ProcessArray]:
    """Return what each rank has of an array. Raise ValueError or IndexError if it does not fit."""
    match placement:
        case None:
            return [x] * world_size
        case Partial():
            return [ProcessArray(x.dtype, part) for part in _split_numbers(x, world_size)]
        case OnMesh((first, *others), (along, *rest)):
            inner = OnMesh(tuple(others), tuple(rest))
            return [part for piece in divide(along, x, first) for part in divide(inner, piece, prod(others))]
        case OnMesh():
            return [x]
        case Cut():
            return [ProcessArray(x.dtype, part) for part in placement.split(x.values, world_size)]


def unite(placement: Placement, pieces: Sequence[ProcessArray | None]) -> list[ProcessArray]:
    """Return the whole array that each rank has answered, or has a part of. Raise ValueError or IndexError if they do not fit.

    A rank may answer None for a summand of zeros.
    """
    return [*map(_require, _unite(placement, pieces))]


def _require(piece: ProcessArray | None) -> ProcessArray:
    if piece is None:
        raise ValueError("a rank has no array")
    return piece


def _unite(placement: Placement, pieces: Sequence[ProcessArray | None]) -> list[ProcessArray | None]:
    match placement:
        case None:
            return [*pieces]
        case Partial():
            whole = _add([piece for piece in pieces if piece is not None])
        case OnMesh((_, *others), (along, *rest)):
            return _unite_along(along, OnMesh(tuple(others), tuple(rest)), pieces)
        case OnMesh():
            return [*pieces]
        case Cut():
            parts = [*map(_require, pieces)]
            whole = ProcessArray(_common_dtype(parts), placement.join([part.values for part in parts]))
    return [whole] * len(pieces)


def _unite_along(along: Cut | Partial | None, inner: OnMesh, pieces: Sequence[ProcessArray | None]) -> list[ProcessArray | None]:
    """Unite the parts along the other axes of the mesh first, then those along its first axis."""
    size = prod(inner.mesh)
    groups = [_unite(inner, pieces[start : start + size]) for start in range(0, len(pieces), size)]
    columns = [_unite(along, column) for column in zip(*groups, strict=True)]
    return [whole for row in zip(*columns, strict=True) for whole in row]


def _common_dtype(pieces: Sequence[ProcessArray]) -> str:
    """Return the dtype of the pieces; of several, one that is not that of the first, so that it is seen."""
    return next((piece.dtype for piece in pieces if piece.dtype != pieces[0].dtype), pieces[0].dtype)


def _add(pieces: Sequence[ProcessArray]) -> ProcessArray:
    """Return the sum of the ranks' summands, rounded once to their dtype. There is at least one."""
    dtype, arrays = _common_dtype(pieces), [piece.values for piece in pieces]
    if len({x.shape for x in arrays}) > 1 or arrays[0].dtype.kind != "f":
        raise ValueError("summands have one shape and are numbers")
    total = np.sum(np.stack(arrays).astype(np.longdouble), axis=0)
    narrow = dtype in FORMATS and dtype not in ("float32", "float64")
    return ProcessArray(dtype, (FORMATS[dtype].round(total.astype(np.float64)) if narrow else total).astype(arrays[0].dtype))


def _split_numbers(x: ProcessArray, world_size: int) -> Iterable[np.ndarray]:
    """Yield summands of the numbers, one for each rank, whose sum in any order is exact.

    Each has some of the bits of a significand, so that every partial sum is a number of the format. Which rank has the leading
    bits changes from element to element.

    >>> [list(map(float, part)) for part in _split_numbers(ProcessArray("float64", np.array([3.0, -3.0])), 2)]
    [[3.0, -0.0], [0.0, -3.0]]
    """
    if x.values.dtype.kind != "f":
        raise ValueError("summands are of floating-point numbers alone")
    bits = FORMATS[x.dtype].precision if x.dtype in FORMATS else np.finfo(x.values.dtype).nmant + 1
    values = np.asarray(x.values, dtype=np.float64)
    is_finite, first = np.isfinite(values), np.arange(values.size).reshape(values.shape) % world_size
    fraction, exponent = np.frexp(np.where(is_finite, np.abs(values), 0.0))
    whole = np.ldexp(fraction, bits).astype(np.int64)
    edges = [bits * number // world_size for number in range(world_size, -1, -1)]  # of the leading bits first
    for rank in range(world_size):
        own = (rank - first) % world_size  # the number of the segment of bits that the rank has of each element
        mask = np.zeros(values.shape, dtype=np.int64)
        for number in range(world_size):
            mask = np.where(own == number, (1 << edges[number]) - (1 << edges[number + 1]), mask)
        part = np.copysign(np.ldexp((whole & mask).astype(np.float64), exponent - bits), values)
        yield np.where(is_finite, part, np.where(own == 0, values, 0.0)).astype(x.values.dtype)
