"""What must hold of gated_activation, whatever the activation and the packing."""

import numpy as np

from .calls.operation import Operation
from .calls.violation import NotImplementedVariant
from .helpers.assertions import assert_equal, assert_identical, assert_unmoved, exactly
from .helpers.packed_halves import draw_halves, draw_plain_options, pack, require
from .inputs.draw import Draw
from .operations.gated_activation import ACTIVATIONS, LAYOUTS, draw_options
from .trials.invariant import invariant

EQUATION = "Shazeer 2020, eqs. 5 and 6"


@invariant("B", source=EQUATION)
def test_layouts(gated_activation: Operation, draw: Draw) -> None:
    """Both layouts, and either half as the gate, give the same result for the same halves."""
    options, (g, u) = draw_options(draw), draw_halves(draw)
    require(draw, "layout", "gate")
    packings = [{**options, "layout": layout, "gate": gate} for layout in LAYOUTS for gate in ("first", "second")]
    first, *others = (gated_activation(pack(g, u, packing), **packing) for packing in packings)
    for other in others:
        assert_equal(other, first)


@invariant("B", source=EQUATION)
def test_linear_in_what_is_gated(gated_activation: Operation, draw: Draw) -> None:
    """Without limit and offset the result is linear in u: y(g, u + v) = y(g, u) + y(g, v)."""
    options, (g, _) = draw_plain_options(draw), draw_halves(draw)
    u, v = draw.grid(g.shape), draw.grid(g.shape)
    whole, one, other = (gated_activation(pack(g, part, options), **options) for part in (u + v, u, v))
    assert_equal(whole, one + other)


@invariant("E", source=EQUATION)
def test_shut(gated_activation: Operation, draw: Draw) -> None:
    """A gate of 0 gives exactly 0 with every activation but the sigmoid."""
    options, (g, u) = draw_options(draw, activations=ACTIVATIONS[:-1]), draw_halves(draw)
    if options.get("activation", "silu") == "sigmoid":
        raise NotImplementedVariant("its domain has no activation that is 0 at 0")
    assert_identical(gated_activation(pack(0 * g, u, options), **options), np.zeros(g.shape))


@invariant("B", source=EQUATION)
def test_half_open(gated_activation: Operation, draw: Draw) -> None:
    """With the sigmoid a gate of 0 is half open: (u + offset) / 2 where u is within the limit."""
    options, (g, u) = draw_options(draw, activations=("sigmoid",)), draw_halves(draw)
    if options.get("activation", "silu") != "sigmoid":
        raise NotImplementedVariant("its domain has no sigmoid")
    limit = options.get("limit")
    within = u if limit is None else np.clip(u, -limit, limit)
    assert_equal(gated_activation(pack(0 * g, u, options), **options), (exactly(within) + options.get("offset", 0.0)) / 2)


@invariant("B", source=EQUATION)
def test_opposite_gates(gated_activation: Operation, draw: Draw) -> None:
    """Without a limit, the gates g and −g together let u + offset through once (sigmoid), or |g| or g times (the others).

    act(z) − act(−z) = z for silu, gelu and relu; σ(z) + σ(−z) = 1."""
    options, (g, u) = draw_options(draw) | {"limit": None}, draw_halves(draw)
    options = {name: value for name, value in options.items() if draw.operation.accepts(name) or name in draw.operation.domain}
    y, opposite = (gated_activation(pack(gate, u, options), **options) for gate in (g, -g))
    through = exactly(u) + options.get("offset", 0.0)
    if options.get("activation", "silu") == "sigmoid":
        assert_equal(y + opposite, through)
    else:
        assert_equal(y - opposite, exactly(g) * through)


@invariant("B", source="gpt-oss model card, arXiv:2508.10925")
def test_offset(gated_activation: Operation, draw: Draw) -> None:
    """The offset adds that many times the gate: y(g, u; b) = y(g, u; 0) + b y(g, 1; 0)."""
    options, (g, u) = draw_plain_options(draw), draw_halves(draw)
    require(draw, "offset")
    b = draw.one_of((1.0, -2.0, 0.5))
    with_offset = gated_activation(pack(g, u, options), **{**options, "offset": b})
    without, gate = (gated_activation(pack(g, part, options), **options) for part in (u, np.ones_like(u)))
    assert_equal(with_offset, without + b * gate)


@invariant("B", source="gpt-oss model card, arXiv:2508.10925")
def test_limit(gated_activation: Operation, draw: Draw) -> None:
    """A limit replaces a larger g by itself, and a u beyond it on either side by ± itself. A smaller g it leaves alone."""
    options, (g, u) = draw_options(draw), draw_halves(draw)
    require(draw, "limit")
    limit = draw.one_of((7.0, 1.0, 0.5, 0.0))
    options |= {"limit": limit}
    beyond = gated_activation(pack(g, u, options), **options)
    at_limit = pack(np.minimum(g, limit), np.clip(u, -limit, limit), options)
    assert_unmoved(beyond, gated_activation(at_limit, **options))
    assert_equal(beyond, gated_activation(at_limit, **{**options, "limit": None}))


@invariant("B", source=EQUATION)
def test_composition(gated_activation: Operation, silu: Operation, draw: Draw) -> None:
    """With silu, and without limit and offset, y = silu(αg) / α ⊙ u, made of the backend's own silu."""
    options, (g, u) = draw_plain_options(draw, activation="silu"), draw_halves(draw)
    alpha = options.get("alpha", 1.0)
    assert_equal(gated_activation(pack(g, u, options), **options), silu(exactly(g) * alpha) / alpha * exactly(u))


@invariant("B", source=EQUATION)
def test_permutation(gated_activation: Operation, draw: Draw) -> None:
    """Permuting the features of both halves permutes the result."""
    options, (g, u) = draw_options(draw), draw_halves(draw)
    order = draw.rng.permutation(g.shape[-1])
    permuted = gated_activation(pack(g[..., order], u[..., order], options), **options)
    assert_equal(permuted, gated_activation(pack(g, u, options), **options)[..., order])
