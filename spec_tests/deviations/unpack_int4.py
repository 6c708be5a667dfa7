"""What goes wrong with unpack_int4."""

from typing import Any

import numpy as np

from reference_numpy.unpack_int4 import PLACES, unpack_int4

from . import deviation


def _unpack(packed: Any, places: Any, *, signed: bool, mask: bool = True) -> Any:
    """Return the numbers at these places of each word, with the sign that the shift leaves where no mask is applied."""
    words = np.asarray(packed).astype(np.int64)
    y = words[..., None] >> (4 * np.asarray(places))
    y = y & 15 if mask else np.where(np.asarray(places) == 7, y, y & 15)
    y = np.where(signed & (y >= 8), y - 16, y)
    return y.reshape(*words.shape[:-1], 8 * words.shape[-1]).astype(np.int8)


@deviation("reference", "counted", "one_number_at_a_time", "packed_again")
def highest_bits_first(packed: Any, *, order: str = "sequential", signed: bool = False) -> Any:
    """the first number is taken from the highest four bits.

    Shows: any word whose numbers differ. Hides: equal numbers.
    """
    return _unpack(packed, [7 - place for place in PLACES[order]], signed=signed)


@deviation("reference", "counted", "one_number_at_a_time", "packed_again")
def halves_of_bytes_exchanged(packed: Any, *, order: str = "sequential", signed: bool = False) -> Any:
    """the upper four bits of each byte come first.

    Shows: any word whose numbers differ. Hides: equal numbers.
    """
    return _unpack(packed, [place ^ 1 for place in PLACES[order]], signed=signed)


@deviation("reference", "counted", "one_number_at_a_time", "packed_again")
def bytes_in_the_other_order(packed: Any, *, order: str = "sequential", signed: bool = False) -> Any:
    """the bytes of a word are read from the highest one, as on a big-endian machine.

    Shows: any word whose bytes differ. Hides: equal bytes.
    """
    return _unpack(packed, [(3 - place // 2) * 2 + place % 2 for place in PLACES[order]], signed=signed)


@deviation("reference", "counted", "orders", "one_number_at_a_time", "packed_again")
def awq_the_other_way(packed: Any, *, order: str = "sequential", signed: bool = False) -> Any:
    """the permutation of AWQ's order is applied instead of its inverse.

    Shows: order="awq". Hides: sequential order.
    """
    return _unpack(packed, (0, 2, 4, 6, 1, 3, 5, 7) if order == "awq" else PLACES[order], signed=signed)


@deviation("reference", "counted", "orders", "packed_again")
def order_ignored(packed: Any, *, order: str = "sequential", signed: bool = False) -> Any:
    """order is not used.

    Shows: order="awq". Hides: sequential order.
    """
    return unpack_int4(packed, signed=signed)


@deviation("reference", "one_number_at_a_time")
def sign_of_the_word_stays(packed: Any, *, order: str = "sequential", signed: bool = False) -> Any:
    """the highest four bits are shifted with the sign of the word, without a mask, and are below 0 in an unsigned result.

    Shows: unsigned numbers, words below 0. Hides: other words; signed numbers.
    """
    return _unpack(packed, PLACES[order], signed=signed, mask=False)


@deviation("reference", "signed")
def signed_by_an_offset(packed: Any, *, order: str = "sequential", signed: bool = False) -> Any:
    """signed numbers are the unsigned ones less 8.

    Shows: signed numbers. Hides: unsigned ones.
    """
    y = unpack_int4(packed, order=order)
    return (y - 8).astype(np.int8) if signed else y


@deviation("reference", "signed", seen=("https://github.com/tile-ai/tilelang/issues/2477",))
def signed_by_an_offset_of_7(packed: Any, *, order: str = "sequential", signed: bool = False) -> Any:
    """signed numbers are the unsigned ones less 7.

    Shows: signed numbers. Hides: unsigned ones.
    """
    y = unpack_int4(packed, order=order)
    return (y - 7).astype(np.int8) if signed else y


@deviation("reference", "signed")
def signed_ignored(packed: Any, *, order: str = "sequential", signed: bool = False) -> Any:
    """signed is not used.

    Shows: signed numbers from 8 on. Hides: unsigned ones.
    """
    return unpack_int4(packed, order=order)


@deviation("reference", "signed")
def always_signed(packed: Any, *, order: str = "sequential", signed: bool = False) -> Any:
    """numbers are signed, whatever is asked for.

    Shows: unsigned numbers from 8 on. Hides: signed ones.
    """
    return unpack_int4(packed, order=order, signed=True)


@deviation("reference", "counted", "words_are_independent", "packed_again")
def words_side_by_side(packed: Any, *, order: str = "sequential", signed: bool = False) -> Any:
    """all first numbers come first, then all second ones: the result is laid out as (8, C).

    Shows: several words. Hides: a single one.
    """
    y = unpack_int4(packed, order=order, signed=signed)
    c = y.shape[-1] // 8
    return np.swapaxes(y.reshape(*y.shape[:-1], c, 8), -1, -2).reshape(y.shape)


@deviation("reference", "words_are_independent")
def last_word_twice(packed: Any, *, order: str = "sequential", signed: bool = False) -> Any:
    """words are read in blocks of four, and a short last block slides back: its numbers are those of the words before.

    Shows: more than four words, no multiple of four. Hides: others.
    """
    words = np.asarray(packed)
    c = words.shape[-1]
    index = np.arange(c)
    index = np.where((index >= c - c % 4) & (c > 4), np.maximum(index - (4 - c % 4), 0), index)
    return unpack_int4(np.take(words, index, axis=-1), order=order, signed=signed)
