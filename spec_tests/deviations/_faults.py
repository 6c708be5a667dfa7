"""Shared by the faults of every operation: groups of operations, the arrays of a call, and memory that is read wrongly."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..specification.formats import Format
from ..specification.pytree import leaves, tree_map
from ..specification.registry import specification

# Groups of operations
SMOOTH_ACTIVATIONS = ("sigmoid", "silu", "gelu")
ACTIVATION_OPERATIONS = ("relu", *SMOOTH_ACTIVATIONS)
NORM_OPERATIONS = ("rms_norm", "layer_norm")
SOFTMAX_OPERATIONS = ("softmax", "log_softmax", "logsumexp")
ROW_OPERATIONS = (*NORM_OPERATIONS, *SOFTMAX_OPERATIONS)  # which reduce a row
FEED_FORWARD_OPERATIONS = ("glu", "swiglu", "feed_forward")
PRODUCT_OPERATIONS = ("linear", *FEED_FORWARD_OPERATIONS)  # of matrices
MASKED_ATTENTION_OPERATIONS = ("scaled_dot_product_attention", "grouped_query_attention")  # which take a mask
ATTENTION_OPERATIONS = (*MASKED_ATTENTION_OPERATIONS, "local_attention")
MODEL_OPERATIONS = ("multihead_self_attention", "transformer_block", "transformer_lm")
MASK_OPERATIONS = ("causal_mask", "sliding_window_mask")
ALIBI_OPERATIONS = ("alibi_slopes", "alibi_bias")
ROUNDED_BATCH_OPERATIONS = (  # which take a batch, and whose results are rounded
    *ROW_OPERATIONS,
    *SMOOTH_ACTIVATIONS,
    "rope",
    *PRODUCT_OPERATIONS,
    *ATTENTION_OPERATIONS,
    *MODEL_OPERATIONS,
)


def find_arrays(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> list[np.ndarray]:
    """Return every array among the arguments, those in lists and dicts included."""
    return [x for _, x in leaves([list(arguments), keywords]) if isinstance(x, np.ndarray)]


def change_arrays(change: Callable[[Any], Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Return the arguments and keywords with every array changed."""
    one = lambda x: change(x) if isinstance(x, np.ndarray) else x  # noqa: E731
    return tree_map(one, list(arguments)), tree_map(one, keywords)


def shapes_or_keywords(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
    """Return the shapes of all arrays, by which caches are often keyed, or the keywords where there is no array."""
    found = tuple(x.shape for x in find_arrays(arguments, keywords))
    return found or tuple(sorted((k, v) for k, v in keywords.items()))


def count_batch_axes(right: Callable[..., Any], x: np.ndarray) -> int:
    """Return how many axes of the first argument are batch axes."""
    core = specification(right.__name__).core
    return max(x.ndim - next(iter(core.values())), 0)


def read_memory(x: np.ndarray, *, strides: tuple[int, ...] | None = None, start: int | None = None) -> np.ndarray:
    """Return what a kernel reads that assumes these strides or this start, in elements. Beyond the memory it reads zeros."""
    root = x
    while isinstance(root.base, np.ndarray):
        root = root.base
    memory = root.reshape(-1)
    if start is None:
        start = (x.__array_interface__["data"][0] - root.__array_interface__["data"][0]) // x.itemsize
    steps = element_strides(x) if strides is None else strides
    place = np.full(x.shape, start)
    for axis, (size, step) in enumerate(zip(x.shape, steps, strict=True)):
        place += (np.arange(size) * step).reshape(-1, *[1] * (x.ndim - axis - 1))
    inside = (place >= 0) & (place < memory.size)
    return np.where(inside, memory[np.where(inside, place, 0)], np.zeros((), x.dtype)) if memory.size else x


def element_strides(x: np.ndarray) -> tuple[int, ...]:
    """Return the strides of an array, in elements."""
    return tuple(step // x.itemsize for step in x.strides)


def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides of a contiguous array of this shape, in elements."""
    return tuple(int(np.prod(shape[axis + 1 :])) for axis in range(len(shape)))


def change_numbers(change: Callable[[Any], Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Return the arguments and keywords with every floating array changed, of whichever number type. Positions are integers."""

    def one(name: str, x: Any) -> Any:
        integers = name == "positions" or (isinstance(x, np.ndarray) and x.dtype.kind != "f")
        return change(x) if getattr(x, "ndim", 0) and not integers else x

    named = {name: tree_map(partial(one, name), value) for name, value in keywords.items()}
    return tree_map(partial(one, ""), list(arguments)), named


def change_rounding(kind: type[Format], f: Format) -> Format:
    """Return the format with another way to round to it, that of `kind`."""
    return kind(f.name, f.precision, f.emin, f.emax)


class Flushing(Format):
    def round(self, x: Any) -> np.ndarray:
        """Round to zero below the normal range."""
        y = super().round(x)
        return np.asarray(np.where(np.abs(y) < self.tiny, 0.0, y))


class Saturating(Format):
    def round(self, x: Any) -> np.ndarray:
        """Round to the largest finite value instead of infinity."""
        return np.asarray(np.clip(super().round(x), -self.max, self.max))


class Truncating(Format):
    def round(self, x: Any) -> np.ndarray:
        """Round toward zero, as a shift of the bits does."""
        y = super().round(x)
        with np.errstate(all="ignore"):
            beyond = (np.abs(y) > np.abs(x)) & np.isfinite(y)
            return np.where(beyond, np.copysign(np.abs(y) - 2 * self.half_gap(y, np.zeros_like(y)), y), y)
