"""The values of the arrays in an example. Choices decide the regime and a seed, and NumPy fills the arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from ..calls.operation import Operation
from ..specification.float_errors import ignored_float_errors
from ..specification.formats import INTEGER, Format
from ..specification.registry import specification
from ..specification.structures import STRUCTURES, arrange
from . import regimes
from .choices import Choices, Choose
from .covering import Kind, kind_of_value

POSITIONS = (8, 40, 300, 2049, 131_072, 1_000_000)  # drawn positions are below one of these

OFFSETS = (0, 1, 7, 300, 4096)

MAX_BITS = 53  # significant bits of float64

STRUCTURE_SHARE = 4  # at most one array in so many has a structure, where no plan says which

T = TypeVar("T")

Plan = Callable[..., None]  # plan(options, of_shape=…) plans the next choice, which is one of the options


class ValueDraw(Choices):
    """Draw arrays for an operation. Every value is one that the dtype under test can represent."""

    has_structures = True  # whether arrays may have one

    def __init__(self, choose: Choose, operation: Operation, choose_shape: Choose | None = None):
        """`choose_shape` chooses the shapes of arrays, if they are chosen otherwise than the rest: see `shape_choices`."""
        super().__init__(choose, [])
        self.plan: Plan | None = None  # plans the choices that have a name, where examples are to cover
        self.arrays = 0  # how many arrays of regimes were drawn
        self.operation, self.shape = operation, Choices(choose_shape or choose, self.log)

    def planned(self, factor: str, values: Iterable[T], kind: Kind = kind_of_value, *, of_shape: bool = False) -> tuple[T, ...]:
        """Return the values, of which the next choice is one. Which one is planned if the examples are to cover the factor."""
        values = tuple(values)
        if self.plan:
            distinct = {id(value): value for value in values}  # most values stand there several times
            options = {place: {factor: kind(value)} for place, value in distinct.items()}
            self.plan([options[id(value)] for value in values], of_shape=of_shape)
        return values

    @cached_property
    def rng(self) -> np.random.Generator:
        """Return the generator that fills arrays. Its seed is drawn when it is first used."""
        return np.random.Generator(np.random.Philox(self.integer(0, 2**32 - 1)))

    @cached_property
    def bits(self) -> int:
        """Draw the significant bits of the values. An example with few of them can be checked by hand."""
        return int(self.one_of((1, 3, *[MAX_BITS] * 14)))

    @property
    def format(self) -> Format:
        return self.operation.storage

    def held(self, x: Any) -> np.ndarray:
        """Return x rounded to the dtype, and before that to `bits` significant bits. Finite values stay finite."""
        x = np.asarray(x, dtype=np.float64)
        f, bits = self.format, self.bits
        with ignored_float_errors():
            drawn = x
            if bits < MAX_BITS:
                mantissa, exponent = np.frexp(x)
                x = np.ldexp(np.rint(np.ldexp(mantissa, bits)), exponent - bits)
            if x.size and not np.maximum.reduce(np.abs(x), axis=None) <= f.max:
                x = np.where(np.isinf(drawn), drawn, np.clip(x, -f.max, f.max))
            rounded = f.round(x)
            return rounded.copy(order="K") if rounded is drawn else rounded  # it may be a view of one row, or the caller's

    def array(self, shape: tuple[int, ...], kinds: Mapping[str, regimes.Fill]) -> np.ndarray:
        """Draw an array whose rows are of one regime, or of different ones. One array in STRUCTURE_SHARE or more has a structure.

        A structure stands last among the choices, so that rows of choices from before keep their meaning. The regime of its
        values is then drawn by the generator, each as likely as any other. Gradients leave out the extreme regimes.
        """
        if self.operation.spec.is_gradient:
            kinds = {name: fill for name, fill in kinds.items() if name not in regimes.EXTREME}
        self.arrays += 1
        names = (*kinds, *["mixed"] * (2 * len(kinds)))
        if self.has_structures:
            names = (*names, *STRUCTURES, *["mixed"] * max(0, STRUCTURE_SHARE * len(STRUCTURES) - len(names) - len(STRUCTURES)))
        regime = self.one_of(self.planned(f"array {self.arrays}", names))
        if regime not in STRUCTURES:
            return self.held(regimes.fill(self.rng, shape, kinds, regime, self.format))
        values = regimes.fill(self.rng, shape, kinds, str(self.rng.choice([*kinds, "mixed"])), self.format)
        return self.held(arrange(self.rng, values, regime))

    def rows(self, shape: tuple[int, ...]) -> np.ndarray:
        """Draw rows that are normalized."""
        return self.array(shape, regimes.ROWS)

    def logits(self, shape: tuple[int, ...]) -> np.ndarray:
        """Draw rows of scores, as a softmax takes them."""
        return self.array(shape, regimes.LOGITS)

    def points(self, shape: tuple[int, ...]) -> np.ndarray:
        """Draw arguments of an activation."""
        return self.array(shape, regimes.POINTS)

    def vectors(self, shape: tuple[int, ...]) -> np.ndarray:
        """Draw vectors for matrix products, rotations and attention."""
        return self.array(shape, regimes.VECTORS)

    def normal(self, shape: tuple[int, ...], scale: float = 1.0) -> np.ndarray:
        """Draw normally distributed values."""
        return self.held(self.rng.standard_normal(shape) * scale)

    def gain(self, d: int) -> np.ndarray:
        """Draw a gain with both signs, some zeros and some large entries. A gain of only ones or only zeros would hide bugs."""
        g = self.rng.standard_normal(d) + self.rng.choice((1.0, -1.0), size=d)
        g = np.where(self.rng.random(d) < 0.1, self.rng.choice((0.0, 8.0), size=d), g)
        return self.held(g if np.any(g) else g - 1.5)

    def weight(self, out_features: int, in_features: int, *, scales: tuple[float, ...] = ()) -> np.ndarray:
        """Draw a weight matrix that keeps results near 1.

        With `scales`, each output feature is multiplied by one of them, in half of the examples.
        """
        w = self.rng.standard_normal((out_features, in_features)) / np.sqrt(max(in_features, 1))
        if scales and self.one_of((False, True)):
            w *= self.rng.choice(scales, (out_features, 1))
        return self.held(w)

    def grid(self, shape: tuple[int, ...], step: float = 0.25, largest: int = 12) -> np.ndarray:
        """Draw small multiples of a step, so that their sums and small multiples are exact in every dtype."""
        return self.rng.integers(-largest, largest + 1, shape) * step

    def positions(self, batch: tuple[int, ...], n: int, highest: int | None = None) -> np.ndarray:
        """Draw integer positions of a kind that the domain allows: consecutive, consecutive with an offset, or arbitrary.

        Arbitrary ones are in any order, one row for all batch entries or a row for each. `highest` limits them, as does the
        domain's `max_position`.
        """
        kind, largest = self.operation.domain.get("positions", "arbitrary"), self.operation.domain.get("max_position")
        if kind == "consecutive":
            return np.arange(n)
        offset = self.one_of(tuple(p for p in OFFSETS if largest is None or p + n <= largest + 1) or (0,))
        if kind == "offset" or self.one_of((True, False, False, False)):
            return np.arange(n) + offset
        limits = [limit for limit in (highest, None if largest is None else largest + 1) if limit is not None]
        top = self.one_of(tuple(p for p in POSITIONS if all(p <= limit for limit in limits)) or (min(limits, default=1),))
        shapes = {(n,), (*batch, n), (*[1 for _ in batch], n), (*[1 for _ in batch[:1]], *batch[1:], n)}
        return self.rng.integers(0, top, self.one_of(sorted(shapes, key=lambda s: (len(s), s))))

    def mask(self, batch: tuple[int, ...], n: int, m: int) -> np.ndarray:
        """Draw a mask that broadcasts to (*batch, n, m) and lets each query see at least one key.

        A query sees random keys, or all keys of one interval. The latter hides whole tiles, as padding does.
        """
        one_head = (*batch[:-1], 1) if batch else ()  # one mask for all heads
        shapes = ((n, m), (1, m), (*batch, n, m), (*batch, 1, m), (m,), (*one_head, n, m), (*one_head, 1, m))
        names = dict(zip(shapes, ("n m", "1 m", "b n m", "b 1 m", "m", "1 n m", "1 1 m"), strict=False))
        shape = self.shape.one_of(self.planned("mask", shapes, names.__getitem__, of_shape=True))
        density, ends = self.one_of(self.planned("hidden", (0.5, 0.2, 0.9, None, None))), (*shape[:-1], 1)
        if density is None:
            first = self.rng.integers(0, max(m, 1), ends)
            last = self.rng.integers(first, max(m, 1))
            return np.asarray((np.arange(m) >= first) & (np.arange(m) <= last))
        mask = np.asarray(self.rng.random(shape) < density)
        if m:
            np.put_along_axis(mask, self.rng.integers(0, m, ends), True, axis=-1)
        return mask

    def cotangents(self, results: Any) -> Any:
        """Draw a cotangent of each of several results, sometimes none of one of them, or the cotangent of a single one.

        A result for which the backend states that it has no gradient has None. Where a result is not finite, its cotangent is 0.
        """
        if not isinstance(results, tuple):
            return self.cotangent(np.asarray(results))
        rules = specification(self.operation.spec.forward).results
        names = [name for name in rules if rules[name] != INTEGER]
        asked = [*self.operation.domain.get("differentiable", names)]
        asked = self.one_of((asked, asked, *([name] for name in asked))) if len(asked) > 1 else asked
        drawn = (self.cotangent(y) if name in asked else None for name, y in zip(rules, results, strict=True))
        return tuple(c if c is None else np.where(np.isfinite(y), c, 0.0) for c, y in zip(drawn, results, strict=True))

    def cotangent(self, y: np.ndarray) -> np.ndarray:
        """Draw a cotangent for a result y: vectors, all ones as for a sum, a single one, or y itself, scaled below 1.

        With y itself much cancels in the gradient.
        """
        kind = self.one_of(self.planned("cotangent", ("rows", "rows", "rows", "ones", "one", "result")))
        if kind == "ones" or not y.size:
            return np.ones(y.shape)
        if kind == "one":
            return (np.arange(y.size) == self.integer(0, 99) * y.size // 100).astype(float).reshape(y.shape)
        if kind == "rows":
            return self.vectors(y.shape)
        finite = np.nan_to_num(y, nan=0.0, posinf=0.0, neginf=0.0)
        _, exponent = np.frexp(np.max(np.abs(finite)))  # below 1: automatic differentiation may multiply it by x, and x by x
        return self.held(finite * 2.0 ** -max(int(exponent), 0))
