"""The messages between the suite and the process of a Python backend: what comes back as it was, and what is refused."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from spec_tests.implementation.framework import Foreign
from spec_tests.isolation.wire import (
    LENGTHS,
    MAX_DIGITS,
    MAX_DIMENSIONS,
    MAX_HEADER_BYTES,
    MAX_MESSAGE_BYTES,
    Handle,
    MalformedMessage,
    pack,
    unpack,
)


def send(message: Any) -> Any:
    data = pack(message)
    header, arrays = LENGTHS.unpack(data[: LENGTHS.size])
    assert len(data) == LENGTHS.size + header + arrays
    return unpack(data[LENGTHS.size : LENGTHS.size + header], memoryview(data)[LENGTHS.size + header :])


@pytest.mark.parametrize(
    "message",
    [
        *(None, True, 3, -(10**18), 0.1, "text", "λ\ud800", [], [1, "a", None], (), (1, (2, [3])), {}, {"a": {"b": (1,)}}),
        *(range(3, 9, 2), Handle(7), {"handle": 3}, {"array": 0}, [Handle(1), {"x": Handle(2)}]),
    ],
)
def test_what_is_sent_arrives(message: Any) -> None:
    received = send(message)
    assert received == message
    assert type(received) is type(message)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_numbers_that_are_not_finite_arrive(value: float) -> None:
    received = send([value])
    assert np.array_equal(received, [value], equal_nan=True)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "int8", "uint8", "uint32", "bool"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3)])
def test_arrays_arrive_bit_for_bit(dtype: str, shape: tuple[int, ...]) -> None:
    first = np.random.default_rng(0).integers(0, 2, shape).astype(dtype)
    second = np.arange(5, dtype=np.float32)[::-1]
    received = send({"a": first, "b": [second, (first,)]})
    for found, sent in ((received["a"], first), (received["b"][0], second), (received["b"][1][0], first)):
        assert found.dtype == sent.dtype
        assert found.shape == sent.shape
        assert found.tobytes() == sent.tobytes()


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
    ("tree", "arrays"),
    [
        ([1], [["|O", [1]]]), ([1], [["<M8[s]", [1]]]), ([1], [["|S3", [1]]]), ([1], [["<c16", [1]]]), ([1], [["|V8", [1]]]),
        ([1], [["<f8", [-1]]]), ([1], [["<f8", [1] * (MAX_DIMENSIONS + 1)]]), ([1], [["<f8", [1 << 70]]]), ([1], [["<f8", [9]]]),
        ([1], [["<f8", ["x"]]]), ([1], [["float", [1], 3]]), ({"array": 5}, []), ({"array": "x"}, []), ({"unknown": 1}, []),
        ({"list": 1, "tuple": 2}, []), ({"dict": [["a"]]}, []), ({"range": [1, 2, 0]}, []), ({"dict": 3}, []),
    ],
)  # fmt: skip
def test_what_is_no_message_is_refused(tree: Any, arrays: Any) -> None:
    with pytest.raises(MalformedMessage):
        unpack(json.dumps([tree, arrays]).encode(), memoryview(bytes(8)))


@pytest.mark.parametrize("header", [b"", b"[", b"{}", b"3", b"[1]", b"[1, 2, 3]", b"\xff", b"[" * 100_000])
def test_a_header_that_is_no_message_is_refused(header: bytes) -> None:
    with pytest.raises(MalformedMessage):
        unpack(header, memoryview(b""))


def test_what_would_cost_the_judge_its_memory_or_its_time_is_refused() -> None:
    text = json.dumps(["x" * MAX_HEADER_BYTES, []]).encode()
    with pytest.raises(MalformedMessage, match="a header of"):
        unpack(text, memoryview(b""))
    longest = json.dumps(["x" * (MAX_HEADER_BYTES - 8), []]).encode()
    assert len(longest) == MAX_HEADER_BYTES
    assert len(unpack(longest, memoryview(b""))) == MAX_HEADER_BYTES - 8
    assert unpack(b"[" + b"9" * MAX_DIGITS + b", []]", memoryview(b"")) == 10**MAX_DIGITS - 1
    assert unpack(b"[12, []]", memoryview(b"")) == 12
    with pytest.raises(MalformedMessage, match=f"an integer of {MAX_DIGITS + 1} digits"):
        unpack(b"[" + b"9" * (MAX_DIGITS + 1) + b", []]", memoryview(b""))
    assert MAX_HEADER_BYTES == 1 << 20
    assert MAX_MESSAGE_BYTES == 1 << 32
