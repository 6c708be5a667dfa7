"""Random roundings for the sampled error bound: random signs, rounding on a random grid, and the errors of sums.

This is Monte Carlo arithmetic (Parker 1997): `Sample` moves each result of a draw by a random rounding error. There are three
kinds of error. A single operation moves its result up or down by its largest error (`RandomStream.signs`). Storing a tensor in
16 bits rounds it to nearest on a grid of random scale (`round_on_random_grid`). A sum or a matrix product has the error of
sequential summation with independent roundings (`spread_of_partial_sums`).

Arrays have the draws along axis 0. If its length is 1, all draws are equal.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from ..specification.formats import Format
from .axis_of_draws import align_ranks

DRAWS, COARSE_DRAWS = 24, 16
FEW_DRAWS = 8  # the first draws, with which most answers are judged
COARSE_FACTOR = 2.0**3  # how many times larger the roundings of the coarse draws are
ROUNDING_FACTORS = np.array([1.0] * DRAWS + [COARSE_FACTOR] * COARSE_DRAWS)  # one for each draw

PER_VALUE_SCALE_PERIOD = 4  # draws; in every fourth draw each value is rounded on a grid with a scale of its own
FEW_EQUAL = 16  # as many equal errors add up to at most 4 times what independent ones do, which SIGMAS allow
MANY_TERMS = 32  # the spread of fewer partial sums exceeds what equal terms err, divided by SIGMAS
MAX_SIGNS = 1 << 23  # in a table from which all draws of an array are cut in one piece: 64 MiB
MACHINE_BITS = 20  # of the 52 of a value: sums of thousands of terms in another order differ in fewer
MIN_RELIABLE_SQUARE = 1e-280  # a sum of squares below this may have lost squares to underflow


@cache
def _make_sign_table(length: int) -> np.ndarray:
    """Return `length` random signs, ±1.0. The length is the seed."""
    bits = np.unpackbits(np.frombuffer(np.random.default_rng(length).bytes(length // 8), dtype=np.uint8))
    signs = bits.astype(np.float64)  # this may take hundreds of megabytes, so it is changed in place
    signs *= -2.0
    signs += 1.0
    return signs


class RandomStream:
    """The random numbers of one sampled evaluation, the same in every run.

    Signs are cut from a fixed table at random places, which is cheaper than drawing new ones. If only the first `draws` draws are
    made, they have the same numbers as among all.

    is_scaled: whether roundings are drawn larger than they are, so that errors are scaled back.
    """

    def __init__(self, draws: int = len(ROUNDING_FACTORS), *, is_scaled: bool = False) -> None:
        self.draws, self.is_scaled, self.rng = draws, is_scaled, np.random.default_rng(0)

    def signs(self, shape: tuple[int, ...]) -> np.ndarray:
        """Return an array of random signs, ±1.0, of this shape for each draw."""
        size = math.prod(shape)
        of_all_draws = size * len(ROUNDING_FACTORS)
        if 2 * of_all_draws <= MAX_SIGNS:
            table = _make_sign_table(1 << max(20, (2 * of_all_draws).bit_length()))
            start = int(self.rng.integers(0, len(table) - of_all_draws + 1))
            return table[start : start + size * self.draws].reshape(self.draws, *shape)
        table = _make_sign_table(max(MAX_SIGNS, 1 << (2 * size).bit_length()))  # each draw has a place of its own
        starts = self.rng.integers(0, len(table) - size + 1, len(ROUNDING_FACTORS))[: self.draws]
        return np.stack([table[start : start + size] for start in starts]).reshape(self.draws, *shape)

    def signs_of(self, x: np.ndarray) -> np.ndarray:
        """Return the signs with which the values x are rounded, for each draw.

        Equal values usually have equal operands and get equal errors, which add up in a later sum; those of unlike signs are
        opposite. Code that adds in another order at every place may give them other errors. Therefore equal values get equal
        signs in every second draw, if many of them are equal to their neighbour.
        """
        signs = self.signs(x.shape)
        if not _many_equal_their_neighbour(x):
            return signs
        table = _make_sign_table(1 << 20)
        places = (_hash_to_unit_interval(np.abs(x)) * (len(table) - len(ROUNDING_FACTORS))).astype(np.int64)
        signs = signs.copy()
        for draw in range(0, self.draws, 2):
            signs[draw] = np.copysign(1.0, x) * table[places + draw]
        return signs

    def either(self, condition: np.ndarray, first: np.ndarray, second: np.ndarray, *, tie: Any = False) -> np.ndarray:
        """Return the first value in each draw where the condition holds, else the second. A tie may be decided either way.

        Where the draws differ, a rounding decides. Each draw then takes one of the two values at random, because code may make a
        decision each time that few draws make. If errors are scaled back, the result is NaN there: the distance of the two values
        does not become smaller with the roundings.
        """
        open_ = np.any(condition | tie, axis=0) & ~np.all(condition & ~np.asarray(tie), axis=0)
        heads = self.signs(condition.shape[1:]) > 0
        if np.any(open_):
            condition = np.where(open_, heads, condition)
        condition, first, second, open_ = align_ranks([condition, first, second, open_[None]])
        chosen = np.where(condition, first, second)
        return np.where(open_, np.nan, chosen) if self.is_scaled and np.any(open_) else chosen

    def chances(self, ndim: int) -> np.ndarray:
        """Return a random number in [0, 1) for each draw, before `ndim` axes of length 1."""
        return self.rng.random(len(ROUNDING_FACTORS))[: self.draws].reshape(-1, *[1] * ndim)

    def factors(self, ndim: int) -> np.ndarray:
        """Return how large the roundings of each draw are, before `ndim` axes of length 1."""
        return ROUNDING_FACTORS[: self.draws].reshape(-1, *[1] * ndim)


def round_on_random_grid(x: np.ndarray, chance: np.ndarray, factor: np.ndarray, f: Format) -> np.ndarray:
    """Round x to the format f, on a grid with a random scale for each draw.

    `chance` holds a random number in [0, 1) for each draw. The draw is multiplied by 2**chance, rounded to nearest, and divided
    by 2**chance. `factor`, a power of two for each draw, makes the grid coarser. As in real rounding, equal values get equal
    errors. Most values that are close to each other do so too, but a real grid may separate them. Therefore each value has a
    scale of its own in every fourth draw.
    """
    y = _round_scaled(x, 2.0**chance, factor, f)
    every_fourth = slice(None, None, PER_VALUE_SCALE_PERIOD)
    subset = x[every_fourth] if len(x) > 1 else x
    scale = 1.0 + chance[every_fourth] + _hash_to_unit_interval(subset)
    y[every_fourth] = _round_scaled(subset, scale, factor[every_fourth], f)
    return y if not y.size or math.isfinite(np.maximum.reduce(y, axis=None)) else np.where(np.isfinite(y), y, x)


def _round_scaled(x: np.ndarray, scale: np.ndarray, factor: np.ndarray, f: Format) -> np.ndarray:
    """Round x · scale to nearest with the precision of f, on a grid `factor` times coarser, and divide by the scale again."""
    y = x * scale
    splitter = factor * 2.0 ** (53 - f.precision) + 1  # Veltkamp's splitting: t - (t - y) is y rounded to nearest
    t = y * splitter
    np.subtract(t, np.subtract(t, y, out=y), out=y)
    y /= scale
    if f.flush != f.tiny and (small := np.abs(x) < f.tiny).any():  # subnormal numbers are kept, at a fixed spacing
        quantum = f.quantum * factor
        y = np.where(small, np.rint(x * scale / quantum) * quantum / scale, y)
    return y


def _hash_to_unit_interval(x: np.ndarray) -> np.ndarray:
    """Hash each value to a number in [0, 1). Nearly equal values get equal numbers; those of other values are unrelated."""
    bits = _drop_last_bits(np.ascontiguousarray(x))
    bits = (bits ^ (bits >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
    return np.asarray((bits >> np.uint64(11)) * 2.0**-53)


def _drop_last_bits(x: np.ndarray) -> np.ndarray:
    """Return the bits of each value without the last MACHINE_BITS, rounded.

    What they are depends on the machine: its matrix products add in an order of their own, and its exponential has another last
    bit. The random numbers of a value must not depend on it, or error bounds would differ from machine to machine.
    """
    return (x.view(np.uint64) + np.uint64(1 << (MACHINE_BITS - 1))) >> np.uint64(MACHINE_BITS)


def _many_equal_their_neighbour(x: np.ndarray) -> bool:
    """Return whether more than a quarter of the values nearly equal in size the next in their row or column, and are not 0."""
    if x.size < FEW_EQUAL:
        return False
    sizes = _drop_last_bits(np.abs(x).ravel())
    return any(
        4 * np.count_nonzero(equal := sizes[:-step] == sizes[step:]) > x.size
        and 4 * np.count_nonzero(sizes[step:][equal]) > x.size
        for step in {1, x.shape[-1] if x.ndim else 1}
    )


def spread_of_partial_sums(n: int, total: np.ndarray, root: np.ndarray) -> np.ndarray:
    """Return the root of the sum of the squared partial sums of n terms in random order.

    Sequential summation errs by u times this number. total: the sum of the terms. root: the root of the sum of their squares.
    """
    squares = np.square(root)
    with np.errstate(under="ignore"):
        spread = np.sqrt(n / 3 * (np.square(total) + squares) + squares)
    return np.maximum(spread, np.abs(total), out=spread)  # where the squares underflow


def spread_of_product(a: np.ndarray, b: np.ndarray, total: np.ndarray, f: Format, sigmas: float) -> np.ndarray:
    """Return `spread_of_partial_sums` for each element of total = a @ b.

    Equal terms may all err in one direction: sequential summation of m of them errs by less than u (m - 1) (|a| @ |b|), which
    `sigmas` times the spread must reach.
    """
    spread = spread_of_partial_sums(a.shape[-1], total, root_of_squares(a, b, f))
    repeats = repeated_terms(a, b)
    return spread if repeats is None else np.maximum(spread, (repeats - 1) * (np.abs(a) @ np.abs(b)) / sigmas)


def repeated_terms(a: np.ndarray, b: np.ndarray) -> np.ndarray | None:
    """Return how many terms of each element of a @ b may be equal, None if those are few everywhere.

    A value that more than a quarter of a row has is one of the row's quartiles. As many terms may be equal as the values that
    are most frequent in the row and in the column.
    """
    if a.shape[-1] < MANY_TERMS or not a.size or not b.size:
        return None
    of_rows = _most_frequent(a)
    if of_rows is None or (of_columns := _most_frequent(np.swapaxes(b, -1, -2))) is None:
        return None
    return np.minimum(of_rows[..., :, None], of_columns[..., None, :])


def _most_frequent(rows: np.ndarray) -> np.ndarray | None:
    """Return how often each row has its most frequent value, without sign, 0 if fewer than a quarter; None if none has one."""
    n = rows.shape[-1]
    sizes, counts, places = np.abs(rows), np.zeros(rows.shape[:-1]), [n // 4, n // 2, (3 * n) // 4]
    quartiles = np.partition(sizes, places, axis=-1)[..., places]
    for quartile in (quartiles[..., i, None] for i in range(3)):
        counts = np.maximum(counts, np.count_nonzero((sizes == quartile) & (quartile != 0), axis=-1))
    counts[4 * counts <= n] = 0
    return counts if np.any(counts) else None


def root_of_squares(a: np.ndarray, b: np.ndarray, f: Format) -> np.ndarray:
    """Return the root of the sum of the squared products of each element of a @ b, or more where the squares may underflow."""
    squares = np.square(a) @ np.square(b)
    if f.emin < -126 and squares.size and np.min(squares) < MIN_RELIABLE_SQUARE:
        return np.where(squares < MIN_RELIABLE_SQUARE, np.abs(a) @ np.abs(b), np.sqrt(squares))
    return np.sqrt(squares)


def lost_to_underflow(a: np.ndarray, b: np.ndarray, f: Format) -> Any:
    """Return the largest error of a @ b if products below the normal range of f are flushed to zero."""
    of_rows, of_columns = _min_nonzero(a, axis=-1), _min_nonzero(b, axis=-2)
    if not of_rows.size or not of_columns.size or of_rows.min() * of_columns.min() >= f.tiny:
        return 0.0
    return np.where(of_rows * of_columns < f.tiny, a.shape[-1] * f.tiny, 0.0)


def _min_nonzero(x: np.ndarray, axis: int) -> np.ndarray:
    """Return the smallest nonzero size along an axis; infinity if there is none."""
    smallest: np.ndarray = np.min(np.abs(x), axis=axis, keepdims=True, where=x != 0, initial=np.inf)
    return smallest


def overflow_to_infinity(value: np.ndarray, f: Format) -> np.ndarray:
    """Return the value, made infinite in place where it exceeds half the largest number of f and so may overflow."""
    limit = f.max / 2
    if value.size:
        if not np.maximum.reduce(value, axis=None) < limit:
            _set_unless_equal(value, value > limit, np.inf)
        if not np.minimum.reduce(value, axis=None) > -limit:
            _set_unless_equal(value, value < -limit, -np.inf)
    return value


def _set_unless_equal(value: np.ndarray, where: np.ndarray, x: float) -> None:
    """Set some elements to x in place. Mostly all of them are x already, as masked scores are, and a masked copy is slow."""
    if np.count_nonzero(where) != np.count_nonzero(value == x):
        np.copyto(value, x, where=where)
