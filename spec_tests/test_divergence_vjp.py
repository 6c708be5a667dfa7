"""What must hold of the gradient of divergence."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_identical, exactly
from .inputs.draw import Draw
from .operations.divergence import draw_logits, draw_options, draw_targets
from .trials.invariant import invariant

EQUATION = "differentiation of Agarwal et al. 2024, arXiv:2306.13649, section 3"


def draw_cotangent(draw: Draw, shape: tuple[int, ...], reduction: str) -> np.ndarray:
    """Draw a cotangent of the result: one number, or one of each row without a reduction."""
    return draw.grid(shape if reduction == "none" else ())


@invariant("B", source=EQUATION, cost=2)
def test_rows_sum_to_zero(divergence_vjp: Operation, draw: Draw) -> None:
    """The gradient of each row sums to 0: the loss does not change when a row is shifted."""
    student, teacher = draw_logits(draw, longest=257)
    given = draw_options(draw, "beta", "temperature", "reduction")
    c = draw_cotangent(draw, student.shape[:-1], given.get("reduction", "mean"))
    dz: Any = divergence_vjp(c, student, teacher, **given, wrt="student_logits")
    assert_equal(np.sum(dz, axis=-1), np.zeros(student.shape[:-1]))


@invariant("B", source=EQUATION, cost=2)
def test_equal_logits(divergence_vjp: Operation, draw: Draw) -> None:
    """A student that is its teacher has no gradient."""
    student, _ = draw_logits(draw, longest=257)
    given = draw_options(draw, "beta", "temperature", "reduction")
    c = draw_cotangent(draw, student.shape[:-1], given.get("reduction", "mean"))
    dz = divergence_vjp(c, student, student + 0.0, **given, wrt="student_logits")
    assert_equal(dz, np.zeros(student.shape))


@invariant("B", source=EQUATION, cost=2)
def test_forward(divergence_vjp: Operation, softmax: Operation, draw: Draw) -> None:
    """At beta = 0 it is c (q − p), made of the backend's own softmax; the mean has c over the number of rows."""
    student, teacher = draw_logits(draw, longest=257)
    given = draw.only("reduction", "sum", "mean") | draw.only("beta", 0.0) | draw.only("temperature", 1.0)
    n = 1.0 if given.get("reduction", "mean") == "sum" else float(np.prod(student.shape[:-1]))
    c = draw.grid(())
    dz: Any = divergence_vjp(c, student, teacher, **given, wrt="student_logits")
    assert_equal(dz * n, (softmax(student, axis=-1) - softmax(teacher, axis=-1)) * exactly(c))


@invariant("B", source=EQUATION, cost=2)
def test_temperature_divides_the_gradient(divergence_vjp: Operation, draw: Draw) -> None:
    """At a temperature T it is the gradient at logits / T and the temperature 1, over T."""
    student, teacher = draw_logits(draw, longest=257)
    given = draw_options(draw, "beta", "reduction")
    allowed = draw.operation.domain.get("temperature", (0.5, 2.0, 4.0, 0.25) if divergence_vjp.accepts("temperature") else (1.0,))
    temperature = draw.one_of(tuple(allowed))
    warm_given = {"temperature": temperature} if divergence_vjp.accepts("temperature") else {}
    c = draw_cotangent(draw, student.shape[:-1], given.get("reduction", "mean"))
    warm: Any = divergence_vjp(c, student, teacher, **given, **warm_given, wrt="student_logits")
    divided = exactly(student) / temperature, exactly(teacher) / temperature
    cold = divergence_vjp(c, *divided, **given, **draw.only("temperature", 1.0), wrt="student_logits")
    assert_equal(warm * temperature, cold)


@invariant("E", source=EQUATION, cost=2, needs=("keyword:targets",))
def test_ignored_rows(divergence_vjp: Operation, draw: Draw) -> None:
    """An ignored row has a gradient of exactly 0, also where all rows are ignored."""
    student, teacher = draw_logits(draw, longest=257)
    given = draw_options(draw, "beta", "temperature", "reduction") | draw_targets(draw, student.shape[:-1])
    ignored = given["targets"] == given.get("ignore_index", -100)
    c = draw_cotangent(draw, student.shape[:-1], given.get("reduction", "mean"))
    dz = divergence_vjp(c, student, teacher, **given, wrt="student_logits")
    assert_identical(dz.value[ignored], np.zeros((int(np.sum(ignored)), student.shape[-1])))
