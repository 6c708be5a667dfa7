from types import MappingProxyType
from typing import Any

import numpy as np

# The place in a word, from its lowest four bits on, of each of its eight numbers.
PLACES = MappingProxyType({"sequential": (0, 1, 2, 3, 4, 5, 6, 7), "awq": (0, 4, 1, 5, 2, 6, 3, 7)})


def unpack_int4(packed: Any, *, order: str = "sequential", signed: bool = False) -> Any:
    """The integers of four bits that words of 32 bits hold: eight in each word.

        y_(8 c + i) = (packed_c >> 4 place_i) & 15,  less 16 from 8 on if signed

    Shapes
        packed (..., C)  ->  (..., 8 C)
    Dtypes
        int8
    Domain
        packed is int32, whose bits count, not its sign.
    Edges
        The highest four bits of a negative word are one of its numbers, as the others are.

    Raises
        ValueError where order is none of the two.
    Choices
        In sequential order the first number is in the lowest four bits. In AWQ's order the lowest four bits are number 0, the
        next ones are numbers 2, 4, 6, 1, 3, 5 and 7. GPTQ packs rows of a weight so, AWQ columns.
    Source
        Lin et al. 2023, arXiv:2306.00978 (AWQ); Frantar et al. 2022, arXiv:2210.17323 (GPTQ).

    >>> unpack_int4([0x76543210])
    array([0, 1, 2, 3, 4, 5, 6, 7], dtype=int8)
    >>> unpack_int4([0x76543210], order="awq")
    array([0, 4, 1, 5, 2, 6, 3, 7], dtype=int8)
    >>> unpack_int4([-1], signed=True)
    array([-1, -1, -1, -1, -1, -1, -1, -1], dtype=int8)

    """
    if order not in PLACES:
        raise ValueError(f"unpack_int4: order={order!r} is unknown; there are {' and '.join(PLACES)}.")
    words = np.asarray(packed).astype(np.int64)
    y = (words[..., None] >> (4 * np.array(PLACES[order]))) & 15
    y = np.where(signed & (y >= 8), y - 16, y)
    return y.reshape(*words.shape[:-1], 8 * words.shape[-1]).astype(np.int8)
