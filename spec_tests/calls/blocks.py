"""A large call in blocks: each is the call on a part of its batch, and their results are together that of the whole.

The steps of a bound go over an array many times. A block stays in the processor's cache meanwhile. Where there are many, the
bound of each is let go of before the next one is derived.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np

from ..bounds.expectation import Expectation, Stage
from ..specification.formats import Format, JoinedFormat
from ..specification.registry import Specification, core_of

BLOCK_ELEMENTS = 2**16  # of the arguments and the result of a block
KEPT_BLOCKS = 8  # where a call has no more, the bounds of its blocks are kept


def cut_into_blocks(spec: Specification, named: dict[str, Any], size: int, result: Any) -> list[tuple[slice, dict[str, Any]]]:
    """Return for each block its rows of the result and the arguments that differ from block to block.

    There is none if the call is small, or if rows of its batch are not known to be independent. size: of all arguments.
    """
    declared = spec.declaration
    is_whole = spec.is_gradient or spec.has_several_results or declared.unbatched or declared.joins_rows or declared.chooses
    is_whole = is_whole or any(named.get(keyword) is not None for keyword in declared.leading_axes.values())
    if size + np.size(result) <= BLOCK_ELEMENTS or is_whole or declared.bound or named.get("axis", -1) != -1:
        return []
    core = core_of(spec, named)
    shapes = {name: named[name].shape for name in core if hasattr(named.get(name), "shape")}
    ranks = {name: max(len(shape) - core[name], 0) for name, shape in shapes.items()}
    batch = np.broadcast_shapes(*(shape[: ranks[name]] for name, shape in shapes.items()))
    if not batch or np.shape(result)[: len(batch)] != batch:
        return []
    cut = [name for name, rank in ranks.items() if rank == len(batch) and shapes[name][0] == batch[0]]
    cut_size = sum(math.prod(shapes[name]) for name in cut)
    shared = size - cut_size  # elements that every block has
    of_entry = (cut_size + np.size(result)) // max(batch[0], 1)
    step = max(1, max(BLOCK_ELEMENTS, shared) // max(of_entry, 1))
    rows = [slice(start, start + step) for start in range(0, batch[0], step)]
    return [(part, {name: named[name][part] for name in cut}) for part in rows] if len(rows) > 1 else []


class ExpectationOfBlocks(Expectation):
    """The expectation of a large call. Answers are compared block by block; what else is asked of it is derived of the whole."""

    def __init__(self, blocks: Sequence[tuple[slice, Callable[[], Expectation]]], derive_whole: Callable[[], Expectation]):
        self._blocks = [(rows, cache(derive)) for rows, derive in blocks] if len(blocks) <= KEPT_BLOCKS else blocks
        self._derive_whole, self._has_whole_block = derive_whole, False

    @cached_property
    def whole(self) -> Expectation:
        return self._derive_whole()

    @property
    def value(self) -> np.ndarray:  # type: ignore[override]
        return self.whole.value

    @property
    def error(self) -> np.ndarray:  # type: ignore[override]
        return self.whole.error

    @property
    def storage(self) -> Format | JoinedFormat:  # type: ignore[override]
        return self.whole.storage

    @property
    def open(self) -> np.ndarray:  # type: ignore[override]
        return self.whole.open

    @property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        return self.whole.ends

    @cached_property
    def claimed(self) -> np.ndarray:
        return np.concatenate([derive().claimed for _, derive in self._blocks])

    @property
    def is_whole(self) -> bool:
        """Whether the whole error of some block was derived."""
        return self._has_whole_block

    def at_stage(self, stage: Stage) -> Expectation:
        return self.whole.at_stage(stage)

    def accepts(self, result: np.ndarray) -> np.ndarray:
        accepted = []
        for rows, derive in self._blocks:
            block = derive()
            accepted.append(block.accepts(result[rows]))
            self._has_whole_block = self._has_whole_block or block.is_whole
        return np.concatenate(accepted)

    def share(self, result: np.ndarray) -> np.ndarray:
        return np.concatenate([derive().share(result[rows]) for rows, derive in self._blocks])
