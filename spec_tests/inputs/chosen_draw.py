"""Draw the arguments of an operation with chosen sizes and options. What is not chosen is small, ordinary and random."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..calls.call import Call
from ..calls.in_domain import dimension_sizes
from ..calls.operation import Operation
from ..calls.violation import NotImplementedVariant
from ..specification.registry import Specification
from . import regimes
from .choices import Choose, shape_choices
from .draw import BATCHES, SMALL, Draw
from .values import MAX_BITS

MAX_SMALL_BATCH = 6  # entries

MAX_ELEMENTS = 300_000  # of an array

MAX_COMPOSED = 2**15  # elements of the arrays and products of an operation whose sampled error takes seconds for more


@dataclass(frozen=True)
class Chosen:
    """What is chosen. The rest is drawn: as for a law if `as_drawn`, else small."""

    sizes: Mapping[str, int] = field(default_factory=dict)
    keywords: Mapping[str, Any] = field(default_factory=dict)
    given: Mapping[str, bool] = field(default_factory=dict)  # which optional arguments are passed
    batch: tuple[int, ...] | None = None
    fill: regimes.Fill | None = None  # for the rows of arrays, in place of normally distributed ones
    as_drawn: bool = False


class ChosenDraw(Draw):
    """A draw in which some choices are made beforehand. It is not stored and replayed as the examples of laws are."""

    def __init__(self, choose: Choose, operation: Operation, chosen: Chosen, choose_shape: Choose | None = None):
        super().__init__(choose, operation, choose_shape)
        self.chosen = chosen
        self.largest: dict[str, int] = {}  # of each dimension, among the sizes that laws draw
        if not chosen.as_drawn:
            self.__dict__["bits"] = MAX_BITS
        self.has_structures = chosen.as_drawn and chosen.fill is None

    def small_call(self, *, all_arguments: bool = False) -> Call:
        """Draw a call. Where it is drawn as for a law, and nobody chooses what is given, it may be one of a branch."""
        chosen = self.chosen
        return self.call(all_arguments=all_arguments, any_branch=chosen.as_drawn and not (chosen.given or chosen.sizes))

    def _draw_arguments(self, *, any_branch: bool) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Draw the arguments. A branch is taken where it alone passes all optional arguments that shall be given."""
        drawn, spec = super()._draw_arguments(any_branch=any_branch), self.operation.spec
        wanted = {name for name, is_given in self.chosen.given.items() if is_given}
        if wanted <= _list_given(spec, *drawn):
            return drawn
        branches = (draw_branch(self) for draw_branch in spec.declaration.branches.values())
        return next((found for found in branches if wanted <= _list_given(spec, *found)), drawn)

    def dims(self, **ceilings: int) -> tuple[int, ...]:
        self.largest.update(ceilings)
        if self.chosen.as_drawn:
            return super().dims(**ceilings)
        return tuple(self.size(name, SMALL) for name in ceilings)

    def size(self, name: str, pool: tuple[int, ...]) -> int:
        self.largest[name] = max(self.largest.get(name, 0), *pool)
        if name in self.chosen.sizes:
            self.drawn_sizes[name] = self.chosen.sizes[name]
            return self.chosen.sizes[name]
        small = tuple(size for size in pool if size <= SMALL[-1])
        return super().size(name, pool if self.chosen.as_drawn else small or (min(pool),))

    def batch(self, pool: tuple[tuple[int, ...], ...] = BATCHES) -> tuple[int, ...]:
        if self.chosen.batch is not None:
            return self.chosen.batch
        if self.chosen.as_drawn:
            return super().batch(pool)
        return super().batch(tuple(b for b in pool if math.prod(b) <= MAX_SMALL_BATCH) or pool)

    def rows_or_less(self, d: int) -> tuple[int, ...]:
        return super().rows_or_less(d) if self.chosen.batch is None else (*self.chosen.batch, d)

    def keyword(self, name: str, values: Iterable[Any]) -> dict[str, Any]:
        if name in self.chosen.keywords and self.operation.accepts(name):
            return {name: self.chosen.keywords[name]}
        return super().keyword(name, values)

    def columns(self, m: int, square: int) -> dict[str, Any]:
        if not self.chosen.as_drawn and self.operation.accepts("m"):
            return {"m": m}
        return super().columns(m, square)

    def variants(self, *names: str, seldom: bool = False) -> set[str]:
        used = super().variants(*names, seldom=seldom)
        return self.settle(used, {name: name for name in names if self.operation.accepts(name)})

    def settle(self, used: set[str], names: Mapping[str, str]) -> set[str]:
        chosen = {names[name]: is_given for name, is_given in self.chosen.given.items() if name in names}
        return {name for name in used | set(chosen) if chosen.get(name, True)}

    def gain(self, d: int) -> np.ndarray:
        if self.chosen.as_drawn:
            return super().gain(d)
        return self.held(self.rng.choice((-1.0, 1.0), d) * self.rng.uniform(0.5, 2.0, d))  # a 0 would hide errors

    def results_of(self, forward: Call) -> Any:
        require_small_call(forward)
        return super().results_of(forward)

    def normal(self, shape: tuple[int, ...], scale: float = 1.0) -> np.ndarray:
        _require_small(shape)
        return super().normal(shape, scale)

    def weight(self, out_features: int, in_features: int, *, scales: tuple[float, ...] = ()) -> np.ndarray:
        _require_small((out_features, in_features))
        return super().weight(out_features, in_features, scales=scales)

    def array(self, shape: tuple[int, ...], kinds: Mapping[str, regimes.Fill]) -> np.ndarray:
        _require_small(shape)
        if self.chosen.fill is not None:
            return super().array(shape, {"chosen": self.chosen.fill})
        return super().array(shape, kinds if self.chosen.as_drawn else {"normal": kinds.get("normal", regimes.normal)})


def _list_given(spec: Specification, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> set[str]:
    """Return the names of the arguments that are given."""
    named = {**dict(zip(spec.positional, arguments, strict=False)), **keywords}
    return {name for name, x in named.items() if x is not None}


def _require_small(shape: tuple[int, ...]) -> None:
    if math.prod(shape) > MAX_ELEMENTS:
        raise NotImplementedVariant("an array so large is not asked for", "suite")


def draw_small_call(
    operation: Operation,
    source: random.Random,
    *,
    all_arguments: bool,
    chosen: Chosen | None = None,
) -> Call:
    """Draw a call as laws do, but for what is chosen. Raise NotImplementedVariant if it is a large one."""
    draw = ChosenDraw(source.randint, operation, chosen or Chosen(as_drawn=True), shape_choices(operation.name, source))
    call = draw.small_call(all_arguments=all_arguments)
    require_small_call(call)
    return call


def require_small_call(call: Call) -> None:
    """Raise NotImplementedVariant if a call, its products or its results have too many elements.

    The results are computed last, since they take seconds for long sequences.
    """
    limit = MAX_COMPOSED if call.operation.spec.composed else MAX_ELEMENTS
    if call.size > limit or _count_products(call) > limit or call.value.size > limit:
        raise NotImplementedVariant("a call so large is not asked for", "suite")


def _count_products(call: Call) -> int:
    """Return how many elements the largest intermediate result may have, such as the scores of attention."""
    if not call.operation.spec.composed:
        return 0
    sizes = dimension_sizes(call)
    length = sizes.get("n", 1)
    scores = call.named.get("num_heads", 1) * length * sizes.get("m", length)  # a sequence that attends to itself has no m
    first = next((x for x in call.named.values() if isinstance(x, np.ndarray)), np.zeros(1))
    return max(scores, math.prod(sorted(sizes.values())[-2:])) * math.prod(first.shape[: max(first.ndim - 2, 0)])
