"""Steps that wrong code takes and the equations do not. Lines changed by a rule may call them; they take any number type."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import Any

import numpy as np

from reference_numpy._marks import finite_or_zero

from ....specification.formats import FORMATS, Format

NARROW = MappingProxyType({**FORMATS, "tf32": Format("tf32", 11, -126, 127)})


def held(x: Any, name: str) -> Any:
    """x rounded to the format of that name."""
    f = NARROW[name]
    return x.held(f) if hasattr(x, "held") else f.round(x)


def at_most(x: Any, limit: Any) -> Any:
    """x, but no more than the limit."""
    return -np.maximum(-x, -limit)


def exp2(x: Any) -> Any:
    """2 to the power of x."""
    return np.exp(x * math.log(2))


def log2(x: Any) -> Any:
    """The logarithm of x to the base 2."""
    return np.log(x) / math.log(2)


def ties_away_from_zero(x: Any) -> Any:
    """x rounded to the nearest integer, the one away from zero of two."""
    return np.trunc(x + np.copysign(0.5, x))


def ties_toward_zero(x: Any) -> Any:
    """x rounded to the nearest integer, the one toward zero of two."""
    return np.copysign(np.ceil(np.abs(x) - 0.5), x)


def ties_upward(x: Any) -> Any:
    """x rounded to the nearest integer, the larger one of two."""
    return np.floor(x + 0.5)


def rounded_away(x: Any) -> Any:
    """x rounded to the next integer away from zero."""
    return np.copysign(np.ceil(np.abs(x)), x)


def smallest(x: Any, *, axis: int, keepdims: bool = False) -> Any:
    """The smallest element along the axis."""
    return -np.max(-x, axis=axis, keepdims=keepdims)


def first_of(x: Any, axis: int) -> Any:
    """x with its first entry along the axis in the place of every entry."""
    return np.repeat(x[_at(x, axis, slice(0, 1))], x.shape[axis], axis=axis) if -len(x.shape) <= axis else x


def last_of(x: Any, axis: int) -> Any:
    """x with its last entry along the axis in the place of every entry."""
    return np.repeat(x[_at(x, axis, slice(-1, None))], x.shape[axis], axis=axis) if -len(x.shape) <= axis else x


def only_first(x: Any, axis: int) -> Any:
    """x with zeros in the place of all but the first entry along the axis."""
    return np.where(_places(x, axis) == 0, x, 0.0) if -len(x.shape) <= axis else x


def only_last(x: Any, axis: int) -> Any:
    """x with zeros in the place of all but the last entry along the axis."""
    return np.where(_places(x, axis) == x.shape[axis] - 1, x, 0.0) if -len(x.shape) <= axis else x


def without_first(x: Any, axis: int) -> Any:
    """x with zeros in the place of the first entry along the axis."""
    return np.where(_places(x, axis) == 0, 0.0, x) if -len(x.shape) <= axis else x


def without_last(x: Any, axis: int) -> Any:
    """x with zeros in the place of the last entry along the axis."""
    return np.where(_places(x, axis) == x.shape[axis] - 1, 0.0, x) if -len(x.shape) <= axis else x


def cut_after(x: Any, axis: int, size: int) -> Any:
    """x with zeros from entry number `size` along the axis on."""
    return np.where(_places(x, axis) < size, x, 0.0) if -len(x.shape) <= axis else x


def without_tail(x: Any, axis: int, block: int) -> Any:
    """x with zeros beyond the last whole block along the axis, where there is more than one block."""
    n = x.shape[axis] if -len(x.shape) <= axis else 0
    return np.where(_places(x, axis) < n // block * block, x, 0.0) if n > block else x


def whole_blocks(x: Any, axis: int, block: int) -> Any:
    """x with zeros beyond the last whole block along the axis."""
    return np.where(_places(x, axis) < x.shape[axis] // block * block, x, 0.0) if -len(x.shape) <= axis else x


def delayed(x: Any, axis: int) -> Any:
    """x moved by one entry along the axis; the first entry becomes 0."""
    if -len(x.shape) > axis:
        return x
    moved = np.concatenate([x[_at(x, axis, slice(0, 1))], x[_at(x, axis, slice(0, -1))]], axis=axis)
    return np.where(_places(x, axis) > 0, moved, 0.0)


def reversed_along(x: Any, axis: int) -> Any:
    """x in the opposite order along the axis."""
    return x[_at(x, axis, slice(None, None, -1))] if -len(x.shape) <= axis else x


def rolled(x: Any, axis: int) -> Any:
    """x moved by one entry along the axis; the last entry becomes the first."""
    return (
        np.concatenate([x[_at(x, axis, slice(-1, None))], x[_at(x, axis, slice(0, -1))]], axis=axis)
        if -len(x.shape) <= axis
        else x
    )


def transposed_if_square(x: Any) -> Any:
    """x with its last two axes exchanged, where they are as long as each other."""
    return np.swapaxes(x, -1, -2) if len(x.shape) > 1 and x.shape[-1] == x.shape[-2] else x


def reinterpreted(x: Any, a: int, b: int) -> Any:
    """x read from memory as if its axes a and b were stored in the other order."""
    shape = list(x.shape)
    shape[a], shape[b] = shape[b], shape[a]
    return np.swapaxes(np.reshape(x, tuple(shape)), a, b)


def in_turn(x: Any, count: int, axis: int) -> Any:
    """x repeated as a whole along the axis, not entry by entry."""
    return np.concatenate([x] * count, axis=axis)


def power_of_two_above(n: int) -> int:
    """The smallest power of two that is not below n."""
    return 1 << (max(int(n), 1) - 1).bit_length()


def power_of_two_below(n: int) -> int:
    """The largest power of two that is not above n."""
    return 1 << (max(int(n), 1).bit_length() - 1)


def rounded_up(n: int, block: int) -> int:
    """n rounded up to a multiple of the block."""
    return -(-int(n) // block) * block


def whole_blocks_of(n: int, block: int) -> int:
    """n rounded down to a multiple of the block."""
    return int(n) // block * block


def fraction_of(n: Any, m: Any) -> Any:
    """n / m, infinite where m is 0."""
    return n / m if m else math.inf


def exchanged(a: Any, b: Any) -> Any:
    """a and b in the other order, where they have the same shape."""
    same = a is not None and b is not None and a.shape == b.shape
    return (b, a) if same else (a, b)


def ones_in_tail(x: Any, axis: int, block: int) -> Any:
    """x with ones beyond the last whole block along the axis."""
    return np.where(_places(x, axis) < x.shape[axis] // block * block, x, 1.0) if -len(x.shape) <= axis else x


def along(x: Any, axis: int) -> int:
    """The axis, or the first one where there are fewer."""
    return max(axis, -len(x.shape))


def no_exception(x: Any) -> Any:
    """A mask in which every entry counts."""
    return np.full(np.shape(x), True)


def all_of(x: Any) -> Any:
    """All elements of x in one row."""
    return np.reshape(x, (math.prod(x.shape),))


def head_of(x: Any, axis: int, size: int) -> Any:
    """The first entries of x along the axis, so many."""
    return x[_at(x, axis, slice(0, size))] if -len(x.shape) <= axis else x


def tail_of(x: Any, axis: int, size: int) -> Any:
    """The last entries of x along the axis, so many."""
    return x[_at(x, axis, slice(-size, None))] if -len(x.shape) <= axis else x


def tail_from(x: Any, axis: int, start: int) -> Any:
    """x from that entry along the axis on, where it has more."""
    return x[_at(x, axis, slice(start, None))] if x.shape[axis] > start else x


def head_without(x: Any, axis: int, count: int) -> Any:
    """x without its last entries along the axis, where it has more."""
    return x[_at(x, axis, slice(0, -count))] if x.shape[axis] > count else x


def cut_to_blocks(x: Any, axis: int, block: int) -> Any:
    """The whole blocks of x along the axis, where there is more than one."""
    n = x.shape[axis]
    return x[_at(x, axis, slice(0, n // block * block))] if n > block else x


def maximum_so_far(x: Any, axis: int, block: int) -> Any:
    """The maximum of each block along the axis and of all blocks before it, in the place of each entry."""
    n, maxima, largest = x.shape[axis], [], None
    for start in range(0, n, block):
        part = x[_at(x, axis, slice(start, start + block))]
        own = np.max(part, axis=axis, keepdims=True)
        largest = own if largest is None else np.maximum(largest, own)
        maxima.append(np.repeat(largest, part.shape[axis], axis=axis))
    return np.concatenate(maxima, axis=axis)


def finite_maximum_so_far(x: Any, axis: int, block: int) -> Any:
    """The maximum so far, and 0 where all entries so far are -inf. Most kernels guard there, since -inf - (-inf) is NaN."""
    return finite_or_zero(maximum_so_far(x, axis, block))


def maximum_before_the_rest(x: Any, axis: int, block: int) -> Any:
    """The maximum of all whole blocks along the axis in the place of their entries, and that of all in the place of the rest."""
    n, own = x.shape[axis], np.max(x, axis=axis, keepdims=True)
    whole = n // block * block
    if whole in (0, n):
        return own
    first = np.max(x[_at(x, axis, slice(0, whole))], axis=axis, keepdims=True)
    return np.where(_places(x, axis) < whole, first, own)


def finite_maximum_before_the_rest(x: Any, axis: int, block: int) -> Any:
    """The same, and 0 where all entries are -inf."""
    return finite_or_zero(maximum_before_the_rest(x, axis, block))


def means_of_blocks(x: Any, axis: int, block: int) -> Any:
    """The mean of each block along the axis."""
    n = x.shape[axis]
    parts = [x[_at(x, axis, slice(start, start + block))] for start in range(0, n, block)]
    return np.concatenate([np.mean(part, axis=axis, keepdims=True) for part in parts], axis=axis) if n > block else x


def along_rest(function: Any, x: Any, axis: int) -> Any:
    """A reduction of x along the axis and all axes after it."""
    for each in range(axis % len(x.shape), len(x.shape)):
        x = function(x, axis=each, keepdims=True)
    return x


def padded(x: Any, axis: int, size: int) -> Any:
    """x with zeros after its last entry along the axis, until there are so many."""
    missing = size - x.shape[axis]
    if missing <= 0 or not x.shape[axis]:
        return x
    filling = np.repeat(x[_at(x, axis, slice(-1, None))], missing, axis=axis)
    return np.concatenate([x, np.where(np.zeros(filling.shape, dtype=bool), filling, 0.0)], axis=axis)


def as_long_as(like: Any, x: Any, axis: int) -> Any:
    """The first entries of x along the axis, as many as the other array has; x itself where the axis is reduced."""
    return head_of(x, axis, like.shape[axis]) if len(x.shape) == len(like.shape) else x


def first_entry(x: Any, count: int) -> Any:
    """x with its first entry in the place of every entry, along all axes but the last so many."""
    for axis in range(max(len(x.shape) - count, 0)):
        x = np.repeat(x[_at(x, axis, slice(0, 1))], x.shape[axis], axis=axis)
    return x


def some_rows(x: Any, start: int, end: int | None) -> Any:
    """x with zeros in all rows but those from number `start` up to `end`, counted through all axes but the last."""
    rows = np.reshape(np.arange(rows_of(x)), (*x.shape[:-1], 1))
    first, last, _ = slice(start, end).indices(rows.size)
    return np.where((rows >= first) & (rows < last), x, 0.0)


def rows_of(x: Any) -> int:
    """The number of rows of x, at least 1."""
    return max(math.prod(x.shape[:-1]), 1)


def compounded(x: Any) -> Any:
    """The fast exponential (1 + x/256)^256."""
    y = np.maximum(1 + x / 256, 0.0)
    for _ in range(8):
        y = np.square(y)
    return y


def _at(x: Any, axis: int, place: slice) -> tuple[slice, ...]:
    index = [slice(None)] * len(x.shape)
    index[axis] = place
    return tuple(index)


def _places(x: Any, axis: int) -> Any:
    """Return the number of each entry along an axis, shaped so that it broadcasts to x."""
    n = x.shape[axis]
    return np.reshape(np.arange(n), (n, *[1] * (len(x.shape) - 1 - axis % len(x.shape))))
