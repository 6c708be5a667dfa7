"""Sets of indices along an axis and maps from indices to indices, found from examples and said so that they hold at any size.

A number may be a constant, a size, its neighbours, its half, or the end of the last whole block of so many. One call leaves open
which; each is tried on the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from .binding import bound

BLOCKS = (2, 4, 8, 16, 32, 64, 128, 256)
ORDINALS = MappingProxyType({2: "second", 3: "third", 4: "fourth"})
Sizes = Mapping[str, int]


@dataclass(frozen=True)
class Place:
    """A number that depends on the sizes of a call."""

    words: str
    at: Callable[[Sizes], int]
    cost: float = 0.0


@dataclass(frozen=True)
class IndexSet:
    """Some of the indices of an axis. The words have {one} and {many} where an entry and several of the axis are named."""

    words: str
    holds: Callable[[np.ndarray, int, Sizes], np.ndarray]  # of indices, of an axis of this length
    cost: float = 0.0
    is_one: bool = False  # whether it is a single index

    def say(self, one: str, many: str) -> str:
        return self.words.format(one=one, many=many)


@dataclass(frozen=True)
class IndexMap:
    """For each index of an axis, the one whose entry stands there instead."""

    words: str
    source: Callable[[np.ndarray, int, Sizes], np.ndarray]
    cost: float = 0.0

    def say(self, one: str, many: str) -> str:
        return self.words.format(one=one, many=many)


def list_places(value: int, sizes: Sizes) -> Iterator[Place]:
    """Yield the numbers that have this value at these sizes, the constant first."""
    yield Place(str(value), lambda _: value)
    for name, size in sizes.items():
        for more in (0, -1, 1):
            if value == size + more and size:
                yield Place(f"{name} {'+' if more > 0 else '−'} 1" if more else name, _size(name, more), 0.5)
        if size > 2 and value == size // 2:
            yield Place(f"{name} // 2", _half(name), 0.5)
        for block in BLOCKS:
            if value and value == size // block * block != size:
                yield Place(f"the last whole block of {block} in {name}", _rounded(name, block), 0.75)
            if value and value == (size - 1) // block * block != size // block * block:
                yield Place(f"the last block of {block} in {name}", _last(name, block), 0.75)


def _size(name: str, more: int) -> Callable[[Sizes], int]:
    return lambda sizes: sizes.get(name, 0) + more


def _half(name: str) -> Callable[[Sizes], int]:
    return lambda sizes: sizes.get(name, 0) // 2


def _rounded(name: str, block: int) -> Callable[[Sizes], int]:
    return lambda sizes: sizes.get(name, 0) // block * block


def _last(name: str, block: int) -> Callable[[Sizes], int]:
    return lambda sizes: (sizes.get(name, 1) - 1) // block * block


def list_sets(inside: np.ndarray, outside: np.ndarray, sizes: Sizes) -> Iterator[IndexSet]:
    """Yield the sets of indices that hold all of `inside` and none of `outside`, two masks along an axis."""
    length, at = len(inside), np.arange(len(inside))
    if not inside.any() or (inside & outside).any():
        return
    for found in _list_sets(np.flatnonzero(inside), length, sizes):
        held = np.broadcast_to(found.holds(at, length, sizes), inside.shape)
        if held[inside].all() and not held[outside].any() and not held.all():
            yield found


def list_ends(length: int) -> Iterator[IndexSet]:
    """Yield the indices at the ends of an axis of this length: the first, the last, those after whole blocks."""
    yield IndexSet("the last {one}", lambda i, n, s: i == n - 1, is_one=True)
    yield IndexSet("the first {one}", lambda i, n, s: i == 0, is_one=True)
    for block in BLOCKS:
        if length % block and length > block:
            words = f"the {{many}} after the last whole block of {block}"
            yield IndexSet(words, bound(lambda i, n, s, b: (i >= n // b * b) & (n >= b), block), 0.25)


def _list_sets(chosen: np.ndarray, length: int, sizes: Sizes) -> Iterator[IndexSet]:
    first, last = int(chosen[0]), int(chosen[-1])
    yield IndexSet("the last {one}", lambda i, n, s: i == n - 1, is_one=True)
    yield IndexSet("the first {one}", lambda i, n, s: i == 0, is_one=True)
    yield IndexSet("every {one} but the first", lambda i, n, s: i > 0)
    yield IndexSet("every {one} but the last", lambda i, n, s: i < n - 1)
    for step in (2, 3, 4):
        if length > step:
            halves = {0: "the even {many}", 1: "the odd {many}"} if step == 2 else {}
            for rest in range(step):
                said = halves.get(rest, f"every {ORDINALS[step]} {{one}}{f', from {rest} on,' if rest else ''}")
                yield IndexSet(said, bound(lambda i, n, s, p, r: i % p == r, step, rest), 0.25)
    for block in BLOCKS:
        if length > block:
            words = f"the {{many}} after the last whole block of {block}"
            yield IndexSet(words, bound(lambda i, n, s, b: (i >= n // b * b) & (n >= b), block), 0.5)
            yield IndexSet(f"the {{many}} in the first block of {block}", bound(lambda i, n, s, b: i < b, block), 0.5)
            yield IndexSet(
                f"the {{many}} in every second block of {block}", bound(lambda i, n, s, b: i // b % 2 == 1, block), 0.75
            )
            yield IndexSet(f"the first {{one}} of each block of {block}", bound(lambda i, n, s, b: i % b == 0, block), 0.75)
            yield IndexSet(f"the last {{one}} of each block of {block}", bound(lambda i, n, s, b: i % b == b - 1, block), 0.75)
        words = f"the {{many}} after the last whole block of {block}, or all if there is none,"
        yield IndexSet(words, bound(lambda i, n, s, b: i >= n // b * b, block), 0.75)
    yield from _list_in_groups(length, sizes)
    if length % 2 == 0:
        yield IndexSet("the second half of the {many}", lambda i, n, s: i >= n // 2, 0.5)
        yield IndexSet("the first half of the {many}", lambda i, n, s: i < n // 2, 0.5)
    for place in list_places(first, sizes):
        if first:
            yield IndexSet(f"the {{many}} from {place.words} on", bound(lambda i, n, s, p: i >= p.at(s), place), 1 + place.cost)
        if first == last:
            words = f"{{one}} {place.words}"
            yield IndexSet(words, bound(lambda i, n, s, p: i == p.at(s), place), 1 + place.cost, is_one=True)
    for place in list_places(last + 1, sizes):
        yield IndexSet(f"the {{many}} before {place.words}", bound(lambda i, n, s, p: i < p.at(s), place), 1 + place.cost)
    for k in (2, 3, 4):
        yield IndexSet(f"the last {k} {{many}}", bound(lambda i, n, s, k: i >= n - k, k), 1.0)
        yield IndexSet(f"the first {k} {{many}}", bound(lambda i, n, s, k: i < k, k), 1.0)
    if first and (length - first) > 4:
        k = length - first
        yield IndexSet(f"the last {k} {{many}}", lambda i, n, s: i >= n - k, 1.5)


def _list_in_groups(length: int, sizes: Sizes) -> Iterator[IndexSet]:
    """Yield the ends of groups, as of the query heads that share a key/value head."""
    wholes = [name for name, size in sizes.items() if size == length]
    for whole, shared in ((a, b) for a in wholes for b in sizes if 0 < sizes[b] < length and length % sizes[b] == 0):
        in_group = bound(_place_in_group, whole, shared)
        for end, is_end in (("first", bound(_is_place, in_group, 0)), ("last", bound(_is_place, in_group, -1))):
            group = f"of each group of {whole} / {shared}"
            yield IndexSet(f"the {end} {{one}} {group}", is_end, 0.75)
            yield IndexSet(f"every {{one}} but the {end} {group}", bound(_is_not, is_end), 0.75)


def _place_in_group(i: np.ndarray, n: int, sizes: Sizes, whole: str, shared: str) -> tuple[np.ndarray, int]:
    """Return the place of each index in its group, and how many indices a group has."""
    size = max(sizes.get(whole, 0) // max(sizes.get(shared, 1), 1), 1)
    return i % size, size


def _is_place(i: np.ndarray, n: int, sizes: Sizes, in_group: Callable[..., tuple[np.ndarray, int]], place: int) -> np.ndarray:
    at, size = in_group(i, n, sizes)
    return np.asarray(at == place % size)


def _is_not(i: np.ndarray, n: int, sizes: Sizes, holds: Callable[..., np.ndarray]) -> np.ndarray:
    return ~holds(i, n, sizes)


def list_maps(pairs: Mapping[int, int], length: int, sizes: Sizes) -> Iterator[IndexMap]:
    """Yield the maps that take each of these indices to its partner, on an axis of this length."""
    at, to = np.array(list(pairs)), np.array(list(pairs.values()))
    if not len(at):
        return
    for found in _list_maps(at, to, length, sizes):
        source = found.source(np.arange(length), length, sizes)
        if source.min() >= 0 and source.max() < length and (source[at] == to).all():
            yield found


def list_plain_maps(length: int) -> Iterator[IndexMap]:
    """Yield the maps of an axis of this length that depend on no other size."""
    yield IndexMap("the {many} are in reverse order", lambda i, n, s: n - 1 - i)
    yield IndexMap("the first {one} stands for all", lambda i, n, s: 0 * i)
    yield IndexMap("the last {one} stands for all", lambda i, n, s: 0 * i + n - 1)
    yield IndexMap("each {one} is the one before, and the first is the last", lambda i, n, s: (i - 1) % n)
    yield IndexMap("each {one} is the next, and the last is the first", lambda i, n, s: (i + 1) % n)
    yield IndexMap("each {one} is the one before, and the first stays", lambda i, n, s: np.maximum(i - 1, 0))
    yield IndexMap("each {one} is the next, and the last stays", lambda i, n, s: np.minimum(i + 1, n - 1))
    yield IndexMap("neighbours change places in pairs of {many}", lambda i, n, s: np.where(i // 2 * 2 + 1 < n, i ^ 1, i))
    yield IndexMap("the two halves of the {many} change places", lambda i, n, s: (i + n // 2) % n)
    yield IndexMap("the two halves of the {many} are interleaved", lambda i, n, s: i // 2 + i % 2 * (n // 2), 0.25)
    yield IndexMap(
        "even {many} come first, then odd ones", lambda i, n, s: np.where(i < (n + 1) // 2, 2 * i, 2 * i - n | 1), 0.25
    )
    for block in BLOCKS:
        if block < length:
            words = f"the {{many}} are in reverse order within each block of {block}"
            yield IndexMap(words, bound(lambda i, n, s, b: np.minimum(i // b * b + b, n) - 1 - i % b, block), 0.75)
            yield IndexMap(f"{{one}} i is {{one}} i modulo {block}", bound(lambda i, n, s, b: i % b, block), 0.75)
            yield IndexMap(
                f"the first {{one}} of each block of {block} stands for all", bound(lambda i, n, s, b: i // b * b, block), 0.75
            )


def _list_maps(at: np.ndarray, to: np.ndarray, length: int, sizes: Sizes) -> Iterator[IndexMap]:
    yield from list_plain_maps(length)
    for name, size in sizes.items():
        if 1 < size <= length:
            yield IndexMap(f"{{one}} i is {{one}} i modulo {name}", bound(lambda i, n, s, k: i % max(s.get(k, 1), 1), name), 0.5)
            yield IndexMap(f"{{one}} i is {{one}} i // {name}", bound(lambda i, n, s, k: i // max(s.get(k, 1), 1), name), 0.5)
            yield IndexMap(f"the {{many}} are transposed in blocks of {name}", _interleave(name), 0.5)
    shifts = set((to - at).tolist())
    if len(shifts) == 1 and (shift := shifts.pop()) not in (0, 1, -1):
        for place in list_places(abs(shift), sizes):
            sign, words = (1, "+") if shift > 0 else (-1, "−")
            yield IndexMap(
                f"{{one}} i is {{one}} i {words} {place.words}, modulo their number",
                bound(lambda i, n, s, p, sign: (i + sign * p.at(s)) % max(n, 1), place, sign),
                1 + place.cost,
            )
    if len(set(to.tolist())) == 1 and len(to) > 1:
        for place in list_places(int(to[0]), sizes):
            yield IndexMap(
                f"{{one}} {place.words} stands for all", bound(lambda i, n, s, p: 0 * i + p.at(s), place), 1 + place.cost
            )


def _interleave(name: str) -> Callable[[np.ndarray, int, Sizes], np.ndarray]:
    def source(i: np.ndarray, n: int, sizes: Sizes) -> np.ndarray:
        block = max(sizes.get(name, 1), 1)
        return i % block * (n // block) + i // block if n % block == 0 else i

    return source
