"""Test that an exception joins only a cause of its own type and text, and that no wrong value takes it in."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from spec_tests.calls.violation import NoAnswer
from spec_tests.implementation.backend import Backend, build_backend
from spec_tests.specification.registry import operations
from spec_tests.trials.cause import Cause
from spec_tests.trials.failure import Failure

from ..support.in_process import attempt, trials


def run(under_test: Backend, *subjects: str) -> list[Cause]:
    """Try the laws of the operations as a run does, and return the causes that it finds."""
    for test, trial in trials(under_test):
        if test.invariant.level is None and test.invariant.subject(trial.operation_name) in subjects:
            attempt(test, trial, seed=1, shrink=True)
    causes: list[Cause] = under_test.causes
    return causes


def make_backend(dtypes: tuple[str, ...] = ("float32",), **functions: Any) -> Backend:
    return build_backend(SimpleNamespace(name="mine", framework="numpy", dtypes=dtypes, **functions), set(operations()))


def scramble(y: np.ndarray) -> np.ndarray:
    """Return wrong values that nothing explains."""
    return y * np.where(np.arange(y.size).reshape(y.shape) % 3 == 1, y.dtype.type(1.7), y.dtype.type(1))


def symptom(what: str, place: str, operation: str = "relu", kind: str = "ValueError") -> set[str]:
    violation = NoAnswer(f"the call raised {kind}: {what}")
    violation.raised = kind, place
    return set(Failure(f"{operation}.reference", operation, "float32", violation).symptoms)


@pytest.mark.rotating
@pytest.mark.parametrize("raising", ["float16", "float32"])
def test_wrong_values_in_one_dtype_do_not_take_in_exceptions_in_another(raising: str) -> None:
    def relu(x: np.ndarray) -> np.ndarray:
        if x.dtype == raising:
            raise RuntimeError("no kernel image is available")
        return scramble(np.maximum(x, 0))

    causes = run(make_backend(("float32", "float16"), relu=relu), "relu")
    (exception,) = [cause for cause in causes if cause.kind == "exception"]
    assert "no kernel image is available" in exception.symptom
    assert {dtype for _, dtype in exception.failures} == {raising}
    others = [cause for cause in causes if cause is not exception]
    assert others
    assert all(raising not in {dtype for _, dtype in cause.failures} for cause in others)


def test_an_exception_is_one_cause_whatever_its_line() -> None:
    def relu(x: np.ndarray) -> np.ndarray:
        if x.ndim > 1:
            raise ValueError(f"no kernel for {x.shape}, buffer {hex(id(x))}")
        if x.size > 3:
            raise ValueError(f"no kernel for {x.shape}, buffer {hex(id(x))}")
        return np.maximum(x, 0)

    (cause,) = run(make_backend(relu=relu), "relu")
    assert cause.kind == "exception"


def test_exceptions_of_another_text_or_type_are_other_causes() -> None:
    def relu(x: np.ndarray) -> np.ndarray:
        if x.ndim > 1:
            raise ValueError("too many axes")
        if x.size > 3:
            raise TypeError("too many axes")
        if x.size == 1:
            raise ValueError("a single element")
        return np.maximum(x, 0)

    causes = run(make_backend(relu=relu), "relu")
    assert {cause.kind for cause in causes} == {"exception"}
    assert len(causes) == 3


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("shape (2, 3) is not (3,)", "shape (4,) is not (1, 2, 3)"),
        ("shape () has no axis 1", "shape [2, 3] has no axis -3"),
        ("at 0x7f00aa", "at 0x55dc0123"),
        ("no kernel for float32", "no kernel for bfloat16"),
        ("took 1.5e-3 s", "took 12 s"),
        ("2x3 and 4x5", "12x1 and 7x7"),
    ],
)
def test_what_differs_between_examples_is_left_out(first: str, second: str) -> None:
    assert symptom(first, "a.py:1 in f") & symptom(second, "a.py:9 in f")


def test_operation_or_place_makes_equal_exceptions_one() -> None:
    here = symptom("no kernel", "a.py:1 in f")
    assert here & symptom("no kernel", "a.py:1 in f", operation="silu")
    assert here & symptom("no kernel", "a.py:2 in g")
    assert not here & symptom("no kernel", "a.py:2 in g", operation="silu")
    assert not here & symptom("no memory", "a.py:1 in f")
    assert not here & symptom("no kernel", "a.py:1 in f", kind="TypeError")
    assert len(symptom("a or b", "")) == 1


def turn_by_a_short_table(x: np.ndarray, positions: np.ndarray, *, theta: float) -> np.ndarray:
    """Return the rotation of tokens whose table has as many rows as there are tokens."""
    n, d = x.shape[-2:]
    angles = (np.arange(n)[:, None] * theta ** (-np.arange(0, d, 2) / d))[positions]
    a, b = x[..., ::2], x[..., 1::2]
    turned = np.stack([a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles)], -1)
    return turned.reshape(x.shape).astype(x.dtype)


def test_an_exception_is_said_with_the_positions_that_raise_it() -> None:
    under_test = make_backend(rope=turn_by_a_short_table, domain={"rope": {"max_position": 100}})
    (attempted,) = [pair for pair in trials(under_test) if pair[0].invariant.id_for(pair[1].operation_name) == "rope.reference"]
    attempt(*attempted, seed=1, shrink=True)
    exceptions = [cause.symptom for cause in under_test.causes if cause.kind == "exception"]
    assert [symptom.partition("; ")[2] for symptom in exceptions] == ["it raises for a position of n or more"]


@pytest.mark.rotating
def test_exceptions_at_two_places_are_one_cause_if_the_same_calls_raise_them() -> None:
    def relu(x: np.ndarray) -> np.ndarray:
        if x.ndim > 1 and x.shape[0] % 2:
            raise ValueError("the grid has an odd number of rows")
        if x.ndim > 1:
            raise IndexError("too many indices")
        return np.maximum(x, 0)

    (cause,) = run(make_backend(relu=relu), "relu")
    assert "; it raises for " in cause.symptom


@pytest.mark.rotating
def test_an_exception_of_a_gradient_is_that_of_the_operation_if_the_same_calls_raise_it() -> None:
    def relu(x: np.ndarray) -> np.ndarray:
        if x.ndim > 1:
            raise ValueError("the grid has one axis")
        return np.maximum(x, 0)

    def relu_vjp(cotangent: np.ndarray, x: np.ndarray) -> tuple[np.ndarray]:
        if x.ndim > 1:
            raise IndexError("too many indices")
        return (np.where(x > 0, cotangent, 0).astype(x.dtype),)

    (cause,) = run(make_backend(relu=relu, relu_vjp=relu_vjp), "relu", "relu_vjp")
    assert "; it raises for " in cause.symptom


def normalize_along_axis_2(x: np.ndarray, weight: np.ndarray, *, eps: float) -> np.ndarray:
    return x / np.sqrt(np.mean(np.square(x), axis=2, keepdims=True) + x.dtype.type(eps)) * weight


def test_an_exception_belongs_to_the_equation_that_explains_the_wrong_answers() -> None:
    under_test = make_backend(rms_norm=normalize_along_axis_2)
    own = [pair for pair in trials(under_test) if pair[0].invariant.id_for(pair[1].operation_name) == "rms_norm.reference"]
    for test, trial in own:
        attempt(test, trial, seed=1, shrink=True)
    exception, explained = sorted(under_test.causes, key=lambda cause: bool(cause.explanations))
    assert exception.symptom.endswith("; it raises for batch_dims < 2")
    assert "mean(x^2, axis=«2»)" in explained.explanations[0].what
    assert explained.is_same(exception)


@pytest.mark.rotating
def test_a_gradient_has_no_answer_for_the_reason_that_its_forward_result_has_none() -> None:
    pytest.importorskip("torch")

    def silu(x: Any) -> Any:
        raise TypeError("silu() takes an old tensor")

    under_test = SimpleNamespace(name="mine", framework="torch", device="cpu", dtypes=("float32",), silu=silu)
    (cause,) = run(build_backend(under_test, set(operations())), "silu", "silu_vjp")
    assert {law.partition(".")[0] for law, _ in cause.failures} == {"silu", "silu_vjp"}


@pytest.mark.rotating
def test_a_result_of_another_shape_is_the_cause_of_its_gradient_too() -> None:
    torch = pytest.importorskip("torch")

    def cross_entropy(logits: Any, targets: Any) -> Any:
        return (torch.logsumexp(logits, -1) - logits.gather(-1, targets[..., None])[..., 0]).reshape(-1)

    under_test = SimpleNamespace(name="mine", framework="torch", device="cpu", dtypes=("float32",), cross_entropy=cross_entropy)
    causes = run(build_backend(under_test, set(operations())), "cross_entropy", "cross_entropy_vjp")
    assert [cause.kind for cause in causes] == ["symptom"]


@pytest.mark.rotating
def test_a_gradient_that_raises_by_itself_is_a_cause_beside_its_forward_result() -> None:
    torch = pytest.importorskip("torch")

    class Silu(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return torch.nn.functional.silu(x) * 1.5

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            raise RuntimeError("backward is not written")

    under_test = SimpleNamespace(name="mine", framework="torch", device="cpu", dtypes=("float32",), silu=Silu.apply)
    causes = run(build_backend(under_test, set(operations())), "silu", "silu_vjp")
    (exception,) = [cause for cause in causes if cause.kind == "exception"]
    assert "backward is not written" in exception.symptom
    assert {law.partition(".")[0] for law, _ in exception.failures} == {"silu_vjp"}
