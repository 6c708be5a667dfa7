"""Attention in splits of the keys, in which a key counts more than once: where splits, or blocks at their ends, overlap."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice, product, zip_longest
from types import MappingProxyType
from typing import Any

import numpy as np

from reference_numpy._pages import gathered

from ...calls.call import Call
from ...specification.registry import Specification, specification
from .alternative import Alternative, Named
from .coefficients import NEGLIGIBLE, result_for
from .reading import Matrix

KEYS_OF = MappingProxyType(  # the argument whose entries are counted, for each operation of attention that has one result
    {
        "scaled_dot_product_attention": "v",
        "grouped_query_attention": "v",
        "attention_with_kv_cache": "v_cache",
        "paged_attention": "v_pages",
    }
)
MAX_ROWS = 256  # of the result that are read
MAX_LISTED = 48  # divisions that give the weights of a matrix
MAX_SPLITS, MAX_KEYS = 64, 512  # in which the keys of a row are divided, and of a split
BLOCKS = (2, 4, 8, 16, 32, 64, 128)  # of keys that are read together, where an operation has no pages


@dataclass(frozen=True)
class Splits:
    """How the keys of a row are divided: into so many splits of nearly one length, or into splits of so many keys."""

    count: int = 0
    size: int = 0

    def starts(self, length: int) -> np.ndarray:
        """Return where the splits of a row with so many keys begin."""
        return np.arange(0, length, self.size or max(1, -(-length // self.count)))

    @property
    def words(self) -> str:
        return f"splits of {self.size} keys" if self.size else f"{self.count} splits"


Count = Callable[[np.ndarray, np.ndarray, int, int], np.ndarray]
"""How often each key counts: of the indices of the keys, the starts of later splits, the number of keys, and the block."""


def _all_before(keys: np.ndarray, starts: np.ndarray, length: int, block: int) -> np.ndarray:
    return 1 + np.sum(keys < starts[:, None], axis=0)


def _block_before(keys: np.ndarray, starts: np.ndarray, length: int, block: int) -> np.ndarray:
    begins = starts // block * block
    return 1 + np.sum((keys >= begins[:, None]) & (keys < starts[:, None]), axis=0)


def _block_after(keys: np.ndarray, starts: np.ndarray, length: int, block: int) -> np.ndarray:
    ends = -(-starts // block) * block
    return 1 + np.sum((keys >= starts[:, None]) & (keys < ends[:, None]), axis=0)


FORMS: tuple[tuple[str, Count, bool], ...] = (  # words, what is counted, and whether it depends on a block
    ("keys before a split's start count again in each later split", _all_before, False),
    ("the keys of {block} before a split's start count again in that split", _block_before, True),
    ("the keys of {block} after a split's end count in that split as well", _block_after, True),
)


def list_splits(matrix: Matrix, call: Call) -> Iterator[Alternative]:
    """Yield the divisions of the keys into splits that overlap which give the weights of a matrix."""
    name = call.operation.name
    if matrix.argument != KEYS_OF.get(name) or not (rows := list(_count_keys(matrix, call))):
        return
    pages = call.named["k_pages"].shape[1] if name == "paged_attention" else 0
    longest = max(map(len, rows))
    counts = (Splits(count=n) for n in range(2, MAX_SPLITS + 1))
    sizes = (Splits(size=n) for n in range(1, min(MAX_KEYS, longest)))
    divisions = [splits for pair in zip_longest(counts, sizes) for splits in pair if splits]  # the simplest first
    yield from islice(_list_fitting(name, rows, divisions, pages), MAX_LISTED)


def _list_fitting(name: str, rows: list[np.ndarray], divisions: list[Splits], pages: int) -> Iterator[Alternative]:
    blocks = (pages,) if pages else BLOCKS
    forms = [(words, count, block) for words, count, has_block in FORMS for block in (blocks if has_block else (0,))]
    for splits, (words, count, block) in product(divisions, forms):
        if all(_is_count(times, count, splits, block) for times in rows):
            said = words.format(block="the page" if pages else f"the block of {block}")
            compute = _counted(name, count, splits, 0 if pages else block)
            yield Alternative(name, f"{said}, in {splits.words}", compute, 2.0 if block and not pages else 1.0, evaluations=3)


def _is_count(counts: np.ndarray, count: Count, splits: Splits, block: int) -> bool:
    keys, length, seen = np.arange(len(counts)), len(counts), counts > 0
    found = count(keys, splits.starts(length)[1:], length, block)[seen]
    return np.array_equal(found * counts[seen].min(), counts[seen] * found.min())


def _count_keys(matrix: Matrix, call: Call) -> Iterator[np.ndarray]:
    """Yield how often each key counts in rows of the result, 0 if the row does not see it.

    Only rows are yielded in which some keys count more often than others, and nothing if these are no whole numbers.
    """
    right, used, rank = matrix.right, matrix.used, matrix.rank
    gap, largest = 4 * float(np.sqrt(matrix.unit_roundoff)), np.abs(right).max(initial=0.0)
    for index in islice(np.ndindex(right.shape[: rank - 1]), MAX_ROWS):
        true, found = (_order_keys(x[(*index, 0)], call, index) for x in (right, used))
        if true is None or found is None:
            continue
        if not (seen := np.abs(true) > NEGLIGIBLE * largest).any():
            continue
        times = found[seen] / true[seen]
        times = times / np.abs(times).min() if np.abs(times).min() > gap else times
        if (np.abs(times - np.rint(times)) > gap * np.maximum(times, 1)).any() or (np.rint(times) < 1).any():
            return
        counts = np.zeros(len(true), dtype=int)
        counts[seen] = np.rint(times)
        if np.ptp(counts[seen]):
            yield counts


def _order_keys(weights: np.ndarray, call: Call, index: tuple[int, ...]) -> np.ndarray | None:
    """Return the weights of the keys of a row in their order, None if a page has two places in it."""
    name, named = call.operation.name, call.named
    length = int(named["lengths"][index[0]]) if "lengths" in named else None
    by_key = np.abs(weights[..., 0])  # the first feature of each value
    if name == "paged_attention":
        size = by_key.shape[1]
        table = np.asarray(named["block_table"][index[0]])[: -(-(length or 0) // size)]
        if len(set(table.tolist())) < len(table):
            return None
        heads = np.argmax(by_key.sum(axis=(0, 1)))
        return np.asarray(weights[table][:, :, heads, 0].reshape(-1)[:length])
    if by_key.ndim == 1:
        return np.asarray(weights[:, 0])
    lead = np.unravel_index(np.argmax(by_key.sum(axis=-1)), by_key.shape[:-1])
    return np.asarray(weights[lead][:length, 0])


def _counted(operation: str, count: Count, splits: Splits, block: int) -> Callable[[Specification, Named], Any]:
    def compute(spec: Specification, named: Named) -> Any:
        size = block
        if operation == "paged_attention":
            spec, named, size = _without_pages(named)
        values = named[KEYS_OF[spec.name]]
        times = np.ones((1, values.shape[-2]), dtype=float)
        if "lengths" in named:
            lengths = np.asarray(named["lengths"]).astype(int)
            times = np.ones((len(lengths), values.shape[-2]))
            for row, length in enumerate(lengths.tolist()):
                times[row, :length] = count(np.arange(length), splits.starts(length)[1:], length, size)
        else:
            length = values.shape[-2]
            times[0] = count(np.arange(length), splits.starts(length)[1:], length, size)
        shape = (len(times), *(1 for _ in values.shape[1:-2]), times.shape[1], 1) if "lengths" in named else (times.shape[1], 1)
        factor = np.broadcast_to(times.reshape(shape), values.shape)
        argument = KEYS_OF[spec.name]
        zero = values * 0.0
        sums = result_for(spec, {**named, argument: values * factor}, "")
        unscaled = {**named, "v_scale": None} if "v_scale" in named else named
        weights, once = (result_for(spec, {**unscaled, argument: x}, "") for x in (zero + factor, zero + 1.0))
        return sums / (weights - once + 1.0)

    return compute


def _without_pages(named: Named) -> tuple[Specification, Named, int]:
    """Return the call with the keys of each row one after the other, and the size of a page."""
    size = named["k_pages"].shape[1]
    table, needed = np.asarray(named["block_table"]).astype(int), -(-np.asarray(named["lengths"]).astype(int) // size)
    table = np.where(np.arange(table.shape[1]) < needed[:, None], table, 0)
    given = {name: x for name, x in named.items() if name not in ("k_pages", "v_pages", "block_table")}
    caches = {"k_cache": gathered(named["k_pages"], table), "v_cache": gathered(named["v_pages"], table)}
    return specification("attention_with_kv_cache"), {**given, **caches}, size
