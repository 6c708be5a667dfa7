"""What must hold of the gradient of token_log_probs."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, exactly
from .inputs.draw import Draw
from .operations.token_log_probs import draw_inputs, draw_temperature
from .trials.invariant import invariant

EQUATION = "differentiation of CS336 assignment 5, run_compute_entropy and run_get_response_log_probs"


@invariant("B", source=EQUATION, cost=2)
def test_rows_sum_to_zero(token_log_probs_vjp: Operation, draw: Draw) -> None:
    """The gradient of each row sums to 0, from both cotangents: neither result changes when a row is shifted."""
    logits, targets = draw_inputs(draw, longest=257)
    c, g = draw.grid(targets.shape), draw.grid(targets.shape)
    dz: Any = token_log_probs_vjp((c, g), logits, targets, **draw_temperature(draw), wrt="logits")
    assert_equal(np.sum(dz, axis=-1), np.zeros(targets.shape))


@invariant("B", source=EQUATION, cost=2)
def test_log_probs_alone(token_log_probs_vjp: Operation, softmax: Operation, draw: Draw) -> None:
    """With a cotangent c of the log_probs alone it is c ([i = target] − softmax(z)), made of the backend's own softmax."""
    logits, targets = draw_inputs(draw, longest=257)
    c = draw.grid((*targets.shape, 1))
    dz = token_log_probs_vjp((c[..., 0], None), logits, targets, **draw.only("temperature", 1.0), wrt="logits")
    is_target = exactly((np.arange(logits.shape[-1]) == targets[..., None]).astype(float))
    assert_equal(dz, (is_target - softmax(logits, axis=-1)) * c)


@invariant("B", source=EQUATION, cost=2)
def test_entropy_alone(token_log_probs_vjp: Operation, token_log_probs: Operation, softmax: Operation, draw: Draw) -> None:
    """With a cotangent g of the entropy alone it is −g p (z − Σ p z), made of the backend's own softmax p."""
    logits, targets = draw_inputs(draw, longest=257)
    g = draw.grid((*targets.shape, 1))
    dz = token_log_probs_vjp((None, g[..., 0]), logits, targets, **draw.only("temperature", 1.0), wrt="logits")
    p: Any = softmax(logits, axis=-1)
    z = exactly(logits)
    assert_equal(dz, p * (z - np.sum(p * z, axis=-1, keepdims=True)) * -g)


@invariant("B", source=EQUATION, cost=2)
def test_equal_logits_have_the_largest_entropy(token_log_probs_vjp: Operation, draw: Draw) -> None:
    """At equal logits the entropy has no slope."""
    logits, targets = draw_inputs(draw, longest=257)
    level = np.repeat(draw.normal((*targets.shape, 1), 4.0), logits.shape[-1], axis=-1)
    dz = token_log_probs_vjp((None, draw.grid(targets.shape)), level, targets, **draw_temperature(draw), wrt="logits")
    assert_equal(dz, np.zeros(logits.shape))


@invariant("B", source=EQUATION, cost=2, needs=("keyword:temperature",))
def test_temperature_divides_the_gradient(token_log_probs_vjp: Operation, draw: Draw) -> None:
    """At a temperature T it is the gradient at logits / T and the temperature 1, over T."""
    logits, targets = draw_inputs(draw, longest=257)
    temperature = draw.one_of(tuple(draw.operation.domain.get("temperature", (0.5, 2.0, 4.0, 0.25))))
    c = draw.grid(targets.shape), draw.grid(targets.shape)
    warm = token_log_probs_vjp(c, logits, targets, temperature=temperature, wrt="logits")
    plain = draw.only("temperature", 1.0)
    cold = token_log_probs_vjp(c, exactly(logits) / temperature, targets, **plain, wrt="logits")
    assert_equal(warm * temperature, cold)
