"""What must hold of newton_schulz."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_identical, assert_unmoved, exactly
from .helpers.conventions import assert_convention, holds_value
from .helpers.singular_values import iterate
from .inputs.draw import Draw, within_domain
from .operations.newton_schulz import draw_matrices, draw_options
from .trials.invariant import invariant

SOURCE = "Jordan et al. 2024, Muon"
HADAMARD = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]) / 2  # orthogonal, with exact entries


@invariant("B", source=SOURCE)
def test_singular_values(newton_schulz: Operation, draw: Draw) -> None:
    """Of a matrix with one entry in each row and column it changes the entries alone: s becomes F(s), F(−s) = −F(s)."""
    m, n = draw.dims(m=33, n=33)
    r = min(m, n)
    s = draw.held(draw.rng.uniform(0.25, 1.0, r) * draw.one_of((1.0, 2.0**-4, 16.0)))
    sign = draw.rng.choice((1.0, -1.0), r)
    place = draw.rng.permutation(m)[:r], draw.rng.permutation(n)[:r]
    x = np.zeros((m, n))
    x[place] = sign * s
    given = draw_options(draw)
    y = newton_schulz(x, **given)
    assert_equal(y[place], sign * iterate(exactly(s), given, is_floor=holds_value(newton_schulz, "muon_norm", "floor")))
    others = np.ones((m, n), dtype=bool)
    others[place] = False
    assert_identical(y.value[others], np.zeros(m * n - r))


@invariant("B", source=SOURCE, cost=2)
def test_rotations(newton_schulz: Operation, draw: Draw) -> None:
    """Orthogonal factors pass through: Q x R becomes Q F(x) R."""
    m, n = (draw.size(name, (4, 8, 12, 16, 20, 32)) for name in ("m", "n"))
    within_domain(draw, m=m, n=n)
    x, given = draw.grid((m, n)), draw_options(draw)
    q, r = (
        np.kron(np.eye(size // 4)[draw.rng.permutation(size // 4)] * draw.rng.choice((1.0, -1.0)), HADAMARD) for size in (m, n)
    )
    assert_equal(newton_schulz(q @ x @ r, **given), exactly(q) @ newton_schulz(x, **given) @ exactly(r))


@invariant("B", source=SOURCE)
def test_transpose(newton_schulz: Operation, draw: Draw) -> None:
    """The transpose of a matrix gives the transpose of its result, whichever side is longer."""
    x, given = draw_matrices(draw), draw_options(draw)
    within_domain(draw, m=x.shape[-1], n=x.shape[-2])
    other: Any = newton_schulz(np.ascontiguousarray(np.swapaxes(x, -1, -2)), **given)
    assert_equal(np.swapaxes(other, -1, -2), newton_schulz(x, **given))


@invariant("E", source=SOURCE)
def test_odd(newton_schulz: Operation, draw: Draw) -> None:
    """The opposite matrix gives the opposite result, and a matrix of zeros gives zeros."""
    x, given = draw_matrices(draw), draw_options(draw)
    assert_unmoved(newton_schulz(-x, **given), -newton_schulz(x, **given))
    assert_identical(newton_schulz(0 * x, **given).value, np.zeros(x.shape))


@invariant("B")
def test_muon_norm(newton_schulz: Operation, draw: Draw) -> None:
    """eps is added to the norm, or is its floor, always the same."""
    assert_convention(newton_schulz, draw, "muon_norm")


@invariant("B")
def test_muon_compute(newton_schulz: Operation, draw: Draw) -> None:
    """Newton-Schulz is computed in the dtype of its argument, or in bfloat16, and not in fewer bits."""
    assert_convention(newton_schulz, draw, "muon_compute")
