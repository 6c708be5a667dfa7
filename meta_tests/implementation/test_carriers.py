"""Arrays of few bits: how they are carried, made, read and stated."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from spec_tests.calls.read_array import read_narrow
from spec_tests.calls.violation import Violation
from spec_tests.implementation.backend import BackendError, build_backend
from spec_tests.implementation.framework import Framework
from spec_tests.implementation.layouts import View
from spec_tests.processes.message import ProcessArray, pack, read_header, unpack
from spec_tests.processes.trees import Making, read_tree, write_tree
from spec_tests.specification.carriers import CODES, NATIVE, PACKED, PACKED32, Carrier, possible_carriers
from spec_tests.specification.narrow_formats import NARROW_FORMATS

EVERY = [(name, kind) for name, f in NARROW_FORMATS.items() for kind in possible_carriers(f)]


def all_numbers(name: str) -> np.ndarray:
    """Return every number of a format, once or oftener, as a matrix whose rows fill words."""
    numbers = NARROW_FORMATS[name].numbers
    return np.resize(numbers[~np.isnan(numbers)], (33, 8))


@pytest.mark.parametrize(("name", "kind"), EVERY)
def test_what_is_stored_is_loaded(name: str, kind: str) -> None:
    carrier, numbers = Carrier(NARROW_FORMATS[name], kind), all_numbers(name)
    stored = carrier.store(numbers)
    assert stored.shape == carrier.shape(numbers.shape)
    assert kind == NATIVE or stored.dtype == carrier.dtype
    assert np.array_equal(carrier.load(stored), numbers)
    assert np.array_equal(np.signbit(carrier.load(stored)), np.signbit(numbers))


def test_the_first_code_of_a_byte_or_a_word_is_the_lowest() -> None:
    four, eight = NARROW_FORMATS["uint4"], NARROW_FORMATS["uint8"]
    assert Carrier(four, PACKED).store([[1, 2, 3, 4]]).tolist() == [[0x21, 0x43]]
    assert Carrier(four, PACKED32).store([[1, 2, 3, 4, 5, 6, 7, 8]]).tolist() == [[0x87654321]]
    assert Carrier(eight, PACKED32).store([[1, 2, 3, 4]]).tolist() == [[0x04030201]]
    assert Carrier(NARROW_FORMATS["int4"], PACKED).store([[-1, 7]]).tolist() == [[0x7F]]
    assert Carrier(NARROW_FORMATS["int4"], CODES).store([[-1, 7]]).tolist() == [[-1, 7]]


@pytest.mark.parametrize("framework", ["numpy", "torch"])
def test_a_framework_makes_and_reads_every_code(framework: str) -> None:
    pytest.importorskip(framework)
    arrays = Framework(framework)
    assert {"float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"} <= {*arrays.narrow_dtypes}
    for dtype in arrays.narrow_dtypes:
        codes = np.arange(1 << NARROW_FORMATS[dtype].bits, dtype=np.uint8).reshape(2, -1)
        made = arrays.native(codes, dtype)
        assert arrays.dtype_of(made) == dtype
        assert np.array_equal(arrays.numpy(made), codes)
        assert np.array_equal(arrays.numpy(arrays.lay_out(codes, dtype, "transposed")), codes)
        assert np.array_equal(arrays.numpy(arrays.lay_out(codes, dtype, "strided")), codes)


def test_an_array_of_another_dtype_is_a_violation() -> None:
    carrier = Carrier(NARROW_FORMATS["float4_e2m1fn"], PACKED)
    numpy = Framework("numpy")
    with pytest.raises(Violation, match="the result is float32") as violation:
        read_narrow(numpy, "the result", np.zeros((2, 2), np.float32), (2, 4), carrier)
    assert violation.value.facts == [("expected", "uint8, float4_e2m1fn as two codes in a byte")]
    with pytest.raises(Violation, match=r"has shape \(2, 4\)"):
        read_narrow(numpy, "the result", np.zeros((2, 4), np.uint8), (2, 4), carrier)


def backend_of(**stated: Any) -> Any:
    source = SimpleNamespace(framework="torch", relu=lambda x: x, **stated)
    return build_backend(source, ("relu",))


def test_unstated_carriers_are_native_where_the_framework_has_eight_bits() -> None:
    pytest.importorskip("torch")
    kinds = {name: backend_of().carrier(f).kind for name, f in NARROW_FORMATS.items()}
    assert [name for name, kind in kinds.items() if kind == NATIVE] == [
        *("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")
    ]
    assert {*kinds.values()} == {NATIVE, CODES}
    assert backend_of(carriers={"int4": "packed"}).carrier(NARROW_FORMATS["int4"]).kind == PACKED


@pytest.mark.parametrize(
    ("stated", "complaint"),
    [
        ("packed", "its carriers are 'packed'; give a dict"),
        ({"float8": "codes"}, "its carriers name 'float8'; there are float8_e4m3fn"),
        ({"int8": "packed"}, "its carriers give int8 as 'packed'; there are codes, packed32"),
        ({"float4_e2m1fn": "native"}, "its carriers give float4_e2m1fn as native, which torch lacks here; there is codes"),
    ],
)
def test_carriers_that_there_are_not_are_refused(stated: Any, complaint: str) -> None:
    pytest.importorskip("torch")
    with pytest.raises(BackendError, match=complaint):
        backend_of(carriers=stated)


def test_a_message_has_codes_of_eight_bits() -> None:
    arrays = {
        "q": ProcessArray("uint8", np.arange(256, dtype=np.uint8)),
        "z": ProcessArray("int8", np.array([-128, 127], np.int8)),
    }
    data = pack({}, arrays)
    size = int.from_bytes(data[:8], "little")
    found = unpack(read_header(data[8 : 8 + size]), data[8 + size :])
    assert {name: x.values.tolist() for name, x in found.items()} == {name: x.values.tolist() for name, x in arrays.items()}
    assert b'"U8"' in data
    assert b'"I8"' in data


def test_an_array_that_is_made_elsewhere_has_its_own_dtype() -> None:
    codes = np.arange(6, dtype=np.uint8)
    text, arrays = write_tree([Making(3, "float8_e5m2", View(codes)), Making(4, "float32", View(np.ones(2, np.float32)))])
    assert [x.dtype for x in arrays.values()] == ["uint8", "float32"]
    narrow, wide = read_tree(text, arrays)
    assert (narrow.dtype, wide.dtype) == ("float8_e5m2", "float32")
    assert np.array_equal(narrow.view.buffer, codes)
