"""Rows of an example that cover: each pair of values that an operation allows is met as soon as the number of examples admits it.

A factor is a choice that has a name: an option, a size, the rank of the batch, the regime of an array, a branch of an operation.
Its values are taken together in kinds, such as "2ᵏ + 1" of a size. The factors of an example come one after the other, and which
of them come depends on those before. So no covering array can be made beforehand. Each choice takes a kind that meets as many new
pairs with the kinds chosen before it as possible, then one that has most pairs still to be met, then any, by its share
(the greedy algorithm of Cohen, Dalal, Fredman and Patton 1997, with the order of the draws as its order).
"""

from __future__ import annotations

import math
import zlib
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache, lru_cache
from random import Random
from typing import Any

Kind = Callable[[Any], Hashable]  # from a value to the kind that stands for it

Item = tuple[str, Hashable]  # a factor and the kind of its value

PATIENCE = 2  # examples of a kind without a new pair, after which no further pairs are expected of it

VALUES = ("array", "hidden", "cotangent")  # how factors begin that are about values of arrays


class Covering:
    """The pairs of kinds that the examples of one trial have met, and what the next choice of an example should be.

    Each kind of a factor is a bit, so that a set of kinds is an integer.
    """

    def __init__(self, part: int = 0, parts: int = 1) -> None:
        """Prefer the pairs of this part. Several trials of one law then meet other pairs first, whatever ran before."""
        self.part, self.parts = part, parts
        self.own: dict[int, int] = defaultdict(int)  # by the bit of a kind: the kinds with which it makes a pair of this part
        self.bits: dict[Item, int] = {}
        self.of_factor: dict[str, dict[Hashable, int]] = defaultdict(dict)  # the bit of each kind that an example could choose
        self.known: dict[str, int] = defaultdict(int)  # the same bits of each factor, as one set
        self.values = 0  # those of the factors that are about values of arrays
        self.met: dict[int, int] = {}  # by the bit of a kind: the kinds that stood beside it in an example
        self.idle: dict[int, int] = defaultdict(int)  # by the bit of a kind: how many of its last examples have met no new pair
        self.chosen: dict[str, int] = {}  # the bit of each factor of the present example

    def start(self) -> None:
        """Begin an example. What the one before has chosen is met, even if it was refused: it would be again."""
        together = sum(self.chosen.values())
        for bit in self.chosen.values():
            met = self.met.get(bit, 0)
            self.idle[bit] = 0 if together & ~met & ~self.values else self.idle[bit] + 1
            self.met[bit] = met | together
        self.chosen = {}

    def choose(self, options: Sequence[Mapping[str, Hashable]], random: Random) -> int:
        """Return which of these options the next choice should take. Each gives a kind to one factor, or to several.

        An option that stands there more often is preferred to its equals.
        """
        if not options[0]:
            return random.randrange(len(options))
        factors = tuple(options[0])
        sets = [*zip(*(self._bits_of(factor, [option[factor] for option in options]) for factor in factors), strict=True)]
        places: Sequence[int] = range(len(sets))
        if len(distinct := dict.fromkeys(sets)) > 1:
            others = sum(bit for factor, bit in self.chosen.items() if factor not in options[0])
            ahead = sum(bits for factor, bits in self.known.items() if factor not in self.chosen and factor not in options[0])
            ranks = {bits: self._rank(bits, others, ahead) for bits in distinct}
            best = max(ranks.values())
            places = [i for i, bits in enumerate(sets) if ranks[bits] == best]
        place = random.choice(places)
        self.chosen.update(zip(factors, sets[place], strict=True))
        return place

    def _bits_of(self, factor: str, kinds: list[Hashable]) -> list[int]:
        """Return the bit of each of these kinds."""
        bits = self.of_factor[factor]
        for kind in kinds:
            if kind not in bits:
                self._add(factor, kind)
        return [bits[kind] for kind in kinds]

    def _add(self, factor: str, kind: Hashable) -> None:
        """Give a kind its bit."""
        item, bit = (factor, kind), 1 << len(self.bits)
        for other, its_bit in self.bits.items() if self.parts > 1 else ():
            if _hash_pair(item, other) % self.parts == self.part:
                self.own[bit] |= its_bit
                self.own[its_bit] |= bit
        self.bits[item] = self.of_factor[factor][kind] = bit
        self.known[factor] |= bit
        self.values |= bit * factor.startswith(VALUES)

    def _rank(self, bits: tuple[int, ...], others: int, ahead: int) -> tuple[int, ...]:
        """Return how many of these kinds are new, and how many of their pairs: with what is chosen, and with what may come.

        Many pairs are impossible, as that of no option with a value of one. So what may come counts only until examples of a kind
        have met nothing new. Choices then fall by their shares again. Pairs of this part come first. Pairs with kinds of values
        come last: there are most of them, and each array meets most kinds in its rows.
        """
        new = own = with_chosen = with_coming = with_values = 0
        for bit in bits:
            met = self.met.get(bit, 0)
            new += not met
            unmet = others & ~met
            plain = unmet & ~self.values
            with_chosen += plain.bit_count()
            own += (plain & self.own[bit]).bit_count() if self.parts > 1 else 0
            with_coming += (ahead & ~met & ~self.values).bit_count() if self.idle[bit] < PATIENCE else 0
            with_values += (unmet & self.values).bit_count()
        return new, own, with_chosen, with_coming, with_values

    @property
    def pairs(self) -> set[frozenset[Item]]:
        """The pairs that were met."""
        self.start()
        items = {bit: item for item, bit in self.bits.items()}
        pairs = {frozenset((one, items[bit])) for bit, met in self.met.items() for one in items.values() if met & self.bits[one]}
        return {pair for pair in pairs if len(pair) == 2}


def _hash_pair(one: Item, other: Item) -> int:
    """Return a number for a pair, the same one in every process."""
    (_, first), (_, second) = sorted((_describe(*one), _describe(*other)))
    return zlib.crc32(f"[{first}, {second}]".encode())


@lru_cache(1 << 14, typed=True)  # True is another kind than 1
def _describe(factor: str, kind: Hashable) -> tuple[str, str]:
    """Return the text of an item, and that in quotes."""
    text = repr((factor, kind))
    return text, repr(text)


def kind_of_value(value: Any) -> Hashable:
    """Return the kind of an option's value: itself if it is no number, else its sign and its order of magnitude."""
    if value is None or isinstance(value, bool | str):
        return value
    if not isinstance(value, int | float):
        return type(value).__name__
    if value == 0 or math.isinf(value):
        return f"{value:g}"
    size = abs(value)
    order = "tiny" if size < 1e-6 else "small" if size < 0.01 else "below 1" if size < 1 else "1" if size == 1 else "above 1"
    return f"{'−' * (value < 0)}{order}"


@cache
def kind_of_size(size: int) -> str:
    """Return how a size stands to the blocks that kernels have: powers of two, and three times powers of two."""
    if size <= 2:
        return str(size)
    near = {k: step for step in (-1, 0, 1) if (k := size - step) & (k - 1) == 0 and k > 2}
    if near:
        (step,) = list(near.values())[:1]
        return f"2ᵏ{' − 1' if step < 0 else ' + 1' if step else ''}{' long' if size > 512 else ''}"
    if size % 3 == 0 and (size // 3) & (size // 3 - 1) == 0:
        return "3·2ᵏ"
    return "long" if size > 512 else "other"


def kind_of_shape(shape: Sequence[int]) -> str:
    """Return the kind of a batch: its rank, and whether it has ones or many entries."""
    ones = " with 1" if 1 in shape and len(shape) > 1 else ""
    return f"{len(shape)}{ones}{' of many' if math.prod(shape) > 32 else ''}"
