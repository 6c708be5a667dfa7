"""Whether a backend takes a scale for each slot of a cache, which nobody has to."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..calls.operation import Operation
from ..calls.violation import Lost, NotImplementedVariant, Violation
from ..implementation.domain import SCALES
from ..inputs.draw import Draw
from ..operations._caches import draw_format
from .assertions import assert_conforms
from .optional import answer_optional

SLOT_SCALES = ("keyword:cache_dtype", "keyword:k_scale", "keyword:v_scale")
NOT_TAKEN = "it takes no scale for each slot"
FEW = (2, 3, 4)  # rows, heads and pages: two at least, so that scales of other shapes do not broadcast to those of slots
SLOTS = (5, 6, 7, 9, 16, 17)
WIDTHS = (8, 7, 5, 16)


def draw_scales(draw: Draw, slots: tuple[int, ...], *, head_axis: int = 1, exact: bool = True) -> dict[str, Any]:
    """Draw the format of a cache, and scales of keys and values for each slot."""
    if draw.operation.domain.get("slot_scales") is False:
        raise NotImplementedVariant("its domain has no scales for each slot")
    drawn = [draw_format(draw, slots, head_axis=head_axis, exact=exact, of_slots=True) for _ in range(2)]
    missing = {name: 2.0 ** draw.rng.integers(0, 3, slots) for name in SCALES}
    return missing | drawn[1] | drawn[0]


def draw_slot_sizes(draw: Draw, *names: str) -> dict[str, int]:
    """Draw the sizes of a cache by their names: few rows, pages and heads, and more slots than these."""
    return {name: draw.size(name, SLOTS if name in ("M", "page_size") else FEW) for name in names}


def draw_query_heads(draw: Draw, h_kv: int) -> int:
    """Draw the number of query heads: once or twice those of the cache."""
    h = draw.size("h", (h_kv, 2 * h_kv))
    if h % h_kv:
        raise NotImplementedVariant(f"its domain has no h for {h_kv} heads of keys")
    return h


def other_scales(draw: Draw, scale: np.ndarray) -> np.ndarray:
    """Return other scales: those of other slots, or larger ones."""
    return np.asarray(draw.rng.permutation(scale.ravel()).reshape(scale.shape) * draw.one_of((1.0, 2.0, 4.0)))


def ask(operation: Operation, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
    """Raise NotImplementedVariant where a backend that states nothing takes no scale for each slot.

    Scales of 1 in all slots must give what none give, and scales that differ must be read: code for scales of heads may read the
    first numbers of any array.
    """
    if operation.domain.get("slot_scales"):
        return
    shape = np.shape(keywords["k_scale"])
    if min(shape) < 2 or len({*shape}) < len(shape):
        raise NotImplementedVariant(
            "the sizes that its domain allows do not show whether it takes a scale for each slot", "suite"
        )
    ones = {name: np.ones(shape) for name in SCALES}
    try:
        assert_conforms(answer_optional(operation, operation.call(*arguments, **{**keywords, **ones}), NOT_TAKEN))
        answers = [
            answer_optional(operation, operation.call(*arguments, **{**keywords, **scales}), NOT_TAKEN)
            for scales in ({}, {name: other_inside(keywords[name]) for name in SCALES})
        ]
    except Lost:
        raise
    except Violation as wrong:
        raise NotImplementedVariant(NOT_TAKEN, "backend") from wrong
    one, other = (np.asarray(answer.value) for answer in answers)
    if np.array_equal(one, other, equal_nan=True):
        raise NotImplementedVariant(NOT_TAKEN, "backend")


def other_inside(scale: np.ndarray) -> np.ndarray:
    """Return other scales but on the lines through the first entry, of which code for scales of heads may read some."""
    counts = sum((place > 0).astype(int) for place in np.indices(scale.shape))
    return np.where(counts > 1, 2 * scale, scale)
