"""Trees in messages, as a server of a Python backend gets and sends them: what comes back as it was, and what is refused."""

from __future__ import annotations

import json
import math
import sys
import tracemalloc
from typing import Any

import numpy as np
import pytest

from spec_tests.implementation.framework import Foreign
from spec_tests.implementation.layouts import LAYOUTS, View, find_view
from spec_tests.processes.message import (
    LENGTH,
    MAX_DATA_BYTES,
    MAX_DIGITS,
    MAX_DIMENSIONS,
    MAX_HEADER_BYTES,
    STORED,
    MalformedMessage,
    ProcessArray,
    pack,
    read_answer,
    read_header,
    read_length,
)
from spec_tests.processes.trees import Handle, Kept, Making, read_tree, write_tree

ARRAY = ProcessArray("float32", np.arange(3, dtype=np.float32))


def send(tree: Any) -> Any:
    """Return the tree as it arrives in an answer."""
    text, arrays = write_tree(tree)
    data = pack({"answer": text}, arrays)
    size = read_length(data[: LENGTH.size])
    header = read_header(data[LENGTH.size : LENGTH.size + size])
    assert len(data) == LENGTH.size + size + header.data_bytes
    answer = read_answer(header, data[LENGTH.size + size :])
    return read_tree(answer.text, answer.arrays)


@pytest.mark.parametrize(
    "tree",
    [
        *(None, True, 3, -(10**18), 0.1, -0.0, "text", "λ\ud800", "é\n", [], [1, "a", None], (), (1, (2, [3])), {}),
        *({"a": {"b": (1,)}}, range(3, 9, 2), Handle(7), {"handle": 3}, {"array": 0}, [Handle(1), {"x": Handle(2)}]),
        *(Foreign("a Thing"), Kept(-3, "int8", "cpu:0", "TypeError: no"), {"tuple": [1]}, [[[]]], {"": {"kept": []}}),
    ],
    ids=repr,
)
def test_what_is_sent_arrives(tree: Any) -> None:
    received = send(tree)
    assert repr(received) == repr(tree)
    assert type(received) is type(tree)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_numbers_that_are_not_finite_arrive(value: float) -> None:
    assert np.array_equal(send([value]), [value], equal_nan=True)


@pytest.mark.parametrize("dtype", sorted(STORED))
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3)])
def test_arrays_arrive_bit_for_bit(dtype: str, shape: tuple[int, ...]) -> None:
    kind = "float32" if dtype == "bfloat16" else dtype
    first = ProcessArray(dtype, np.random.default_rng(0).integers(0, 2, shape).astype(kind))
    second = ProcessArray("float32", np.arange(5, dtype=np.float32)[::-1])
    received = send(
        {"a": first, "b": [second, (first,)], "c": Making(4, dtype, View(first.values)), "d": Kept(-1, dtype, "cpu", first)}
    )
    c, d = received["c"], received["d"]
    assert (c.number, c.dtype, d.number) == (4, dtype, -1)
    made = ProcessArray(c.dtype, c.view.buffer)
    for found, sent in (
        (received["a"], first), (received["b"][0], second), (received["b"][1][0], first), (made, first), (d.values, first),
    ):  # fmt: skip
        assert found.dtype == sent.dtype
        assert found.values.shape == sent.values.shape
        assert found.values.dtype == sent.values.dtype
        assert found.values.tobytes() == sent.values.tobytes()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_view_arrives(layout: str) -> None:
    for shape in ((), (0, 3), (3,), (2, 3), (2, 1, 3)):
        view = find_view(np.ones(shape, np.float32), layout, "numpy")
        received = send([Making(1, "float32", view)])[0].view
        assert received.buffer.tobytes() == view.buffer.tobytes()
        for name in ("index", "order", "shape", "is_read_only"):
            assert getattr(received, name) == getattr(view, name)


def test_bfloat16_is_rounded_to_the_nearest() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    bits = np.random.default_rng(0).integers(0, 1 << 32, 10_000, dtype=np.uint32)
    edges = np.array([0x3F808000, 0x3F818000, 0x3F807FFF, 0x7F7FFFFF, 0xFF800000, 0x7F800001, 0x80000001], np.uint32)
    values = np.concatenate([bits, edges]).view(np.float32)
    (found,) = send([ProcessArray("bfloat16", values)])
    with np.errstate(over="ignore", invalid="ignore"):
        expected = values.astype(ml_dtypes.bfloat16).astype(np.float32)
    assert np.array_equal(found.values, expected, equal_nan=True)


def test_what_has_no_type_in_json_is_sent_as_what_is_nearest() -> None:
    class Named(tuple):
        pass

    assert send(np.float32(0.5)) == 0.5
    assert send({3, 1, 2}) == [1, 2, 3]
    assert send(Named((1, 2))) == [1, 2]
    assert send({1: "a"}) == {"1": "a"}
    assert send(object()) == Foreign("a object")
    assert send(Foreign("a tensor")) == Foreign("a tensor")


@pytest.mark.parametrize(
    "node",
    [
        *({"array": "9"}, {"array": []}, {"unknown": 1}, {"list": 1, "tuple": 2}, {}, {"dict": [["a"]]}, {"range": [1, 2, 0]}),
        *({"dict": 3}, {"handle": "x"}, {"tuple": 3}, {"kept": [1, "f", "cpu", 3, []]}, {"kept": [1]}, {"make": [1, {}, ""]}),
        *(
            {"kept": [1, "float32", "cpu", {"array": "0"}, 3]},
            {"make": [1, {"array": "1"}, {}]},
            {"make": [1, {"array": "0"}, {"index": [3]}]},
        ),
    ],
    ids=json.dumps,
)
def test_what_is_no_tree_is_refused(node: Any) -> None:
    with pytest.raises(MalformedMessage):
        read_tree(json.dumps([node]), {"0": ARRAY})


@pytest.mark.parametrize(
    "text", ["", "[", "{}", "\ud800", "[" * 100_000, '{"tuple": [' * 20_000 + "]}" * 20_000, '{"a": 1, "a": 1}']
)
def test_a_text_that_is_no_tree_is_refused(text: str) -> None:
    with pytest.raises(MalformedMessage):
        read_tree(text, {})


def test_what_would_cost_the_judge_its_memory_or_its_time_is_refused() -> None:
    with pytest.raises(MalformedMessage, match=f"its header has {MAX_HEADER_BYTES + 1} bytes"):
        read_length(LENGTH.pack(MAX_HEADER_BYTES + 1))
    assert read_length(LENGTH.pack(MAX_HEADER_BYTES)) == MAX_HEADER_BYTES
    assert read_tree("9" * MAX_DIGITS, {}) == 10**MAX_DIGITS - 1
    with pytest.raises(MalformedMessage, match=f"a number of {MAX_DIGITS + 1} digits"):
        read_tree("9" * (MAX_DIGITS + 1), {})
    with pytest.raises(MalformedMessage, match=f"a number of {MAX_DIGITS + 1} digits"):
        read_header(b'{"x": ' + b"9" * (MAX_DIGITS + 1) + b"}")
    assert MAX_HEADER_BYTES == 1 << 20
    assert MAX_DATA_BYTES == 1 << 32


def entry(shape: Any, end: int = 4, dtype: str = "F32") -> str:
    return json.dumps({"__metadata__": {"answer": "null"}, "0": {"dtype": dtype, "shape": shape, "data_offsets": [0, end]}})


EXPENSIVE = {
    "long integers in a shape": entry([]).replace("[]", f"[{', '.join(['9' * 4000] * 50)}]"),
    "a long integer": f'{{"x": {"9" * 1000}}}',
    "deep lists": "[" * 200_000 + "]" * 200_000,
    "deep objects": '{"list": [' * 20_000 + "]}" * 20_000,
    "many dimensions": entry([0] * (MAX_DIMENSIONS + 1), 0),
    "a negative size": entry([-1, -4], 16),
    "more than there is": entry([1 << 40]),
    "more than a message may have": entry([1 << 40], 1 << 42),
    "a large empty array": entry([0, 1 << 62], 0),
    "objects": entry([1], dtype="O"),
    "a long integer in the answer": json.dumps({"__metadata__": {"answer": "[" + "9" * 1000 + "]"}}),
    "deep lists in the answer": json.dumps({"__metadata__": {"answer": "[" * 200_000}}),
}


def read(header: bytes) -> Any:
    """Return the tree of an answer with this header, and with four bytes after it."""
    answer = read_answer(read_header(header), b"1234")
    return read_tree(answer.text, answer.arrays)


MAX_STEPS = 450  # calls and returns: 65 sizes and two offsets, each of which is looked at when it is read, take 400


@pytest.mark.parametrize("header", EXPENSIVE.values(), ids=EXPENSIVE)
def test_what_is_expensive_to_read_is_refused_cheaply(header: str) -> None:
    """The work is counted, so that the speed of the machine does not matter."""
    encoded, steps, before = header.encode(), 0, sys.getprofile()

    def count_step(*_: object) -> None:
        nonlocal steps
        steps += 1

    tracemalloc.start()
    sys.setprofile(count_step)
    try:
        with pytest.raises(MalformedMessage):
            read(encoded)
    finally:
        sys.setprofile(before)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert steps <= MAX_STEPS
    assert peak <= 2 * len(encoded) + 2**16  # bytes
