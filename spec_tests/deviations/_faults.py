"""What the faults of every operation share: which operations are alike, the arrays of a call, and how memory may be misread."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..specification.formats import Format
from ..specification.pytree import leaves, tree_map
from ..specification.registry import specification

ACTIVATIONS = ("relu", "sigmoid", "silu", "gelu")
NORMS = ("rms_norm", "layer_norm")
SOFTMAXES = ("softmax", "log_softmax", "logsumexp")
ROWS = (*NORMS, *SOFTMAXES)  # which reduce a row
PRODUCTS = ("linear", "glu", "swiglu", "feed_forward")
ATTENTIONS = ("scaled_dot_product_attention", "grouped_query_attention", "local_attention")
MODELS = ("multihead_self_attention", "transformer_block", "transformer_lm")
MASKS = ("causal_mask", "sliding_window_mask")
ALIBI = ("alibi_slopes", "alibi_bias")


def floating(x: Any) -> bool:
    """An array of floating numbers, bfloat16 included."""
    return isinstance(x, np.ndarray) and (x.dtype.kind == "f" or x.dtype.name == "bfloat16")


def arrays(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> list[np.ndarray]:
    return [x for _, x in leaves([list(arguments), keywords]) if isinstance(x, np.ndarray)]


def each(change: Callable[[Any], Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """The call with every array changed."""
    one = lambda x: change(x) if isinstance(x, np.ndarray) else x  # noqa: E731
    return tree_map(one, list(arguments)), tree_map(one, keywords)


def shapes(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
    """What a cache is often keyed by; with the numbers where there is no array at all."""
    found = tuple(x.shape for x in arrays(arguments, keywords))
    return found or tuple(sorted((k, v) for k, v in keywords.items()))


def batch_rank(right: Callable[..., Any], x: np.ndarray) -> int:
    """How many axes of the first argument are batch."""
    core = specification(right.__name__).core
    return max(x.ndim - next(iter(core.values())), 0)


def read(x: np.ndarray, *, strides: tuple[int, ...] | None = None, start: int | None = None) -> np.ndarray:
    """The array that a kernel sees which assumes these strides, or this start, counted in elements; zeros past the memory."""
    root = x
    while isinstance(root.base, np.ndarray):
        root = root.base
    memory = root.reshape(-1)
    if start is None:
        start = (x.__array_interface__["data"][0] - root.__array_interface__["data"][0]) // x.itemsize
    steps = steps_of(x) if strides is None else strides
    place = np.full(x.shape, start)
    for axis, (size, step) in enumerate(zip(x.shape, steps, strict=True)):
        place += (np.arange(size) * step).reshape(-1, *[1] * (x.ndim - axis - 1))
    inside = (place >= 0) & (place < memory.size)
    return np.where(inside, memory[np.where(inside, place, 0)], np.zeros((), x.dtype)) if memory.size else x


def steps_of(x: np.ndarray) -> tuple[int, ...]:
    """Strides, in elements."""
    return tuple(step // x.itemsize for step in x.strides)


def dense(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides, in elements, of a contiguous array."""
    return tuple(int(np.prod(shape[axis + 1 :])) for axis in range(len(shape)))


def numbers(change: Callable[[Any], Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """The call with every floating array changed, of whichever number type; positions are none."""

    def one(name: str, x: Any) -> Any:
        integers = name == "positions" or (isinstance(x, np.ndarray) and x.dtype.kind != "f")
        return change(x) if getattr(x, "ndim", 0) and not integers else x

    named = {name: tree_map(partial(one, name), value) for name, value in keywords.items()}
    return tree_map(partial(one, ""), list(arguments)), named


def rounding_as(kind: type[Format], f: Format) -> Format:
    """A format with another way to round to it."""
    return kind(f.name, f.precision, f.emin, f.emax)


class Flushing(Format):
    def round(self, x: Any) -> np.ndarray:
        """To zero below the normal range."""
        y = super().round(x)
        return np.asarray(np.where(np.abs(y) < self.tiny, 0.0, y))


class Saturating(Format):
    def round(self, x: Any) -> np.ndarray:
        """To the largest finite value instead of infinity."""
        return np.asarray(np.clip(super().round(x), -self.max, self.max))


class Truncating(Format):
    def round(self, x: Any) -> np.ndarray:
        """Toward zero, as a shift of the bits does."""
        y = super().round(x)
        with np.errstate(all="ignore"):
            beyond = (np.abs(y) > np.abs(x)) & np.isfinite(y)
            return np.where(beyond, np.copysign(np.abs(y) - 2 * self.half_gap(y, np.zeros_like(y)), y), y)
