"""What must hold of gradient_clipping."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .calls.result import Result
from .helpers.assertions import assert_equal, assert_identical, exactly
from .inputs.draw import Draw
from .operations.gradient_clipping import draw_gradients, draw_limit
from .trials.invariant import invariant

EQUATION = "CS336 assignment 1, section 4.5"
ABOVE, BELOW = (0.5, 0.1, 0.9, 1e-3), (1.5, 2.0, 1000.0)  # limits, as shares of the norm


def draw_clipped(draw: Draw) -> tuple[list[np.ndarray], dict[str, Any]]:
    """Draw gradients whose norm is above the limit."""
    gradients = draw_gradients(draw, 2)
    return gradients, draw_limit(draw, gradients, ABOVE)


def flat(result: Result) -> list[Any]:
    """Return each array of a result as a vector."""
    return [np.reshape(part, (part.value.size,)) for part in result.parts.values()]  # type: ignore[call-overload]


def whole(result: Result) -> Any:
    """Return all arrays of a result as one vector."""
    return np.concatenate(flat(result))


def vector(gradients: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([g.ravel() for g in gradients])


@invariant("E", source=EQUATION)
def test_below_the_limit(gradient_clipping: Operation, draw: Draw) -> None:
    """Gradients whose joint norm is below max_norm − eps keep every bit."""
    gradients = draw_gradients(draw)
    given = draw_limit(draw, gradients, BELOW)
    given["max_norm"] += 2 * given.get("eps", 1e-6)
    result = gradient_clipping(gradients, **given)
    for part, g in zip(result.parts.values(), gradients, strict=True):
        assert_identical(part, np.asarray(g))


@invariant("B", source=EQUATION)
def test_length(gradient_clipping: Operation, draw: Draw) -> None:
    """A norm N above max_norm becomes max_norm · N / (N + eps)."""
    gradients, given = draw_clipped(draw)
    y = whole(gradient_clipping(gradients, **given))
    norm = np.sqrt(np.sum(np.square(exactly(vector(gradients))), axis=0))
    expected = given["max_norm"] * norm / (norm + given.get("eps", 1e-6))
    assert_equal(np.sum(np.square(y), axis=0), np.square(expected))


@invariant("B", source=EQUATION)
def test_one_factor(gradient_clipping: Operation, draw: Draw) -> None:
    """All elements of all arrays are multiplied by one factor, so that the direction is kept."""
    gradients, given = draw_clipped(draw)
    y, g = whole(gradient_clipping(gradients, **given)), vector(gradients)
    largest = int(np.argmax(np.abs(g)))
    assert_equal(y * exactly(g[largest]), y[largest] * exactly(g))


@invariant("B", source=EQUATION)
def test_any_division_into_arrays(gradient_clipping: Operation, draw: Draw) -> None:
    """One array of all elements is clipped as the list is: the norm is that of all of them together."""
    gradients = draw_gradients(draw, 2)
    given = draw_limit(draw, gradients)
    apart, together = gradient_clipping(gradients, **given), gradient_clipping([vector(gradients)], **given)
    assert_equal(whole(apart), whole(together))


@invariant("B", source=EQUATION)
def test_order_of_arrays(gradient_clipping: Operation, draw: Draw) -> None:
    """The arrays in another order give the results in that order."""
    gradients = draw_gradients(draw, 3)
    given, order = draw_limit(draw, gradients), draw.rng.permutation(len(gradients))
    there, here = (gradient_clipping(arrays, **given) for arrays in ([gradients[i] for i in order], gradients))
    arrays = [*here.parts.values()]
    for part, i in zip(there.parts.values(), order, strict=True):
        assert_equal(part, arrays[i])


@invariant("B", source=EQUATION)
def test_opposite_gradients(gradient_clipping: Operation, draw: Draw) -> None:
    """The opposite gradients give the opposite results."""
    gradients = draw_gradients(draw)
    given = draw_limit(draw, gradients)
    up, down = (whole(gradient_clipping([sign * g for g in gradients], **given)) for sign in (1.0, -1.0))
    assert_equal(down, -up)


@invariant("B", source=EQUATION)
def test_twice_is_once(gradient_clipping: Operation, draw: Draw) -> None:
    """What has been clipped is below max_norm, and clipping it again changes no more than the rounding of its norm."""
    gradients, given = draw_clipped(draw)
    first = gradient_clipping(gradients, **given)
    again = gradient_clipping([*first.parts.values()], **given)
    assert_equal(whole(again), whole(first))


@invariant("B", source=EQUATION)
def test_scale(gradient_clipping: Operation, draw: Draw) -> None:
    """Gradients, max_norm and eps that are all multiplied by a power of two give results multiplied by it."""
    gradients = draw_gradients(draw)
    given, scale = draw_limit(draw, gradients) | {"eps": 0.0}, draw.one_of((2.0, 0.25, 16.0))
    scaled = gradient_clipping([scale * g for g in gradients], **{**given, "max_norm": scale * given["max_norm"]})
    assert_equal(whole(scaled), scale * whole(gradient_clipping(gradients, **given)))
