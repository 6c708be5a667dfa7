"""What a backend may return: types, shapes, dtypes, devices, the format in which it is judged, and the classes that pass."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from spec_tests.bounds.bounded import Bounded
from spec_tests.calls.call import Call
from spec_tests.calls.gradient import Gradient
from spec_tests.calls.in_domain import dimension_sizes, keyword_not_taken, outside_domain
from spec_tests.calls.operation import Operation
from spec_tests.calls.read_array import read_array
from spec_tests.calls.result import Result
from spec_tests.calls.rounding import BLOCK_ELEMENTS, round_number
from spec_tests.calls.violation import Lost, NoAnswer, NotImplementedVariant, Violation, from_fault
from spec_tests.implementation.backend import Backend
from spec_tests.implementation.framework import Framework
from spec_tests.implementation.guard import Fault
from spec_tests.specification.formats import FORMATS, INTEGER, Arithmetic
from spec_tests.specification.registry import specification

from ..support.in_process import backend

NUMPY = Framework("numpy")
FLOAT32, FLOAT16 = FORMATS["float32"], FORMATS["float16"]


def make(name: str, dtype: str = "float32", precision: str = "", domain: Any = None, **functions: Any) -> Operation:
    """Return an operation of a backend with these functions, or of the NumPy backend."""
    spec = specification(name)
    if functions or domain is not None:
        source = SimpleNamespace(**(functions or {name: spec.reference}), **({"domain": {name: domain}} if domain else {}))
        under_test = Backend("mine", source, NUMPY)
    else:
        under_test = backend("numpy-cpu")
    return (Gradient if spec.is_gradient else Operation)(spec, under_test, dtype, precision or spec.precision)


@pytest.mark.parametrize(
    ("x", "dtype", "what"),
    [
        (np.ones((2, 3), np.float32), None, ""),
        (np.ones((3, 2), np.float32), None, r"it has shape \(3, 2\)"),
        (np.ones(6, np.float32), None, r"it has shape \(6,\)"),
        (np.ones((2, 3, 1), np.float32), None, "has shape"),
        ([[1.0] * 3] * 2, None, "it is a list, not an array of numpy"),
        (None, None, "not an array"),
        (np.ones((2, 3), bool), "bool", ""),
        (np.ones((2, 3), int), "bool", "it is int64"),
        (np.ones((2, 3), np.uint8), "bool", "it is uint8"),
        (np.ones((2, 3), np.float32), "bool", "it is float32"),
        (np.ones((2, 3), np.int32), INTEGER, ""),
        (np.ones((2, 3), np.uint8), INTEGER, ""),
        (np.ones((2, 3), np.float32), INTEGER, "it is float32"),
        (np.ones((2, 3), bool), INTEGER, "it is bool"),
        (np.ones((2, 3), np.complex64), None, "it is complex64"),
    ],
)
def test_what_is_read_and_what_is_a_violation(x: Any, dtype: str | None, what: str) -> None:
    if not what:
        assert np.array_equal(read_array(NUMPY, "it", x, (2, 3), dtype, FLOAT32), np.ones((2, 3)))
        return
    with pytest.raises(Violation, match=what):
        read_array(NUMPY, "it", x, (2, 3), dtype, FLOAT32)


def test_what_has_more_digits_than_it_should_is_rounded() -> None:
    x = np.array([1 / 3])
    for dtype, storage, expected in (
        ("float64", FLOAT32, np.float32(1 / 3)),
        ("float32", FLOAT32, np.float32(1 / 3)),
        ("float64", FLOAT16, np.float16(1 / 3)),
        ("float16", FLOAT32, np.float32(np.float16(1 / 3))),
    ):
        assert read_array(NUMPY, "it", x.astype(dtype), (1,), None, storage).tolist() == [float(expected)]
    assert read_array(NUMPY, "it", np.array([2**60 + 1]), (1,), INTEGER, FLOAT32).tolist() == [2**60 + 1]


class Elsewhere(Framework):
    """A framework whose arrays lie on another device, or cannot be read."""

    error: Exception | None = None

    def on_device(self, x: Any) -> bool:
        return False

    def numpy(self, x: Any) -> np.ndarray:
        if self.error:
            raise self.error
        return super().numpy(x)


def test_a_result_on_another_device_is_a_violation() -> None:
    with pytest.raises(Violation, match="it is on"):
        read_array(Elsewhere("numpy"), "it", np.ones(1), (1,), None, FLOAT32)


@pytest.mark.parametrize(
    ("error", "is_lost"), [(RuntimeError("gone"), False), (Fault("gone", lost=True), True), (Fault("no"), False)]
)
def test_a_result_that_cannot_be_read(error: Exception, is_lost: bool) -> None:
    framework = Elsewhere("numpy")
    framework.on_device = lambda x: True  # type: ignore[method-assign]
    framework.error = error
    with pytest.raises(Fault if is_lost else Violation):
        read_array(framework, "it", np.ones(1), (1,), None, FLOAT32)


def test_only_the_number_that_is_due_stands_for_an_array() -> None:
    count = make("parameter_count", parameter_count=lambda **sizes: 7)
    call = count.call(d_model=2, d_ff=3, num_layers=1)
    assert count.values(call, 7).tolist() == 7
    for wrong in (7.0, "7", None, True):
        with pytest.raises(Violation):
            count.values(call, wrong)
    relu = make("relu")
    with pytest.raises(Violation, match="not an array"):
        relu.values(relu.call(np.array(1.0)), 1.0)


def test_a_number_that_depends_on_no_array_may_be_a_python_float() -> None:
    tested = make("rope_frequencies", "float32")
    call = tested.call(d_k=4, theta=10_000.0)
    numbers = [name for name, x in zip(tested.spec.results, call.oracle_results, strict=True) if np.shape(x) == ()]
    assert numbers
    answer = tuple(float(x) if np.shape(x) == () else np.asarray(x, np.float32) for x in call.oracle_results)
    assert np.array_equal(tested.values(call, answer), call.storage.round(call.value))
    with pytest.raises(Violation):
        tested.values(call, tuple(float(np.ravel(x)[0]) for x in call.oracle_results))


@pytest.mark.parametrize(
    ("name", "dtype", "result", "expected"),
    [
        ("relu", "float16", "", ("float16",)),
        ("relu", "float64", "", ("float64",)),
        ("causal_mask", "float32", "", ("bool",)),
        ("cross_entropy", "float16", "", ("float16", "float64", "float32")),
        ("cross_entropy", "float32", "", ("float32", "float64")),
        ("attention_with_lse", "bfloat16", "lse", ("bfloat16", "float64", "float32")),
        ("attention_with_lse", "bfloat16", "out", ("bfloat16",)),
    ],
)
def test_the_dtypes_that_a_result_may_have(name: str, dtype: str, result: str, expected: tuple[str, ...]) -> None:
    assert set(make(name, dtype).expected_dtypes(result)) == set(expected)


def test_indices_may_have_any_integer_dtype() -> None:
    tested = make("moe_router", "float16")
    (name,) = [name for name, rule in tested.spec.results.items() if rule == INTEGER]
    assert {"int64", "int32", "uint8"} <= set(tested.expected_dtypes(name))
    assert not {"float16", "float32", "bool"} & set(tested.expected_dtypes(name))


@pytest.mark.parametrize(
    ("precision", "dtype", "classes"),
    [
        ("fused", "float16", ("fused",)),
        ("mixed", "float16", ("fused", "mixed")),
        ("eager", "bfloat16", ("fused", "mixed", "eager")),
        ("eager", "float32", ("fused",)),
        ("mixed", "float64", ("fused",)),
        ("exact", "float16", ("exact",)),
        ("exact", "float32", ("exact",)),
    ],
)
def test_the_classes_that_pass(precision: str, dtype: str, classes: tuple[str, ...]) -> None:
    assert make("relu", dtype, precision).classes() == classes


def test_a_wider_answer_is_judged_in_its_own_format() -> None:
    tested = make("cross_entropy", "float16")
    call = tested.call(np.array([[0.1, 2.0, -1.0]]), np.array([2]))
    narrow = call.expectation("fused").radius
    for dtype, name in (("float16", "float16"), ("float32", "float32"), ("float64", "float64")):
        tested.values(call, np.asarray(3.0, dtype))
        assert call.storage.name == name
    tested.values(call, np.asarray(call.value, np.float32))
    assert np.all(call.expectation("fused").radius < narrow / 8), "the bound is that of the wider format"


def test_the_formats_of_several_results() -> None:
    tested = make("attention_with_lse", "float16")
    q = np.ones((1, 2, 4))
    call = tested.call(q, q, q)
    tested.values(call, tuple(np.asarray(x, d) for x, d in zip(call.oracle_results, ("float16", "float32"), strict=True)))
    assert [part.storage.name for part in call.parts or ()] == ["float16", "float32"]
    tested.values(call, tuple(np.asarray(x, "float16") for x in call.oracle_results))
    assert [part.storage.name for part in call.parts or ()] == ["float16", "float16"]


# --- the expectation of a call ---------------------------------------------------------------------------------------


def test_exact_operations_have_no_bound() -> None:
    call = make("embedding").call(np.array([1, 0]), np.array([[1.0, 2.0], [3.0, 4.0]]))
    expectation = call.expectation("exact")
    assert not np.any(expectation.error)
    assert expectation.accepts_all(np.array([[3.0, 4.0], [1.0, 2.0]]))
    assert not expectation.accepts_all(np.array([[3.0, 4.0], [1.0, 2.0000002]]))


def test_arguments_that_rounding_changes_carry_the_change() -> None:
    x = np.array([1 / 3, 0.5, np.nan])
    rounded = round_number(x, FLOAT16, "float16")
    change = abs(float(np.float16(1 / 3)) - 1 / 3)
    assert isinstance(rounded, Bounded)
    assert rounded.error[0] == pytest.approx(change, rel=1e-9)
    assert rounded.error[1:].tolist() == [0.0, 0.0]
    again = round_number(Bounded(np.array([1 / 3]), np.array([0.25]), rounded.arithmetic), FLOAT16, "float16")
    assert again.error[0] == pytest.approx(0.25 + change)
    assert isinstance(round_number(np.array([0.5]), FLOAT16, "float16"), np.ndarray)
    assert round_number(3, FLOAT16, "float16") == 3


@pytest.mark.parametrize("place", [0, BLOCK_ELEMENTS, -1])
def test_one_number_of_a_large_array_that_rounding_changes_is_seen(place: int) -> None:
    x = np.ones(2 * BLOCK_ELEMENTS + 5)
    assert round_number(x, FLOAT16, "float16") is x
    x[place] = 1 / 3
    rounded = round_number(x, FLOAT16, "float16")
    assert isinstance(rounded, Bounded)
    assert np.flatnonzero(rounded.error).tolist() == [place % x.size]


def test_the_errors_of_arguments_reach_the_bound_of_a_composed_operation() -> None:
    tested = make("swiglu")
    weights = np.eye(3)
    exactly = tested.call(np.array([[1.0, 2.0, 3.0]]), weights, weights, weights)
    inexact = Call(
        tested, (Bounded(exactly.arguments[0], 0.5, Arithmetic.of("float32")), *exactly.arguments[1:]), exactly.keywords
    )
    assert inexact.inexact
    assert np.all(inexact.expectation("fused").error > 0.4)
    assert np.all(exactly.expectation("fused").error < 1e-4)


def test_only_the_first_answer_of_a_call_is_its_own() -> None:
    tested = make("relu")
    call = tested.call(np.array([1.0, 2.0]))
    first = np.array([1.0, 2.0], np.float32)
    tested.values(call, first)
    tested.values(call, np.array([7.0, 8.0], np.float32))
    assert call.observed is not None
    assert call.observed.tolist() == [1.0, 2.0]
    assert call.is_answered
    call.release()
    assert call.is_answered
    assert call.result is None


def test_open_elements_are_not_compared_by_laws() -> None:
    tested = make("moe_router")
    call = tested.call(np.array([[1.0, 1.0, 0.0], [5.0, 1.0, 0.0]]), k=1)
    answer = tuple(np.asarray(x, d) for x, d in zip(call.oracle_results, ("float32", "int64"), strict=True))
    result = Result(tested.values(call, answer), call)
    parts = result.parts
    assert all(np.isinf(part.error[0]).all() for part in parts.values())
    assert all(np.isfinite(part.error[1]).all() for part in parts.values())


# --- gradients -------------------------------------------------------------------------------------------------------


def test_gradients_have_the_shapes_of_their_arguments_and_none_is_absent() -> None:
    def answer(*gradients: Any) -> Any:
        tested = make("linear_vjp", linear=specification("linear").reference, linear_vjp=lambda *a, **k: gradients)
        call = tested.call(np.ones((2, 4)), np.ones((2, 3)), np.ones((4, 3)))
        return tested.values(call, gradients)

    x, weight = np.full((2, 3), 4.0, np.float32), np.full((4, 3), 2.0, np.float32)
    assert answer(x, weight).tolist() == [4.0] * 6 + [2.0] * 12
    for wrong, what in (
        ((x.T, weight), "the gradient of x has shape"),
        ((x, None), "there is no gradient of weight"),
        ((x,), "there is no gradient of weight"),
        ((x, weight, x, x, x), "the result has 5 gradients"),
        (("x", weight), "the gradient of x is a str, not an array"),
    ):
        with pytest.raises(Violation, match=what):
            answer(*wrong)


# --- domains and keywords --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("domain", "reason"),
    [
        ({}, ""),
        ({"d": (4, 8)}, ""),
        ({"d": (8,)}, "its domain has no d = 4"),
        ({"eps": (0.5,)}, ""),
        ({"eps": (0.25,)}, "its domain has no eps = 0.5"),
        ({"batch_dims": (1, 2)}, ""),
        ({"batch_dims": (0, 2)}, "its domain has no batch of 1 dimensions"),
        ({"empty": False}, ""),
        ({"d": (4,), "batch_dims": (1,)}, ""),
    ],
)
def test_what_lies_outside_of_a_domain(domain: dict[str, Any], reason: str) -> None:
    tested = make("rms_norm", domain=domain)
    assert outside_domain(tested.call(np.ones((3, 4)), np.ones(4), eps=0.5)) == reason


def test_empty_arrays_may_be_outside_of_a_domain() -> None:
    tested = make("rms_norm", domain={"empty": False})
    assert outside_domain(tested.call(np.ones((0, 4)), np.ones(4), eps=0.5)) == "its domain excludes empty arrays"
    with pytest.raises(NotImplementedVariant, match="empty"):
        tested(np.ones((0, 4)), np.ones(4), eps=0.5)


def test_sizes_have_the_names_of_the_specification() -> None:
    call = make("linear").call(np.ones((5, 2, 3)), np.ones((4, 3)))
    assert sorted(dimension_sizes(call).values()) == [3, 4]
    assert dimension_sizes(make("softmax").call(np.ones((2, 7)), axis=0)).popitem()[1] == 2


@pytest.mark.parametrize(
    ("keywords", "reason"),
    [({}, ""), ({"scale": None}, ""), ({"is_causal": False}, ""), ({"scale": 0.5}, "mine's scaled_dot_product_attention takes"),
     ({"is_causal": True}, "takes no is_causal"), ({"mask": np.ones((2, 2), bool)}, "takes no mask")],
)  # fmt: skip
def test_a_keyword_may_be_left_out_only_with_its_default(keywords: dict[str, Any], reason: str) -> None:
    tested = make("scaled_dot_product_attention", scaled_dot_product_attention=lambda q, k, v: q)
    x = np.ones((2, 4))
    found = keyword_not_taken(tested.call(x, x, x, **keywords))
    assert reason in found
    assert bool(found) == bool(reason)


def test_a_keyword_may_be_left_out_with_the_one_value_of_the_domain() -> None:
    spec = "scaled_dot_product_attention"
    tested = make(spec, domain={"scale": (0.5,)}, **{spec: lambda q, k, v: q})
    x = np.ones((2, 4))
    assert keyword_not_taken(tested.call(x, x, x, scale=0.5)) == ""
    assert keyword_not_taken(tested.call(x, x, x, scale=0.25))


# --- faults ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault("late", timed_out=True), Lost),
        (Fault("dead", lost=True), Lost),
        (Fault("it raised", raised=("KeyError", "")), NoAnswer),
    ],
)
def test_what_is_lost_is_not_repeated(fault: Fault, kind: type) -> None:
    violation = from_fault(fault)
    assert type(violation) is kind
    assert violation.raised == fault.raised
    assert violation.what == fault.what
