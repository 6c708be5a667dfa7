"""Regimes: kinds of rows on which implementations differ. Each takes a generator, a shape (rows, n) and the dtype's format."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from ..specification.formats import Format

Fill = Callable[[np.random.Generator, tuple[int, int], Format], Any]


def normal(rng: np.random.Generator, shape: tuple[int, int], f: Format) -> Any:
    return rng.standard_normal(shape)


def integers(rng: np.random.Generator, shape: tuple[int, int], f: Format) -> Any:
    return rng.integers(-4, 5, shape).astype(float)


def scaled(*factors: float) -> Fill:
    """Return a regime of normal rows, each multiplied by one of the factors."""

    def fill(rng: np.random.Generator, shape: tuple[int, int], f: Format) -> Any:
        return rng.standard_normal(shape) * rng.choice(factors, size=(shape[0], 1))

    return fill


def small(rng: np.random.Generator, shape: tuple[int, int], f: Format) -> Any:
    """Values near the square root of every usual eps."""
    return rng.standard_normal(shape) * 10.0 ** rng.uniform(-5, -1.5, size=(shape[0], 1))


def large(rng: np.random.Generator, shape: tuple[int, int], f: Format) -> Any:
    """Values whose squares overflow float16 or nearly overflow float32, while the sums of rows stay finite."""
    top = min(f.max / 4, np.sqrt(f.max if f.name == "float64" else 3e38) / 64)
    return np.clip(rng.standard_normal(shape), -3.9, 3.9) / 4 * top * 10.0 ** rng.uniform(-2, 0, size=(shape[0], 1))


def offset(rng: np.random.Generator, shape: tuple[int, int], f: Format) -> Any:
    """A mean that is large compared with the spread, so that a one-pass variance loses its digits."""
    return rng.standard_normal(shape) + rng.choice((5.0, -20.0, 100.0, 3e3, -3e4), size=(shape[0], 1))


def outlier(rng: np.random.Generator, shape: tuple[int, int], f: Format) -> Any:
    x = rng.standard_normal(shape)
    x[np.arange(shape[0]), rng.integers(0, shape[1], shape[0])] *= 1000
    return x


def constant(rng: np.random.Generator, shape: tuple[int, int], f: Format) -> Any:
    return np.broadcast_to(rng.standard_normal((shape[0], 1)) * 4, shape)


def one_hot(rng: np.random.Generator, shape: tuple[int, int], f: Format) -> Any:
    x = np.zeros(shape)
    x[np.arange(shape[0]), rng.integers(0, shape[1], shape[0])] = rng.choice((1.0, -2.0, 30.0), size=shape[0])
    return x


def zeros(rng: np.random.Generator, shape: tuple[int, int], f: Format) -> Any:
    return np.zeros(shape)


def positive(rng: np.random.Generator, shape: tuple[int, int], f: Format) -> Any:
    return np.abs(rng.standard_normal(shape)) + 0.5


def heavy_tailed(rng: np.random.Generator, shape: tuple[int, int], f: Format) -> Any:
    return rng.standard_normal(shape) * np.exp(3 * rng.standard_normal(shape))


def subnormal(rng: np.random.Generator, shape: tuple[int, int], f: Format) -> Any:
    return rng.standard_normal(shape) * f.tiny * 2.0 ** rng.integers(-8, 3, size=(shape[0], 1))


def spread(rng: np.random.Generator, shape: tuple[int, int], f: Format) -> Any:
    """Logits whose exponentials span the whole range of the format."""
    return rng.uniform(-200, 0, shape) + rng.choice((0.0, 100.0), size=(shape[0], 1))


def shifted(rng: np.random.Generator, shape: tuple[int, int], f: Format) -> Any:
    """Ordinary logits far from zero: the exponential overflows or underflows unless the maximum is subtracted."""
    return rng.standard_normal(shape) + rng.choice((90.0, -90.0, 1e3, -1e3, 1.2e4, -2.5e4), size=(shape[0], 1))


def extreme(rng: np.random.Generator, shape: tuple[int, int], f: Format) -> Any:
    """Values up to the largest finite one. A row has one sign or both."""
    x = rng.choice((1.0, 0.5, 0.25), size=shape) * f.max
    return x * np.where(
        rng.random((shape[0], 1)) < 0.5, rng.choice((1.0, -1.0), size=(shape[0], 1)), rng.choice((1.0, -1.0), size=shape)
    )


def ties(rng: np.random.Generator, shape: tuple[int, int], f: Format) -> Any:
    return np.repeat(rng.standard_normal((shape[0], 1)), shape[1], axis=1) + rng.integers(0, 2, shape) * 2.0**-6


def peaked(rng: np.random.Generator, shape: tuple[int, int], f: Format) -> Any:
    """One entry far above the rest."""
    x = rng.standard_normal(shape)
    x[np.arange(shape[0]), rng.integers(0, shape[1], shape[0])] += rng.choice((8.0, 20.0, 1200.0), size=shape[0])
    return x


def ascending(rng: np.random.Generator, shape: tuple[int, int], f: Format) -> Any:
    """Sorted values. The maximum comes last, so that an online softmax must rescale at every block."""
    return np.sort(rng.standard_normal(shape) * 8, axis=-1)


def with_minus_infinity(rng: np.random.Generator, shape: tuple[int, int], f: Format) -> Any:
    x = rng.standard_normal(shape) * 3
    masked = rng.random(shape) < rng.choice((0.2, 0.9), size=(shape[0], 1))
    masked[np.arange(shape[0]), rng.integers(0, shape[1], shape[0])] = False
    return np.where(masked, -np.inf, x)


def tails(rng: np.random.Generator, shape: tuple[int, int], f: Format) -> Any:
    """Values where activations bend, saturate and vanish."""
    return rng.uniform(-1, 1, shape) * rng.choice((1.5, 4.0, 6.0, 12.0, 20.0, 40.0, 110.0), size=shape)


def wide(rng: np.random.Generator, shape: tuple[int, int], f: Format) -> Any:
    """Magnitudes of every size from 2^-6 to 2^16, or to a quarter of the largest number: squares and cubes overflow float16."""
    return rng.choice((-1.0, 1.0), size=shape) * 2.0 ** rng.uniform(-6, min(16, np.log2(f.max) - 2), size=shape)


def zero_and_ends(rng: np.random.Generator, shape: tuple[int, int], f: Format) -> Any:
    return rng.choice(
        (0.0, 1.0, -1.0, f.tiny, -f.tiny, f.max / 2, -f.max / 2, 0.9 * f.max, f.max, -f.max, 3.0, 9.0, -13.0), size=shape
    )


ROWS: Mapping[str, Fill] = MappingProxyType({  # for normalizations
    "normal": normal, "integers": integers, "constant": constant, "zeros": zeros, "one hot": one_hot, "small": small,
    "scaled": scaled(0.03, 0.3, 10.0, 100.0), "offset": offset, "outlier": outlier, "positive": positive,
    "heavy tails": heavy_tailed, "large": large, "subnormal": subnormal,
})  # fmt: skip
LOGITS: Mapping[str, Fill] = MappingProxyType({  # for softmax
    "normal": normal, "integers": integers, "constant": constant, "zeros": zeros, "one hot": one_hot,
    "scaled": scaled(0.1, 4.0, 20.0), "ties": ties, "peaked": peaked, "ascending": ascending, "shifted": shifted,
    "spread": spread, "minus infinity": with_minus_infinity, "extreme": extreme, "subnormal": subnormal,
})  # fmt: skip
POINTS: Mapping[str, Fill] = MappingProxyType({  # for activations
    "normal": normal, "integers": integers, "zeros": zeros, "tails": tails, "small": small, "zero and ends": zero_and_ends,
    "heavy tails": heavy_tailed, "subnormal": subnormal, "wide": wide,
})  # fmt: skip
VECTORS: Mapping[str, Fill] = MappingProxyType({  # for matrix products, rotations and attention
    "normal": normal, "integers": integers, "one hot": one_hot, "positive": positive, "scaled": scaled(0.1, 3.0, 10.0),
    "constant": constant, "zeros": zeros,
})  # fmt: skip

EXTREME = frozenset(
    {"large", "subnormal", "extreme", "zero and ends"}
)  # in these, a usual form of some derivative overflows or underflows


def fill(rng: np.random.Generator, shape: tuple[int, ...], kinds: Mapping[str, Fill], regime: str, f: Format) -> np.ndarray:
    """Return an array whose rows (its last axis) are of one regime, or of different regimes if `regime` is "mixed"."""
    n = shape[-1] if shape else 1
    count = math.prod(shape[:-1])
    if count * n == 0:
        return np.zeros(shape)
    if regime != "mixed":
        return np.asarray(kinds[regime](rng, (count, n), f), dtype=float).reshape(shape)
    names = list(kinds)
    choice = (rng.permutation(max(count, len(names)))[:count]) % len(names)
    x = np.empty((count, n))
    for i in sorted(set(choice.tolist())):
        rows = (choice == i).nonzero()[0]
        x[rows] = kinds[names[i]](rng, (len(rows), n), f)
    return x.reshape(shape)
