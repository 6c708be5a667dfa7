"""Random choices of an example: pairs of factors are covered, and `--shapes` is followed."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from random import Random

from ..inputs.choices import shape_choices
from ..inputs.covering import Covering


class RandomChoices:
    """Random choices for an example. `covering` plans those that have a name. It belongs to all examples of a trial."""

    def __init__(self, random: Random, operation: str = "", covering: Covering | None = None):
        self.random, self.covering = random, covering
        self.choose_shape = shape_choices(operation, random)
        self.planned: int | None = None  # the place of the next choice
        if self.covering:
            self.covering.start()

    def plan(self, options: Sequence[Mapping[str, Hashable]], *, of_shape: bool) -> None:
        """Plan the next choice, which is one of these options. Each gives a kind to one factor, or to several."""
        if self.covering and not (of_shape and self.choose_shape):
            place = self.covering.choose(options, self.random)
            self.planned = place if len(options) > 1 else None

    def draw_integer(self, low: int, high: int) -> int:
        place, self.planned = self.planned, None
        return self.random.randint(low, high) if place is None else low + place

    def draw_shape(self, low: int, high: int) -> int:
        return self.draw_integer(low, high) if self.choose_shape is None else self.choose_shape(low, high)

    def mark_overrun(self) -> None:
        """Do nothing, since there is no shrinking."""
