"""The inputs of an example: the sizes of its dimensions and its keywords. `values.py` fills the arrays.

Every draw respects the domain that the backend states for the operation, so that restricted kernels are tried inside it.
The order of the draws matters: an example is stored and replayed as the sequence of its choices.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from ..calls.call import Call
from ..calls.operation import Operation
from ..calls.violation import NotImplementedVariant
from ..implementation.domain import ATTENDED, REQUIRED
from ..specification import tuned
from . import effort
from .choices import Choose
from .covering import kind_of_shape, kind_of_size
from .values import ValueDraw

SMALL = (1, 2, 3, 4, 5, 7, 8)

SIZES = (*SMALL, 9, 12, 15, 16, 17, 24, 31, 32, 33, 47, 63, 64, 65, 80, 96, 100, 127, 128, 129, 130, 160, 200, 255, 256, 257)

LONG = (300, 511, 513, 1000, 1023, 1024, 1025, 2047, 2049, 4097, 5000)

# Sizes of models and of kernels, and their neighbours. One dimension at a time has such a size.
MODELS = (191, 192, 193, 384, 512, 640, 767, 768, 769, 1536, 2048, 3071, 3072, 4095, 4096, 5120, 8191, 8192, 8193)

MODEL_SHARE = 32  # one example in so many, of those in which one dimension is larger, has such a size

MAX_MATRIX_ELEMENTS, MAX_SAMPLED_MATRIX_ELEMENTS = 65_544, 32_776  # of a matrix with such a size, beside dimensions of 8

HEAD_WIDTHS = (64, 72, 80, 96, 104, 112, 128, 192, 256)  # of queries and keys, or of values

FRESH_SHARE = 1  # how often the sizes that no other dimension has are repeated in the list that a size is drawn from

EQUAL_SIZES = (2, 3, 4, 5, 8, 16)  # where all dimensions are equal

BATCHES = ((), (1,), (2,), (3,), (2, 3), (3, 1), (2, 2), (2, 1, 3), (3, 2, 2))

MANY_ROWS = ((), (1,), (3,), (8,), (13,), (2, 5), (4, 3), (3, 3), (2, 3, 4), (3, 2, 2), (2, 1, 2, 3))

TALL_BATCHES = ((33,), (65,), (129,), (5, 27))  # more rows than a tile has; drawn where rows are short

MAX_SHORT_ROW = 64  # elements

# More entries than a small grid of blocks has, drawn in one example of GRID_SHARE, with long rows too if the budget admits it.
GRID_BATCHES, GRID_SHARE = ((48,), (66,), (200,), (257,), (11, 50), (1000,)), 24
MAX_GRID_ELEMENTS = 66 * 4097

# Sizes of a very long dimension: beyond 16-bit indices, and beyond blocks of any size.
SEQUENCES, LONG_ROWS = (8193, 8193, 16_385), (65_537, 131_073, 70_001, 32_769)

MAX_SQUARE_ELEMENTS = 1025 * 1025  # of a square mask or bias

FEW_ENTRIES = 7  # 2¹⁵, 2¹⁶ and 2¹⁶ − 1 are no multiples: in a batch of copies, an index that wraps meets another entry

BRANCH_SHARE = 8  # one example in so many is of a branch, where no plan says which

MAX_LONG_BATCH = 3  # rows, where each row is very long


def single(*values: float) -> tuple[float, ...]:
    """Return parameters rounded to float32, as frameworks store theirs."""
    return tuple(float(np.float32(v)) for v in values)


EPS = single(1e-5, 1e-6, 1e-8, 1e-12, 1e-3, 0.1, 1.0)

WRITTEN_EPS = (1e-5, 1e-6, 1e-4, 1e-7)  # as people write them, in float64; kernels may round them to float32

THETA = single(10_000.0, 500_000.0, 100.0, 1_000_000.0, 2.5)


class Draw(ValueDraw):
    """Draw the arguments of an operation. Laws and `operations/<name>.py` use it."""

    def __init__(self, choose: Choose, operation: Operation, choose_shape: Choose | None = None):
        super().__init__(choose, operation, choose_shape)
        operation.backend.meter.add(tuned.WORK_OF_DRAW)
        self.long = False  # whether a dimension, or the batch, shall be very long
        self.small = False  # whether every dimension shall be small, and the batch of FEW_ENTRIES
        self._has_long_dimension = False  # whether one already is
        self._all_arguments = False  # whether every optional argument is passed

    def for_operation(self, operation: Operation) -> Draw:
        """Return the same example for another operation and its domain."""
        other = Draw(self._choose, operation)
        other.log, other.shape, other.__dict__["rng"], other.__dict__["bits"] = self.log, self.shape, self.rng, self.bits
        other._all_arguments, other.long, other._has_long_dimension = self._all_arguments, self.long, self._has_long_dimension
        other.small = self.small
        return other

    # --- dimensions -------------------------------------------------------------------------------------------------

    def dims(self, **ceilings: int) -> tuple[int, ...]:
        """Draw named dimensions, given the largest size of each.

        All of them are small, but one may be larger, up to its ceiling, or all may be equal. A dimension whose ceiling is above
        257 is the larger one more often, and may be long.
        """
        if self.long:
            return self._long_dims(ceilings)
        if self.small:
            return tuple(self.size(name, SMALL[1:3]) for name in ceilings)
        long = [name for name, ceiling in ceilings.items() if ceiling > SIZES[-1]]
        larger = self.shape.one_of((None, *ceilings, *ceilings, *ceilings, *long, *long, *long, "all equal"))
        if larger == "all equal":
            size = self.shape.one_of(EQUAL_SIZES)
            return tuple(self.size(name, (size,)) for name in ceilings)
        return tuple(
            self.size(name, self._sizes_up_to(ceiling) if name == larger else SMALL) for name, ceiling in ceilings.items()
        )

    def square(self, **ceiling: int) -> int:
        """Draw the named dimension of a square array, which has no more than MAX_SQUARE_ELEMENTS elements."""
        ((name, n),) = zip(ceiling, self.dims(**ceiling), strict=True)
        return n if n * n <= MAX_SQUARE_ELEMENTS else self.size(name, SIZES)

    def _long_dims(self, ceilings: dict[str, int]) -> tuple[int, ...]:
        """Make one dimension with a high ceiling very long; or none, so that `batch` may be very long."""
        high = {name: LONG_ROWS if top >= LONG[-2] else SEQUENCES for name, top in ceilings.items() if top >= SIZES[-1]}
        very_long = self.shape.one_of((*high, None) if not (high and self.operation.spec.composed) else high)
        self._has_long_dimension = self._has_long_dimension or very_long is not None
        return tuple(self.size(name, high[name] if name == very_long else SMALL) for name in ceilings)

    def _sizes_up_to(self, ceiling: int) -> tuple[int, ...]:
        """Return the sizes up to the ceiling. Long ones stand in it twice, and the largest four to eight times.

        The largest matters most, because it alone exceeds the largest blocks of kernels. Rows may also be as wide as the largest
        models.
        """
        spec = self.operation.spec
        if spec.composed and ceiling < SIZES[-1] and effort.current_effort().name == "smoke":
            ceiling = min(ceiling, 65)
        costly = spec.is_gradient and spec.composed
        pool = tuple(s for s in (SIZES if costly else (*SIZES, *LONG, *LONG)) if s <= ceiling)
        budget = MAX_SAMPLED_MATRIX_ELEMENTS if spec.composed else MAX_MATRIX_ELEMENTS
        models = tuple(s for s in MODELS if s <= budget // SMALL[-1])
        if ceiling >= SIZES[-1] and not costly and self.shape.integer(0, MODEL_SHARE - 1) == MODEL_SHARE - 1:
            return models
        if ceiling >= LONG[-1]:  # rows, which cost little
            return (*pool, *pool[-1:] * 3, *MODELS[-3:])
        return (*pool, *pool[-1:] * 6)

    def size(self, name: str, pool: tuple[int, ...]) -> int:
        """Draw one dimension from the pool. If the domain allows none of it, draw one of the domain's smallest sizes."""
        domain = self.operation.domain
        allowed = domain.get(name)
        while isinstance(allowed, str):  # the name of another dimension, or names whose sizes are multiplied
            known = [self.drawn_sizes[factor] for factor in allowed.split() if factor in self.drawn_sizes]
            allowed = (math.prod(known),) if len(known) == len(allowed.split()) else domain.get(allowed)
        if allowed is not None:
            inside = tuple(s for s in pool if s in allowed)
            pool = inside or tuple(sorted(s for s in allowed if s is not None))[: 8 if len(pool) > len(SMALL) else 3]
        fresh = tuple(s for s in pool if s > 1 and s not in self.drawn_sizes.values())  # sizes of 1 hide more than equal ones
        if 0 < len(fresh) < len(pool):  # equal sizes hide dimensions that are mistaken for one another
            pool = (*pool, *fresh * FRESH_SHARE)
        self.drawn_sizes[name] = size = int(self.shape.one_of(self.planned(name, pool, kind_of_size, of_shape=True)))
        return size

    @cached_property
    def drawn_sizes(self) -> dict[str, int]:
        """The sizes of this example, by the names of dimensions."""
        return {}

    def batch(self, pool: tuple[tuple[int, ...], ...] = BATCHES) -> tuple[int, ...]:
        """Draw the batch dimensions from the pool. The last one is sometimes made equal to a dimension drawn before."""
        if pool is MANY_ROWS and max(self.drawn_sizes.values(), default=0) <= MAX_SHORT_ROW:
            pool = (*pool, *TALL_BATCHES)
        ranks = self.operation.domain.get("batch_dims")
        if self.small:
            return (FEW_ENTRIES, 1, 1, 1)[: next((rank for rank in ranks or (1,) if rank), 0)]
        if ranks is not None:
            pool = tuple(b for b in pool if len(b) in ranks) or tuple((2,) * r for r in ranks)
        if self.long:
            if not self._has_long_dimension and not self.operation.spec.composed and 1 in (ranks or (1,)):
                return LONG_ROWS[:1]
            pool = tuple(b for b in pool if math.prod(b) <= MAX_LONG_BATCH) or pool
        if many := self._grid_batches(pool, ranks):
            return tuple(self.shape.one_of(many))
        batch = tuple(self.shape.one_of(self.planned("batch", pool, kind_of_shape, of_shape=True)))
        coinciding = [(*batch[:-1], size) for size in sorted(set(self.drawn_sizes.values()) & set(SMALL))] if batch else []
        coinciding = [b for b in coinciding if math.prod(b) <= max(map(math.prod, pool))]
        return tuple(self.shape.one_of(coinciding)) if coinciding and self.shape.one_of((False, False, False, True)) else batch

    def _grid_batches(self, pool: tuple[tuple[int, ...], ...], ranks: Any) -> list[tuple[int, ...]]:
        """Return batches of hundreds of entries, in one example of GRID_SHARE, as far as the pool and the drawn sizes allow."""
        spec, short = self.operation.spec, self.long or len(pool) < len(BATCHES)  # a law or an operation has kept few batches
        if short or (spec.composed and spec.is_gradient) or self.shape.integer(0, GRID_SHARE - 1) != GRID_SHARE - 1:
            return []
        budget = MAX_GRID_ELEMENTS // (64 if spec.composed else 1)
        entry = math.prod(sorted(self.drawn_sizes.values())[-2:])
        return [b for b in GRID_BATCHES if math.prod(b) * entry <= budget and (ranks is None or len(b) in ranks)]

    def rows_or_less(self, d: int) -> tuple[int, ...]:
        """Draw the shape of an elementwise operation's argument: rows of d elements, one row, or a scalar."""
        rows = (*self.batch(MANY_ROWS), d)
        return tuple(
            self.shape.one_of((rows, (d,), (), rows, rows) if 0 in self.operation.domain.get("batch_dims", (0,)) else (rows,))
        )

    # --- configuration ----------------------------------------------------------------------------------------------

    def keyword(self, name: str, values: Iterable[Any]) -> dict[str, Any]:
        """Draw the value of a keyword, and return it as {name: value}.

        If the domain states values, they replace `values`, except that its 0 is drawn only if `values` has a 0. Return {} if the
        function lacks the keyword, so that the default applies, unless the domain fixes one value.
        """
        values, allowed = tuple(values), self.operation.domain.get(name)
        if allowed is not None:
            values = tuple(value for value in allowed if value != 0 or 0 in values)
            if not values:
                raise NotImplementedVariant(f"its domain has no {name} but 0")
        if self.operation.accepts(name) or (allowed is not None and len(values) == 1):
            return {name: self.one_of(self.planned(name, values))}
        return {name: -1} if name == "axis" else {}

    def only(self, name: str, *values: Any) -> dict[str, Any]:
        """Draw one of the values of a keyword that a law is about, and return it as {name: value}.

        Return {} if the function lacks the keyword and its default is one of them. Raise NotImplementedVariant if the domain
        states other values, or if the default is another.
        """
        default = self.operation.spec.defaults[name]
        allowed = self.operation.domain.get(name, values if self.operation.accepts(name) else (default,))
        fitting = tuple(value for value in values if value in allowed)
        if not fitting:
            raise NotImplementedVariant(f"its domain has no {name} = {' or '.join(map(repr, values))}")
        return {name: self.one_of(self.planned(name, fitting))} if self.operation.accepts(name) or len(allowed) == 1 else {}

    def eps_values(self) -> tuple[float, ...]:
        """Return the values of eps to draw from: in float64 only those that float32 holds, if its rounding would be sampled."""
        sampled_in_double = self.operation.spec.composed and self.operation.dtype == "float64"
        return EPS if sampled_in_double else (*EPS, *WRITTEN_EPS)

    def columns(self, m: int, square: int) -> dict[str, Any]:
        """Draw the keyword m: mostly m itself, sometimes 0, or None, which makes the array square.

        `square` is how many elements the array has if it is square. None is not drawn where those are too many.
        """
        if self.operation.accepts("m"):
            return {"m": self.one_of((m,) if self.long else (m, None, m, m, 0) if square <= MAX_SQUARE_ELEMENTS else (m, 0))}
        if self.long:
            raise NotImplementedVariant("a square so long is not tried", "suite")
        return {}

    def variants(self, *names: str, seldom: bool = False) -> set[str]:
        """Draw which optional arguments to pass: mostly none or one, sometimes two or all.

        An argument whose default lies outside the domain is always passed. seldom: two of three examples pass none, since an
        argument stands in place of another that has to be tried.
        """
        domain, default = self.operation.domain, self.operation.spec.defaults
        names = tuple(n for n in names if self.operation.accepts(n) and tuple(domain.get(n, ())) != (default.get(n),))
        always = {n for n in names if n in domain and (domain[n] == REQUIRED or default.get(n) not in domain[n])}
        n = len(names)
        several = (2, 2, n) if n > 1 else ()
        counts = (*(0,) * (14 if seldom else 2), *(1,) * min(2 * n, 6), *several)
        factor = f"how many of {names[0]} …" if names else ""
        count = n if self._all_arguments or not n else self.one_of(self.planned(factor, counts, str))
        choices = tuple(itertools.combinations(names, count))
        if self.plan:
            kinds = [{f"{name} or not": "given" if name in used else "absent" for name in names} for used in choices]
            self.plan(kinds, of_shape=False)
        return always | set(self.one_of(choices))

    def settle(self, used: set[str], names: Mapping[str, str]) -> set[str]:
        """Return which optional weights are used, of those drawn. `names` has each by its name in a sentence."""
        return used

    # --- a whole call -----------------------------------------------------------------------------------------------

    def call(self, *, all_arguments: bool = False, long: bool = False, small: bool = False, any_branch: bool = False) -> Call:
        """Draw a call with the operation's own `arguments(draw)`. A gradient gets a cotangent before them.

        `all_arguments` passes every optional argument. `long` makes a dimension very long where the operation has one.
        `small` makes every dimension small, and the batch of FEW_ENTRIES. `any_branch` takes one of the operation's branches in
        place of `arguments` in one example of BRANCH_SHARE, or where a plan says so.
        """
        self._all_arguments, self.long, self._has_long_dimension, self.small = all_arguments, long, False, small
        arguments, keywords = self._draw_arguments(any_branch=any_branch)
        if self.operation.domain.get("one_array"):
            arguments = (arguments[0],) * len(ATTENDED) + arguments[len(ATTENDED) :]
        if self.operation.spec.is_gradient:
            forward = self.operation.forward.call(*arguments, **keywords)  # type: ignore[attr-defined]
            arguments = (self.cotangents(self.results_of(forward)), *arguments)
        return self.operation.call(*arguments, **keywords)

    def _draw_arguments(self, *, any_branch: bool) -> tuple[tuple[Any, ...], dict[str, Any]]:
        declaration = self.operation.spec.declaration
        if not (any_branch and declaration.branches):
            return declaration.arguments(self)
        names = (*[""] * ((BRANCH_SHARE - 1) * len(declaration.branches)), *declaration.branches)
        name = self.one_of(self.planned("branch", names))
        return declaration.branches[name](self) if name else declaration.arguments(self)

    def results_of(self, forward: Call) -> Any:
        """Return the results of a forward operation, whose gradients are asked for."""
        return forward.oracle_results


def within_domain(draw: Draw, **sizes: Any) -> None:
    """Raise NotImplementedVariant if the domain excludes a size that a law needs.

    `Draw.size` draws only sizes inside the domain, but a law may need other sizes than those drawn.
    """
    for name, size in sizes.items():
        allowed = draw.operation.domain.get(name)
        if allowed is not None and not isinstance(allowed, str) and size not in allowed:
            raise NotImplementedVariant(f"its domain has no {name} = {size}")
