"""Test that a header that describes too much is refused before anything is computed from it, in a message."""

import json
from typing import Any

import pytest

from spec_tests.processes import message

LARGEST = 10 ** (message.MAX_DIGITS - 1)
SHAPES = {
    "many dimensions": [LARGEST] * 40_000,
    "many dimensions of one": [1] * 40_000,
    "many dimensions after a zero": [0] + [LARGEST] * 40_000,
    "large dimensions": [LARGEST] * message.MAX_DIMENSIONS,
    "more than there is": [3],
    "a negative size": [-1],
    "two negative sizes": [-1, -1],
    "a fraction": [1.5],
    "a text": ["1"],
    "a nested list": [[1]],
    "a text as a shape": "11",
    "no shape": None,
}


class Product:
    """Counts the numbers that are multiplied."""

    def __init__(self) -> None:
        self.largest = 0

    def __call__(self, numbers: Any) -> int:
        numbers = list(numbers)
        self.largest = max(self.largest, len(numbers))
        product = 1
        for number in numbers:
            product *= number
        return product


def read(shape: Any) -> None:
    message.read_header(json.dumps({"result": {"dtype": "F32", "shape": shape, "data_offsets": [0, 8]}}).encode())


@pytest.mark.parametrize("name", SHAPES)
def test_nothing_is_computed_from_too_much(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    product = Product()
    monkeypatch.setattr("math.prod", product)
    with pytest.raises(message.MalformedMessage):
        read(SHAPES[name])
    assert product.largest <= message.MAX_DIMENSIONS
