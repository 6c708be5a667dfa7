"""What must hold of token_log_probs."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_finite, assert_within, exactly
from .inputs.draw import Draw
from .operations.token_log_probs import draw_inputs, draw_removed, draw_targets, draw_temperature
from .trials.invariant import invariant

EQUATION = "CS336 assignment 5, run_compute_entropy and run_get_response_log_probs"
LARGEST = 48  # entries of a vocabulary each of which is a target


def draw_every_target(draw: Draw) -> tuple[np.ndarray, np.ndarray]:
    """Draw one row of logits as often as it has entries, each of which is a target once."""
    (vocab,) = draw.dims(vocab=LARGEST)
    row = draw.normal((vocab,), draw.one_of((1.0, 4.0))) + draw.one_of((0.0, 0.0, 16.0, -64.0))
    return np.repeat(draw.held(row)[None], vocab, axis=0), np.arange(vocab)


def assert_both_equal(left: Any, right: Any) -> None:
    for one, other in zip(left, right, strict=True):
        assert_equal(one, other)


@invariant("B", source=EQUATION)
def test_probabilities_sum_to_one(token_log_probs: Operation, draw: Draw) -> None:
    """The probabilities of all tokens of a vocabulary have the sum 1."""
    logits, targets = draw_every_target(draw)
    log_probs, _ = token_log_probs(logits, targets, **draw_temperature(draw))
    assert_equal(np.sum(np.exp(log_probs), axis=0), 1.0)


@invariant("B", source=EQUATION)
def test_entropy_is_the_mean_surprise(token_log_probs: Operation, draw: Draw) -> None:
    """The entropy is minus the sum of p log p over all tokens of the vocabulary, made of the log_probs themselves."""
    logits, targets = draw_every_target(draw)
    log_probs, entropy = token_log_probs(logits, targets, **draw_temperature(draw))
    assert_equal(entropy, -np.sum(np.exp(log_probs) * log_probs, axis=0) + np.zeros(len(targets)))


@invariant("B", source=EQUATION)
def test_shift(token_log_probs: Operation, draw: Draw) -> None:
    """Adding a number to all logits of a row changes neither result."""
    logits, targets = draw_inputs(draw)
    given, shift = draw_temperature(draw), draw.rng.choice((1.0, -3.0, 64.0), (*logits.shape[:-1], 1))
    assert_both_equal(token_log_probs(exactly(logits) + shift, targets, **given), token_log_probs(logits, targets, **given))


@invariant("B", source=EQUATION)
def test_permutation(token_log_probs: Operation, draw: Draw) -> None:
    """Permuting the vocabulary, in the logits and in the targets, changes neither result."""
    logits, targets = draw_inputs(draw)
    given, order = draw_temperature(draw), draw.rng.permutation(logits.shape[-1])
    moved = token_log_probs(logits[..., order], np.argsort(order)[targets], **given)
    assert_both_equal(moved, token_log_probs(logits, targets, **given))


@invariant("B", source=EQUATION, needs=("keyword:temperature",))
def test_temperature_divides_the_logits(token_log_probs: Operation, draw: Draw) -> None:
    """A temperature is the same as logits that are divided by it, in both results."""
    logits, targets = draw_inputs(draw)
    allowed = draw.operation.domain.get("temperature", (0.5, 2.0, 4.0, 0.25))
    temperature = draw.one_of(tuple(allowed))
    divided = token_log_probs(exactly(logits) / temperature, targets, **draw.only("temperature", 1.0))
    assert_both_equal(token_log_probs(logits, targets, temperature=temperature), divided)


@invariant("B", source=EQUATION)
def test_entropy_lies_between_zero_and_that_of_equal_logits(token_log_probs: Operation, draw: Draw) -> None:
    """0 ≤ entropy ≤ ln(vocab), and no log_prob is above 0."""
    logits, targets = draw_inputs(draw)
    log_probs, entropy = token_log_probs(logits, targets, **draw_temperature(draw))
    assert_within(entropy, 0.0, np.log(exactly(float(logits.shape[-1]))))
    assert_within(log_probs, -np.inf, 0.0)


@invariant("B", source=EQUATION)
def test_equal_logits(token_log_probs: Operation, draw: Draw) -> None:
    """Equal logits give −ln(vocab) and ln(vocab), at every temperature."""
    logits, targets = draw_inputs(draw)
    level = np.repeat(draw.normal((*logits.shape[:-1], 1), 4.0), logits.shape[-1], axis=-1)
    log_probs, entropy = token_log_probs(level, targets, **draw_temperature(draw))
    assert_equal(log_probs, -np.log(exactly(float(logits.shape[-1]))) + np.zeros(targets.shape))
    assert_equal(entropy, np.log(exactly(float(logits.shape[-1]))) + np.zeros(targets.shape))


@invariant("B", source=EQUATION)
def test_removed_entries_might_be_absent(token_log_probs: Operation, draw: Draw) -> None:
    """Deleting entries of −inf changes neither result; where one entry is left, both are 0."""
    logits, targets, left = draw_removed(draw)
    given, number = draw_temperature(draw), np.cumsum(left) - 1
    with_them = token_log_probs(logits, targets, **given)
    assert_both_equal(with_them, token_log_probs(logits[..., left], number[targets], **given))
    if np.sum(left) == 1:
        assert_both_equal(with_them, (np.zeros(targets.shape),) * 2)


@invariant("F", source=EQUATION)
def test_no_overflow(token_log_probs: Operation, draw: Draw) -> None:
    """Both results are finite for logits far from 0, and beside entries of −inf."""
    logits, _, left = draw_removed(draw)
    logits = np.where(left, draw.held(np.where(left, logits, 0.0) + draw.one_of((0.0, 1000.0, -1000.0))), -np.inf)
    for result in token_log_probs(logits, draw_targets(draw, logits)):
        assert_finite(result)


@invariant("B", source=EQUATION)
def test_cross_entropy(token_log_probs: Operation, cross_entropy: Operation, draw: Draw) -> None:
    """The log_probs at the temperature 1 are minus the backend's own cross_entropy without a reduction."""
    logits, targets = draw_inputs(draw)
    given = draw.for_operation(cross_entropy).only("reduction", "none")
    log_probs, _ = token_log_probs(logits, targets, **draw.only("temperature", 1.0))
    assert_equal(log_probs, -cross_entropy(logits, targets, **given))
