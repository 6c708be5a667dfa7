"""How gated_rms_norm is drawn: groups of all sizes, gates of both signs, and eps that matter."""

from typing import Any, NamedTuple

import numpy as np

from reference_numpy.gated_rms_norm import gated_rms_norm
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.inputs.draw import EPS, MANY_ROWS, Draw
from spec_tests.specification.declaration import Declaration

ACTIVATIONS = ("silu", "sigmoid")


class Gated(NamedTuple):
    """The arrays of a call, in the order of the arguments."""

    x: np.ndarray
    gate: np.ndarray
    weight: np.ndarray


def group_sizes(d: int) -> tuple[int, ...]:
    """Return sizes of groups that divide d: some small, some large, and d itself."""
    return tuple(size for size in (1, 2, 3, 4, 8, 16, 64, d // 2) if size and d % size == 0 and size < d) or (d,)


def draw_width(draw: Draw, largest: int = 300) -> int:
    """Draw d. Where the domain states sizes of groups, one of them divides it."""
    (d,) = draw.dims(d=largest)
    stated = [size for size in draw.operation.domain.get("group_size", ()) if size]
    if not stated or None in draw.operation.domain["group_size"] or any(d % size == 0 for size in stated):
        return d
    if "d" in draw.operation.domain:
        raise NotImplementedVariant(f"no group_size of its domain divides d = {d}", "suite")
    return max(stated[0], d - d % stated[0])


def draw_group(draw: Draw, d: int) -> dict[str, Any]:
    """Draw the size of groups, one that divides d."""
    stated = draw.operation.domain.get("group_size", (None, *group_sizes(d)))
    return draw.only("group_size", *(size for size in stated if size is None or d % size == 0))


def draw_options(draw: Draw, d: int) -> dict[str, Any]:
    """Draw the keywords."""
    order = draw.keyword("norm_before_gate", (True, False))
    return draw.keyword("eps", EPS) | draw_group(draw, d) | order | draw.keyword("activation", ACTIVATIONS)


def draw_gated(draw: Draw, d: int) -> Gated:
    """Draw rows, gates and a weight."""
    shape = (*draw.batch(MANY_ROWS), d)
    size = draw.one_of((1.0, 1.0, 30.0, 1e-3))
    x, gate = draw.normal(shape, size), draw.normal(shape, draw.one_of((1.0, 4.0)))
    gate = np.where(draw.rng.random(shape) < draw.one_of((0.0, 0.1)), 0.0, gate)
    return Gated(x, gate, draw.gain(d))


def draw_call(draw: Draw, largest: int = 300) -> tuple[Gated, dict[str, Any]]:
    """Draw a call."""
    d = draw_width(draw, largest)
    return draw_gated(draw, d), draw_options(draw, d)


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return draw_call(draw, 2049)


declaration = Declaration(
    equation=gated_rms_norm,
    arguments=arguments,
    core={"x": 1, "gate": 1},
    precision="fused",
    choices={"norm_before_gate": (True, False), "activation": ACTIVATIONS},
    linear=("weight",),
)
