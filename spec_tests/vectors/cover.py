"""Which few of the candidates meet every kind of call that any of them is: each law, each choice of a draw, each size class.

The choice knows no bug. So how many bugs the vectors catch says something of bugs that nobody knows yet.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from math import prod
from types import MappingProxyType

import numpy as np

from ..calls.in_domain import dimension_sizes
from ..inputs.covering import kind_of_size
from ..specification.pytree import leaves
from .candidates import Candidate

OVERHEAD = 64  # numbers that as many bytes hold as the names and shapes of a vector take
MOST_ROWS = 1000  # as many as the largest grid of blocks for which laws draw a batch
SPECIAL: Mapping[str, Callable[[np.ndarray], np.ndarray]] = MappingProxyType(
    {"NaN": np.isnan, "∞": np.isposinf, "−∞": np.isneginf}
)
LONG = "long"  # how the kinds of sizes end that are larger than 512


def list_kinds(candidate: Candidate) -> Iterator[Hashable]:
    """Yield what a candidate is one of. Long sizes and orders of magnitude of sizes count once, all others in each dtype."""
    dtype, sizes = candidate.dtype, dimension_sizes(candidate.call)
    yield dtype, "law", candidate.law
    for factor, kind in candidate.chosen:
        yield ("" if _is_long(kind) else dtype), factor, kind
    for name, size in sizes.items():
        yield "magnitude", name, size.bit_length()
        if candidate.is_plain:
            kind = kind_of_size(size)
            yield ("" if _is_long(kind) else dtype), "plain", name, kind
    if candidate.is_plain:
        yield dtype, "plain"
    for path, x in leaves(candidate.call.named):
        if isinstance(x, np.ndarray) and x.dtype.kind == "f":
            yield from ((dtype, "holds", path, what) for what, is_so in SPECIAL.items() if np.any(is_so(x)))
    yield "magnitude", "rows", min(_count_rows(candidate), MOST_ROWS).bit_length()


def _is_long(kind: Hashable) -> bool:
    return isinstance(kind, str) and kind.endswith(LONG)


def _count_rows(candidate: Candidate) -> int:
    first = next((x for x in candidate.call.named.values() if isinstance(x, np.ndarray)), np.zeros(0))
    return prod(first.shape[:-1])


def choose(
    kinds: Sequence[frozenset[Hashable]], sizes: Sequence[int], is_allowed: Callable[[int], bool] = lambda number: True
) -> list[int]:
    """Return the numbers of few candidates, of those that are allowed, that together are of every kind that any of them is.

    The next one is always the one with most of the kinds that are left for the root of its size, so that a few long ones do not
    fill the file. `is_allowed` may take long, and is asked only of those that would be chosen.
    """
    left, rest, chosen = set[Hashable]().union(*kinds), set(range(len(sizes))), list[int]()
    while left:
        gains = {number: len(gain) / (sizes[number] + OVERHEAD) ** 0.5 for number in rest if (gain := kinds[number] & left)}
        if not gains:
            break
        best = max(gains, key=lambda number: (gains[number], -number))
        rest.discard(best)
        if is_allowed(best):
            chosen.append(best)
            left -= kinds[best]
    return chosen
