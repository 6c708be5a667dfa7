"""The inputs of an example. Hypothesis draws what decides: dimensions, regime, configuration, seed; NumPy fills the arrays.

Every draw goes through the operation's domain, so that a kernel with restrictions is tried inside them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np

from ..calls.call import Call
from ..calls.operation import Operation
from ..calls.violation import NotImplementedVariant
from ..specification.formats import Format
from . import effort, regimes
from .choices import Choices, Choose

SMALL = (1, 2, 3, 4, 5, 7, 8)

SIZES = (*SMALL, 9, 12, 15, 16, 17, 24, 31, 32, 33, 47, 63, 64, 65, 80, 96, 100, 127, 128, 129, 130, 160, 200, 255, 256, 257)

LONG = (300, 511, 513, 1000, 1023, 1024, 1025, 2047, 2049, 4097, 5000)

COINCIDENCES = (2, 3, 4, 5, 8, 16)

BATCHES = ((), (1,), (2,), (3,), (2, 3), (3, 1), (2, 2), (2, 1, 3), (3, 2, 2))

MANY_ROWS = ((), (1,), (3,), (8,), (13,), (2, 5), (4, 3), (3, 3), (2, 3, 4), (3, 2, 2))

TILES = ((33,), (65,), (129,), (5, 27))  # more rows than a tile has, where they are short

SHORT = 64

POSITIONS = (8, 40, 300, 2049, 131_072, 1_000_000)

SEQUENCES, ROWS = (8193, 8193, 16_385), (65_537, 131_073, 70_001, 32_769)  # beyond indices of 16 bits, and blocks of any size

AFFORDABLE = 1025 * 1025  # elements of a mask or bias whose rows and columns are as many

FEW = 3  # at most so many rows where each is long

FULL = 53


def single(*values: float) -> tuple[float, ...]:
    """Parameters that float32 holds, as the frameworks' own attributes do."""
    return tuple(float(np.float32(v)) for v in values)


EPS = single(1e-5, 1e-6, 1e-8, 1e-12, 1e-3, 0.1, 1.0)

THETA = single(10_000.0, 500_000.0, 100.0, 1_000_000.0, 2.5)


class Draw(Choices):
    def __init__(self, choose: Choose, operation: Operation, choose_shape: Choose | None = None):
        """choose_shape: for what decides the shapes of arrays, which may be few."""
        super().__init__(choose, [])
        self.operation, self.shape = operation, Choices(choose_shape or choose, self.log)
        self._complete = self.long = self._grown = False

    def of(self, operation: Operation) -> Draw:
        """The same example, for another operation and its domain."""
        other = Draw(self._choose, operation)
        other.log, other.shape, other.__dict__["rng"], other.__dict__["bits"] = self.log, self.shape, self.rng, self.bits
        other._complete, other.long, other._grown = self._complete, self.long, self._grown
        return other

    # --- structure --------------------------------------------------------------------------------------------------

    @cached_property
    def rng(self) -> np.random.Generator:
        return np.random.Generator(np.random.Philox(self.integer(0, 2**32 - 1)))

    @cached_property
    def bits(self) -> int:
        """Significant bits of the values: few make an example that a person can check by hand."""
        return int(self.one_of((1, 3, *[FULL] * 14)))

    @property
    def format(self) -> Format:
        return self.operation.storage

    def dims(self, **ceilings: int) -> tuple[int, ...]:
        """Named dimensions: small, but one of them may grow, or all coincide. A ceiling beyond 257 admits long rows, and those
        more often."""
        if self.long:
            return self._long_dims(ceilings)
        long = [name for name, ceiling in ceilings.items() if ceiling > SIZES[-1]]
        grown = self.shape.one_of((None, *ceilings, *ceilings, *ceilings, *long, *long, *long, "all equal"))
        if grown == "all equal":
            size = self.shape.one_of(COINCIDENCES)
            return tuple(self.size(name, (size,)) for name in ceilings)
        return tuple(self.size(name, self._pool(ceiling) if name == grown else SMALL) for name, ceiling in ceilings.items())

    def _long_dims(self, ceilings: dict[str, int]) -> tuple[int, ...]:
        """One of those whose ceiling is high is far beyond it; or none, and the batch is."""
        high = {name: ROWS if top >= LONG[-2] else SEQUENCES for name, top in ceilings.items() if top >= SIZES[-1]}
        grown = self.shape.one_of((*high, None) if not (high and self.operation.spec.composed) else high)
        self._grown = self._grown or grown is not None
        return tuple(self.size(name, high[name] if name == grown else SMALL) for name in ceilings)

    def _pool(self, ceiling: int) -> tuple[int, ...]:
        """The long more often than others, most of all the longest: it alone exceeds the largest blocks."""
        spec = self.operation.spec
        if spec.composed and ceiling < SIZES[-1] and effort.current_effort().name == "smoke":
            ceiling = min(ceiling, 65)
        costly = spec.is_gradient and spec.composed
        pool = tuple(s for s in (SIZES if costly else (*SIZES, *LONG, *LONG)) if s <= ceiling)
        return (*pool, *pool[-1:] * 6)

    def size(self, name: str, pool: tuple[int, ...]) -> int:
        domain = self.operation.domain
        allowed = domain.get(name)
        while isinstance(allowed, str):  # the same as another dimension, or as the product of some
            known = [self._sizes[factor] for factor in allowed.split() if factor in self._sizes]
            allowed = (math.prod(known),) if len(known) == len(allowed.split()) else domain.get(allowed)
        if allowed is not None:
            inside = tuple(s for s in pool if s in allowed)
            pool = inside or tuple(sorted(allowed))[: 8 if len(pool) > len(SMALL) else 3]
        self._sizes[name] = size = int(self.shape.one_of(pool))
        return size

    @cached_property
    def _sizes(self) -> dict[str, int]:
        return {}

    def batch(self, pool: tuple[tuple[int, ...], ...] = BATCHES) -> tuple[int, ...]:
        """One of the pool; sometimes its last dimension coincides with one of those drawn before."""
        if pool is MANY_ROWS and max(self._sizes.values(), default=0) <= SHORT:
            pool = (*pool, *TILES)
        ranks = self.operation.domain.get("batch_dims")
        if ranks is not None:
            pool = tuple(b for b in pool if len(b) in ranks) or tuple((2,) * r for r in ranks)
        if self.long:
            if not self._grown and not self.operation.spec.composed and 1 in (ranks or (1,)):
                return ROWS[:1]
            pool = tuple(b for b in pool if math.prod(b) <= FEW) or pool
        batch = tuple(self.shape.one_of(pool))
        like = [(*batch[:-1], size) for size in sorted(set(self._sizes.values()) & set(SMALL))] if batch else []
        like = [b for b in like if math.prod(b) <= max(map(math.prod, pool))]
        return tuple(self.shape.one_of(like)) if like and self.shape.one_of((False, False, False, True)) else batch

    def rows_or_less(self, d: int) -> tuple[int, ...]:
        """Of an elementwise operation: rows of d, one row, or a single number."""
        rows = (*self.batch(MANY_ROWS), d)
        return tuple(
            self.shape.one_of((rows, (d,), (), rows, rows) if 0 in self.operation.domain.get("batch_dims", (0,)) else (rows,))
        )

    # --- configuration ----------------------------------------------------------------------------------------------

    def keyword(self, name: str, values: Iterable[Any]) -> dict[str, Any]:
        """One of the values, as a keyword; left at its default where the function does not take it. The domain's values instead,
        if it has any; its 0 only where a 0 would do."""
        values, allowed = tuple(values), self.operation.domain.get(name)
        if allowed is not None:
            values = tuple(value for value in allowed if value != 0 or 0 in values)
            if not values:
                raise NotImplementedVariant(f"its domain has no {name} but 0")
        if self.operation.accepts(name) or (allowed is not None and len(values) == 1):
            return {name: self.one_of(values)}
        return {name: -1} if name == "axis" else {}

    def columns(self, m: int, square: int) -> dict[str, Any]:
        """m as a keyword: itself, mostly, or 0, or none where the square that it then is has not too many elements."""
        if self.operation.accepts("m"):
            return {"m": self.one_of((m,) if self.long else (m, None, m, m, 0) if square <= AFFORDABLE else (m, 0))}
        if self.long:
            raise NotImplementedVariant("a square so long is not tried")
        return {}

    def variants(self, *names: str) -> set[str]:
        """Which optional arguments to use: mostly none or one, sometimes two or all; always those that the domain does not leave
        at their default."""
        domain, default = self.operation.domain, self.operation.spec.defaults
        names = tuple(n for n in names if self.operation.accepts(n) and tuple(domain.get(n, ())) != (default.get(n),))
        always = {n for n in names if n in domain and default.get(n) not in domain[n]}
        n = len(names)
        several = (2, 2, n) if n > 1 else ()
        many = n if self._complete or not n else self.one_of((0, 0, *(1,) * min(2 * n, 6), *several))
        return always | set(self.one_of(itertools.combinations(names, many)))

    # --- arrays -----------------------------------------------------------------------------------------------------

    def held(self, x: Any) -> np.ndarray:
        """x rounded to what the dtype holds, finite values staying finite."""
        x = np.asarray(x, dtype=np.float64)
        f, infinite = self.format, np.isinf(x)
        with np.errstate(all="ignore"):
            if self.bits < FULL:
                mantissa, exponent = np.frexp(x)
                x = np.where(infinite, x, np.ldexp(np.rint(np.ldexp(mantissa, self.bits)), exponent - self.bits))
            finite = np.clip(x, -f.max, f.max)
            return f.round(np.where(infinite, x, finite) if infinite.any() else finite)

    def array(self, shape: tuple[int, ...], kinds: dict[str, regimes.Fill]) -> np.ndarray:
        if self.operation.spec.is_gradient:
            kinds = {name: fill for name, fill in kinds.items() if name not in regimes.EXTREME}
        regime = self.one_of((*kinds, *["mixed"] * (2 * len(kinds))))
        return self.held(regimes.fill(self.rng, shape, kinds, regime, self.format))

    def rows(self, shape: tuple[int, ...]) -> np.ndarray:
        return self.array(shape, regimes.ROWS)

    def logits(self, shape: tuple[int, ...]) -> np.ndarray:
        return self.array(shape, regimes.LOGITS)

    def points(self, shape: tuple[int, ...]) -> np.ndarray:
        return self.array(shape, regimes.POINTS)

    def vectors(self, shape: tuple[int, ...]) -> np.ndarray:
        return self.array(shape, regimes.VECTORS)

    def normal(self, shape: tuple[int, ...], scale: float = 1.0) -> np.ndarray:
        return self.held(self.rng.standard_normal(shape) * scale)

    def gain(self, d: int) -> np.ndarray:
        """Never all ones, nor all zeros, which hide everything else: of both signs, some zero, some large."""
        g = self.rng.standard_normal(d) + self.rng.choice((1.0, -1.0), size=d)
        g = np.where(self.rng.random(d) < 0.1, self.rng.choice((0.0, 8.0), size=d), g)
        return self.held(g if np.any(g) else g - 1.5)

    def weight(self, out_features: int, in_features: int, *, scales: tuple[float, ...] = ()) -> np.ndarray:
        """For results of about 1; with scales, each of the output features has one of them, half of the time."""
        w = self.rng.standard_normal((out_features, in_features)) / np.sqrt(max(in_features, 1))
        if scales and self.one_of((False, True)):
            w *= self.rng.choice(scales, (out_features, 1))
        return self.held(w)

    def grid(self, shape: tuple[int, ...], step: float = 0.25, largest: int = 12) -> np.ndarray:
        """Multiples of a step, so few that sums and small multiples of them are exact in every dtype."""
        return self.rng.integers(-largest, largest + 1, shape) * step

    def positions(self, batch: tuple[int, ...], n: int, highest: int | None = None) -> np.ndarray:
        """Integers in any order, shared or one row for each batch entry, within the domain's kinds."""
        kind = self.operation.domain.get("positions", "arbitrary")
        if kind == "consecutive":
            return np.arange(n)
        offset = self.one_of((0, 1, 7, 300, 4096))
        if kind == "offset" or self.one_of((True, False, False, False)):
            return np.arange(n) + offset
        top = self.one_of(tuple(p for p in POSITIONS if highest is None or p <= highest))
        shapes = {(n,), (*batch, n), (*[1 for _ in batch], n), (*[1 for _ in batch[:1]], *batch[1:], n)}
        return self.rng.integers(0, top, self.one_of(sorted(shapes, key=lambda s: (len(s), s))))

    def mask(self, batch: tuple[int, ...], n: int, m: int) -> np.ndarray:
        """Broadcastable to (*batch, n, m), with at least one key for each query: keys here and there, or all those between two,
        so that whole tiles are hidden, as by padding."""
        few = (*batch[:-1], 1) if batch else ()  # as one for all heads
        shape = self.shape.one_of(((n, m), (1, m), (*batch, n, m), (*batch, 1, m), (m,), (*few, n, m), (*few, 1, m)))
        seen, ends = self.one_of((0.5, 0.2, 0.9, None, None)), (*shape[:-1], 1)
        if seen is None:
            first = self.rng.integers(0, max(m, 1), ends)
            last = self.rng.integers(first, max(m, 1))
            return np.asarray((np.arange(m) >= first) & (np.arange(m) <= last))
        mask = np.asarray(self.rng.random(shape) < seen)
        if m:
            np.put_along_axis(mask, self.rng.integers(0, m, ends), True, axis=-1)
        return mask

    def cotangent(self, y: np.ndarray) -> np.ndarray:
        """For a result y: rows of every kind, a sum's ones, a single one, or y itself, perhaps halved a few
        times, along which much cancels."""
        kind = self.one_of(("rows", "rows", "rows", "ones", "one", "result"))
        if kind == "ones" or not y.size:
            return np.ones(y.shape)
        if kind == "one":
            return (np.arange(y.size) == self.integer(0, 99) * y.size // 100).astype(float).reshape(y.shape)
        if kind == "rows":
            return self.vectors(y.shape)
        finite = np.nan_to_num(y, nan=0.0, posinf=0.0, neginf=0.0)
        _, exponent = np.frexp(np.max(np.abs(finite)))  # below 1: automatic differentiation may multiply it by x, and x by x
        return self.held(finite * 2.0 ** -max(int(exponent), 0))

    def call(self, *, all_arguments: bool = False, long: bool = False) -> Call:
        """Arguments of the operation, as its own file draws them, with every optional one if asked for, or with a long dimension
        where it can have one; of a gradient, with a cotangent before them."""
        self._complete, self.long, self._grown = all_arguments, long, False
        arguments, keywords = self.operation.spec.module.arguments(self)
        if self.operation.spec.is_gradient:
            y = self.operation.forward.call(*arguments, **keywords).value  # type: ignore[attr-defined]
            arguments = (self.cotangent(y), *arguments)
        return self.operation.call(*arguments, **keywords)


def within_domain(draw: Draw, **sizes: Any) -> None:
    """A statement that needs other sizes than those drawn cannot be tried where the domain lacks them."""
    for name, size in sizes.items():
        allowed = draw.operation.domain.get(name)
        if allowed is not None and not isinstance(allowed, str) and size not in allowed:
            raise NotImplementedVariant(f"its domain has no {name} = {size}")
