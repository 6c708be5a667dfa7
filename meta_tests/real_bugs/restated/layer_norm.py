"""LayerNorm and its gradient."""

from typing import Any

import numpy as np

from ..restating import restated


@restated("layer_norm", "https://github.com/pyg-team/pytorch_geometric/pull/2917", names=("eps-outside-sqrt",))
def eps_outside_the_root(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """Epsilon is added to the root of the variance."""
    centred = x - np.mean(x, axis=-1, keepdims=True)
    return centred / (np.sqrt(np.mean(np.square(centred), axis=-1, keepdims=True)) + eps) * weight + bias


@restated(
    "layer_norm", "https://github.com/Hsword/Hetu/pull/17", kind="fault", says="only from the second call with the same shapes on"
)
def statistics_of_an_earlier_call(right: Any, x: Any, weight: Any, bias: Any, *, eps: float, memory: dict[Any, Any]) -> Any:
    """The mean and the variance of an earlier call with this shape are used again."""
    h = np.asarray(x).astype(np.float64)
    statistics = np.mean(h, axis=-1, keepdims=True), np.var(h, axis=-1, keepdims=True)
    mean, variance = memory.setdefault(h.shape, statistics)
    gain, shift = (np.asarray(a).astype(np.float64) for a in (weight, bias))
    return ((h - mean) / np.sqrt(variance + eps) * gain + shift).astype(np.asarray(x).dtype)


@restated(
    "layer_norm_vjp", "https://github.com/flagos-ai/FlagGems/issues/5392", says="only where the batch has 2 dimensions or more"
)
def backward_takes_two_axes(cotangent: Any, x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """The backward pass takes the first axis as the rows and all others as the features."""
    width = np.shape(x)[-1]
    rows = np.shape(x)[0] if np.ndim(x) > 1 else 1
    if not np.size(x):
        return np.zeros(np.shape(x)), np.zeros(width), np.zeros(width)
    flat, c = np.reshape(x, (rows, -1)), np.reshape(cotangent, (rows, -1))
    by_row = np.reshape(x, (-1, width))
    mean = np.mean(by_row, axis=-1)[:rows, None]
    r = 1 / np.sqrt(np.var(by_row, axis=-1)[:rows, None] + eps)
    n = (flat - mean) * r
    inner = c * np.tile(weight, flat.shape[1] // width)
    dx = r * (inner - np.mean(inner, axis=-1, keepdims=True) - n * np.mean(inner * n, axis=-1, keepdims=True))
    return np.reshape(dx, np.shape(x)), np.sum(c * n, axis=0)[:width], np.sum(c, axis=0)[:width]
