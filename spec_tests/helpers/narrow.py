"""What laws of operations on numbers in few bits share: arrays of all numbers, permutations in blocks, and single blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..calls.violation import NotImplementedVariant
from ..inputs.draw import Draw, within_domain
from ..specification.narrow_formats import NarrowFormat


def lay_in_rows(numbers: np.ndarray, draw: Draw, f: NarrowFormat, columns: int = 0) -> np.ndarray:
    """Return a matrix of all the numbers, whose last row repeats some. Rows fill bytes or words of codes."""
    per_entry = draw.operation.backend.carrier(f).per_entry
    columns = -(-(columns or min(numbers.size, 64)) // per_entry) * per_entry
    rows = -(-numbers.size // columns)
    within_domain(draw, M=rows, K=columns)
    return np.resize(numbers, (rows, columns))


def permute_in_blocks(draw: Draw, length: int, size: int | None) -> np.ndarray:
    """Return a permutation of an axis that leaves each index in its block."""
    block = np.arange(length) // max(length if size is None else size, 1)
    return np.lexsort((draw.rng.random(length), block))


def choose_block(draw: Draw, scales: tuple[int, ...], elements: int) -> tuple[int, ...]:
    """Return the index of one of the blocks whose scales have this shape."""
    if 0 in scales or not elements:
        raise NotImplementedVariant("an empty batch has no block", "suite")
    return tuple(draw.integer(0, n - 1) for n in scales)


def take_block(
    draw: Draw, f: NarrowFormat, x: np.ndarray, block: Any, at: tuple[int, int]
) -> tuple[np.ndarray, tuple[slice, slice]]:
    """Return the part of x that is one block, in every matrix of the batch, and where it lies."""
    sizes = [n if size is None else size for n, size in zip(x.shape[-2:], block, strict=True)]
    rows, columns = (slice(i * size, (i + 1) * size) for i, size in zip(at, sizes, strict=True))
    part = np.ascontiguousarray(x[..., rows, columns])
    if part.shape[-1] % draw.operation.backend.carrier(f).per_entry:
        raise NotImplementedVariant("a block does not fill its bytes or words", "suite")
    within_domain(draw, M=part.shape[-2], K=part.shape[-1])
    return part, (rows, columns)
