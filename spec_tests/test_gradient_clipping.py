"""What must hold of gradient_clipping."""

from dataclasses import replace
from typing import Any

import numpy as np

from .calls.call import Call
from .calls.operation import Operation
from .calls.result import Result
from .helpers.assertions import assert_conforms, assert_equal, assert_identical, assert_true, exactly
from .inputs.draw import Draw
from .operations.gradient_clipping import draw_gradients, draw_limit
from .specification.formats import FORMATS
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


@invariant("B", source="torch.nn.utils.clip_grad_norm_", level="mixed-dtypes", bits=16)
def test_two_dtypes_in_one_list(gradient_clipping: Operation, draw: Draw) -> None:
    """Arrays of 16 bits and of float32 in one list have one norm, and each result has the dtype of its own array."""
    gradients, given = draw_clipped(draw)
    drawn = gradient_clipping.call(gradients, **given)
    is_wide = draw.rng.permutation(np.arange(len(gradients)) < draw.integer(1, len(gradients) - 1))
    finer = [FORMATS["float32"].round(g * (1 + draw.rng.uniform(-1, 1, g.shape) * 2.0**-9)) for g in gradients]
    held = [np.asarray(one if w else g) for one, g, w in zip(finer, gradients, is_wide, strict=True)]
    call = Call(gradient_clipping, (held,), drawn.keywords)
    (narrow,), keywords = gradient_clipping.native(call)
    (wide,), _ = replace(gradient_clipping, dtype="float32").native(call)
    mixed = [one if w else other for one, other, w in zip(wide, narrow, is_wide, strict=True)]
    result = gradient_clipping.run(call, (([*mixed],), keywords))
    found = [gradient_clipping.backend.framework.dtype_of(x) for x in gradient_clipping.by_name(result).values()]
    own = ["float32" if w else gradient_clipping.dtype for w in is_wide]
    assert_true(found == own, f"the results are {', '.join(found)}", expected=", ".join(own))
    gradient_clipping.result(drawn)  # the call that a report shows
    assert_conforms(Result(gradient_clipping.values(call, result), call))
