"""Entries of an argument by the rows of a result that count them: the last that a row counts, the one of the smallest weight."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...calls.call import Call
from ...calls.in_domain import sizes_of
from ...specification.pytree import tree_map
from ...specification.registry import Specification
from ..result_parts import map_parts, say_part
from .alternative import Alternative, Named, call_right
from .axes import BATCH, name_axes, plural
from .coefficients import result_for
from .reading import Matrix

MAX_READ = 2048  # entries of an argument whose right weights are read from the equation
MAX_READ_WORK = 8_000_000  # elements of the arguments and results of the calls with one-hot values
MAX_WORK = 4_000_000  # elements of the arguments and results of the calls, one for each set of entries that a row leaves out
Held = Callable[[np.ndarray, Named], np.ndarray]
"""Which entries: a row for each element of a result, and a column for each index of the leading axes of an argument."""


def list_supported(matrix: Matrix, call: Call) -> Iterator[Alternative]:
    """Yield the ways to count entries by what each row of a result counts, if the code leaves some out or weighs none."""
    spec, name, gap = call.operation.spec, call.operation.name, 4 * float(np.sqrt(matrix.unit_roundoff))
    right, used = matrix.right, matrix.used
    largest = np.abs(right).max(initial=0.0)
    support = np.abs(right) > 1e-9 * largest
    if used.ndim == matrix.rank or not support.any() or (np.abs(used)[~support] > gap * largest).any():
        return
    columns = name_axes(spec, matrix.argument, used.ndim - matrix.rank)
    is_of_experts = columns[0] == "expert"
    one = columns[0] if is_of_experts else columns[-2] if len(columns) > 1 else columns[-1]
    one = BATCH[0] if one in BATCH else one  # the entries of all batch axes count together
    of = "" if spec.is_gradient or (is_of_experts and _is_whole(matrix, call)) else f" of {matrix.argument}"
    place = f"in {say_part(spec, matrix.part)}, " if spec.is_gradient or matrix.part else ""
    if (np.abs(used[support] - 1) <= gap).all() and not (np.abs(right[support] - 1) <= gap).all():
        said = f"{place}each {one}{of} counts once, without its weight"
        yield Alternative(name, said, _unweighted(matrix.argument, matrix.part), 0.5)
        return
    left_out = support & (np.abs(used) <= gap * np.abs(right))
    if left_out.any() and not np.array_equal(left_out, support):
        weights, lost = (
            _by_leading_axes(x, matrix.rank, is_of_experts=is_of_experts) for x in (np.where(support, right, 0), left_out)
        )
        for words, held in (*_SETS, *_list_capacities(spec, call, weights != 0, lost != 0)):
            if not np.array_equal(held(weights, call.named), lost != 0):
                continue
            said = f"{place}{words.format(one=one, many=plural(one), of=of)} left out"
            compute, count = _left_out(matrix.argument, matrix.part, held), 2 * weights.shape[1]
            yield Alternative(name, said, compute, 1.0, evaluations=count)


def _is_whole(matrix: Matrix, call: Call) -> bool:
    """Whether the argument is all that an expert adds linearly: beside a bias, its matrix is one of two parts."""
    linear = [name for name in call.operation.spec.declaration.linear if call.named.get(name) is not None]
    return linear == [matrix.argument]


def _by_leading_axes(x: np.ndarray, rank: int, *, is_of_experts: bool) -> np.ndarray:
    """Return a matrix in the rows and columns of `Held`: the largest entries over the axes of the argument that do not lead."""
    columns = x.ndim - rank
    leading = 1 if is_of_experts else max(columns - 1, 1)
    rows, within = int(np.prod(x.shape[:rank])), int(np.prod(x.shape[rank : rank + leading]))
    return np.asarray(np.abs(x.reshape(rows, within, -1)).max(axis=2, initial=0.0))


def _last(weights: np.ndarray, named: Named) -> np.ndarray:
    counted = weights != 0
    return counted & (np.cumsum(counted[:, ::-1], axis=1)[:, ::-1] == 1)


def _first(weights: np.ndarray, named: Named) -> np.ndarray:
    counted = weights != 0
    return counted & (np.cumsum(counted, axis=1) == 1)


def _smallest(weights: np.ndarray, named: Named) -> np.ndarray:
    sizes = np.where(weights != 0, np.abs(weights), np.inf)
    return (sizes == sizes.min(axis=1, keepdims=True)) & (weights != 0)


def _largest(weights: np.ndarray, named: Named) -> np.ndarray:
    return (np.abs(weights) == np.abs(weights).max(axis=1, keepdims=True)) & (weights != 0)


_SETS: tuple[tuple[str, Held], ...] = (
    ("the last {one}{of} that each row counts is", _last),
    ("the first {one}{of} that each row counts is", _first),
    ("all {many}{of} but the last that each row counts are", lambda w, named: (w != 0) & ~_last(w, named)),
    ("all {many}{of} but the first that each row counts are", lambda w, named: (w != 0) & ~_first(w, named)),
    ("the {one}{of} with the smallest weight of each row is", _smallest),
    ("the {one}{of} with the largest weight of each row is", _largest),
    ("all {many}{of} but the one with the largest weight of each row are", lambda w, named: (w != 0) & ~_largest(w, named)),
)


def _list_capacities(spec: Specification, call: Call, counted: np.ndarray, left_out: np.ndarray) -> Iterator[tuple[str, Held]]:
    """Yield the sets of those rows that come after so many others that count the same entry, as beyond an expert's capacity."""
    if spec.is_gradient or "x" not in call.named or call.value.shape != call.named["x"].shape:
        return
    width = max(call.named["x"].shape[-1], 1)
    rows, lost = (np.asarray(x.reshape(-1, width, x.shape[1]).any(axis=1)) for x in (counted, left_out))
    kept = int((rows & ~lost).sum(axis=0).max(initial=0))
    sizes, count = sizes_of(spec, call.named), len(rows)
    k, experts = _count_chosen(call.named), max(sizes.get("experts", 1), 1)
    forms: tuple[tuple[str, Callable[[int, Named], int]], ...] = (
        (str(kept), lambda n, named: kept),
        ("rows · k // experts", lambda n, named: n * _count_chosen(named) // _count_experts(spec, named)),
        ("⌈rows · k / experts⌉", lambda n, named: -(-n * _count_chosen(named) // _count_experts(spec, named))),
    )
    values = (kept, count * k // experts, -(-count * k // experts))
    for (words, at), value in zip(forms, values, strict=True):
        if value == kept and lost.any():
            yield f"in rows beyond the first {words} that count it, the {{one}}{{of}} is", _beyond(at)


def _count_chosen(named: Named) -> int:
    return named["k"] if isinstance(named.get("k"), int) else 1


def _count_experts(spec: Specification, named: Named) -> int:
    return max(sizes_of(spec, named).get("experts", 1), 1)


def _beyond(capacity: Callable[[int, Named], int]) -> Held:
    def held(weights: np.ndarray, named: Named) -> np.ndarray:
        width = named["x"].shape[-1] if "x" in named else 1
        rows = (weights != 0).reshape(-1, width, weights.shape[1]).any(axis=1)
        beyond = rows & (np.cumsum(rows, axis=0) > capacity(len(rows), named))
        return np.repeat(beyond, width, axis=0)

    return held


def _list_together(spec: Specification, named: Named, argument: str) -> dict[str, int]:
    """Return the arguments whose entries count together, each with how many of its axes lead: those of experts, or the one."""
    ranks = {name: len(x.shape) for name, x in named.items() if name in spec.declaration.linear and hasattr(x, "shape")}
    of_experts = {name: 1 for name, rank in ranks.items() if name_axes(spec, name, rank)[0] == "expert"}
    if argument in of_experts:
        return of_experts
    rank = len(named[argument].shape)
    return {argument: rank - 1 if rank > 1 else rank}


def _read_weights(spec: Specification, named: Named, argument: str, part: str) -> np.ndarray:
    """Return the right weights of a result, in rows and columns as `Held` has them."""
    plain = {name: tree_map(_drop_error, x) for name, x in named.items()}
    together = _list_together(spec, named, argument)
    if name_axes(spec, argument, len(named[argument].shape))[0] == "expert":  # an expert's bias has its weight alone
        plain |= {"w2": 0.0 * plain["w2"], "b2": np.zeros(plain["w2"].shape[:2])}
        argument, together = "b2", {"b2": 1}
    x = np.zeros(plain[argument].shape)
    leading = x.shape[: together[argument]]
    if (count := int(np.prod(leading))) > MAX_READ or count * x.size > MAX_READ_WORK:
        raise ValueError("too many entries to read")
    zero = np.asarray(result_for(spec, {**plain, argument: x}, part), dtype=float)
    columns = []
    for index in np.ndindex(leading):
        one = x.copy()
        one[index] = 1.0
        columns.append((np.asarray(result_for(spec, {**plain, argument: one}, part), dtype=float) - zero).ravel())
    return np.stack(columns, axis=1) if columns else np.zeros((zero.size, 0))


def _drop_error(x: Any) -> Any:
    """Return the array or the number that a number type stands for; the first draw, where it has several."""
    value = getattr(x, "value", x)
    if value is x or not isinstance(value, np.ndarray):
        return x
    value = value[0] if value.ndim > x.ndim else value
    return value.item() if value.ndim == 0 else value


def _left_out(argument: str, part: str, held: Held) -> Callable[[Specification, Named], Any]:
    def compute(spec: Specification, named: Named) -> Any:
        right, x = call_right(spec, named), named.get(argument)
        if x is None or not all(x.shape):
            return right
        chosen, together = held(_read_weights(spec, named, argument, part), named), _list_together(spec, named, argument)
        patterns, which = np.unique(chosen, axis=0, return_inverse=True)
        if len(patterns) * (int(np.prod(x.shape)) + len(chosen)) > MAX_WORK:
            raise ValueError("too many rows leave out other entries")

        def count(name: str, y: Any) -> Any:
            if name != part:
                return y
            for number, pattern in enumerate(patterns):
                if pattern.any():
                    kept = {one: _mask(named[one], pattern, leading) for one, leading in together.items()}
                    here = (np.ravel(which) == number).reshape(y.shape)
                    y = np.where(here, result_for(spec, {**named, **kept}, part), y)
            return y

        return map_parts(count, spec, right)

    return compute


def _mask(x: Any, pattern: np.ndarray, leading: int) -> Any:
    """Return an array with zeros in the entries of its leading axes that are left out."""
    shape = (*x.shape[:leading], *(1 for _ in x.shape[leading:]))
    return x * np.broadcast_to(np.where(pattern.reshape(shape), 0.0, 1.0), x.shape)


def _unweighted(argument: str, part: str) -> Callable[[Specification, Named], Any]:
    def compute(spec: Specification, named: Named) -> Any:
        right, x = call_right(spec, named), named.get(argument)
        if x is None or not all(x.shape):
            return right
        counted = (_read_weights(spec, named, argument, part) != 0).astype(float)
        zero = result_for(spec, {**named, argument: x * 0.0}, part)

        def count(name: str, y: Any) -> Any:
            if name != part:
                return y
            width = x.shape[-1] if len(x.shape) > 1 else 1
            rows = counted.reshape(-1, y.shape[-1], counted.shape[1]).any(axis=1).astype(float)
            sums = np.matmul(rows, np.reshape(x, (counted.shape[1], width)))
            return zero + np.reshape(sums, y.shape)

        return map_parts(count, spec, right)

    return compute
