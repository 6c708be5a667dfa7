"""What must hold of unpack_int4."""

from types import MappingProxyType

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_identical
from .inputs.draw import Draw, within_domain
from .operations.unpack_int4 import ORDERS, draw_keywords, draw_words, join_nibbles
from .trials.invariant import invariant

AWQ = "Lin et al. 2023, arXiv:2306.00978; AutoAWQ, its order of packing"
NUMBER_OF_NIBBLE = MappingProxyType({"sequential": (0, 1, 2, 3, 4, 5, 6, 7), "awq": (0, 2, 4, 6, 1, 3, 5, 7)})


def list_orders(operation: Operation) -> tuple[str, ...]:
    """Return the orders that the function has."""
    stated = operation.domain.get("order", ORDERS if operation.accepts("order") else ORDERS[:1])
    return tuple(order for order in ORDERS if order in stated)


def with_order(operation: Operation, order: str, **given: object) -> dict[str, object]:
    return {**given, **({"order": order} if operation.accepts("order") else {})}


@invariant("E", source=AWQ)
def test_counted(unpack_int4: Operation, draw: Draw) -> None:
    """A word that holds 0 to 7 in the order of packing gives 0 to 7."""
    within_domain(draw, C=3)
    for order in list_orders(unpack_int4):
        word = join_nibbles(np.array(NUMBER_OF_NIBBLE[order]))
        given = with_order(unpack_int4, order, **draw.keyword("signed", (False, True)))
        assert_identical(unpack_int4(np.full(3, word), **given), np.tile(np.arange(8), 3))


@invariant("E", source=AWQ)
def test_one_number_at_a_time(unpack_int4: Operation, draw: Draw) -> None:
    """Four bits of a word are one number of the result, and no other: each of 16 values in each of eight places."""
    within_domain(draw, C=128)
    place, value = np.arange(128) // 16, np.arange(128) % 16
    for order in list_orders(unpack_int4):
        nibbles = np.where(np.arange(8) == place[:, None], value[:, None], 0)
        expected = np.zeros((128, 8))
        expected[np.arange(128), np.array(NUMBER_OF_NIBBLE[order])[place]] = value
        found = unpack_int4(join_nibbles(nibbles), **with_order(unpack_int4, order, **draw.only("signed", False)))
        assert_identical(found, expected.reshape(-1))


@invariant("E", needs=("keyword:signed",))
def test_signed(unpack_int4: Operation, draw: Draw) -> None:
    """Unsigned numbers lie from 0 to 15. Signed ones are these, less 16 from 8 on."""
    (c,) = draw.dims(C=40)
    words, order = draw_words(draw, (c,)), draw.keyword("order", ORDERS)
    plain = unpack_int4(words, **order, **draw.only("signed", False)).value
    assert_identical(plain, plain % 16)
    assert_identical(unpack_int4(words, **order, **draw.only("signed", True)), np.where(plain >= 8, plain - 16, plain))


@invariant("E", needs=("keyword:order",), source=AWQ)
def test_orders(unpack_int4: Operation, draw: Draw) -> None:
    """AWQ's order is a permutation of the eight numbers of each word."""
    (c,) = draw.dims(C=40)
    words, signed = draw_words(draw, (c,)), draw.keyword("signed", (False, True))
    found = {order: unpack_int4(words, **draw.only("order", order), **signed).value.reshape(c, 8) for order in ORDERS}
    assert_identical(found["awq"], found["sequential"][:, (0, 4, 1, 5, 2, 6, 3, 7)])


@invariant("E")
def test_words_are_independent(unpack_int4: Operation, draw: Draw) -> None:
    """Each word has eight numbers of its own, at eight times its index: words in another order give them in that order."""
    c = draw.size("C", (5, 6, 7, 9, 33, 130))
    words, given = draw_words(draw, (c,)), draw_keywords(draw)
    order = draw.rng.permutation(c)
    before = unpack_int4(words, **given).value.reshape(c, 8)
    assert_identical(unpack_int4(words[order], **given), before[order].reshape(-1))


@invariant("E")
def test_packed_again(unpack_int4: Operation, draw: Draw) -> None:
    """Packed again in the same order, the numbers give the words. So none is lost, and none is there twice."""
    (c,) = draw.dims(C=40)
    words, given = draw_words(draw, (c,)), draw_keywords(draw)
    y = unpack_int4(words, **given).value.reshape(c, 8)
    numbers = y[:, NUMBER_OF_NIBBLE[str(given.get("order", list_orders(unpack_int4)[0]))]]
    assert_identical(join_nibbles(numbers.astype(np.int64) & 15), words)
