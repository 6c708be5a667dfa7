"""What must hold of rope where some features are turned, where a factor scales them, and where the frequencies are given."""

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_identical
from .helpers.rotations import SHIFTS, compute_angles, draw_inputs, join_pairs, multiply_pairs, split_pairs
from .inputs.draw import Draw, within_domain
from .operations.rope import ATTENTION_FACTORS, draw_dims, draw_frequencies, draw_options, draw_rotary_dim, require_positions
from .trials.invariant import invariant


@invariant("B", source="ONNX operator RotaryEmbedding, rotary_embedding_dim", needs=("keyword:rotary_dim",))
def test_rotary_dim(rope: Operation, draw: Draw) -> None:
    """With rotary_dim the first features are those of rope on them alone, and the others are unchanged, bit for bit."""
    x, positions, given = draw_inputs(draw)
    given |= draw_rotary_dim(draw, x.shape[-1])
    r = x.shape[-1] if given.get("rotary_dim") is None else given["rotary_dim"]
    y = rope(x, positions, **given)
    assert_identical(y.value[..., r:], x[..., r:])
    if r:
        within_domain(draw, d_k=r)
        alone = {name: value for name, value in given.items() if name != "rotary_dim"}
        assert_equal(y[..., :r], rope(np.ascontiguousarray(x[..., :r]), positions, **alone))


@invariant("B", source="Peng et al. 2023, arXiv:2309.00071, eq. 22", needs=("keyword:attention_factor",))
def test_attention_factor(rope: Operation, draw: Draw) -> None:
    """The factor scales the turned features, and those alone: it scales the product of a query and a key by its square."""
    x, positions, given = draw_inputs(draw)
    factor, plain = draw.one_of(ATTENTION_FACTORS), rope(x, positions, **given)
    y = rope(x, positions, **given, attention_factor=factor)
    assert_equal(y, factor * plain)
    if draw.operation.accepts("rotary_dim"):
        given |= draw_rotary_dim(draw, x.shape[-1])
        r = x.shape[-1] if given["rotary_dim"] is None else given["rotary_dim"]
        y, plain = (rope(x, positions, **given, **more) for more in ({"attention_factor": factor}, {}))
        assert_equal(y[..., :r], factor * plain[..., :r])
        assert_identical(y.value[..., r:], x[..., r:])


@invariant("B", source="Peng et al. 2023, arXiv:2309.00071, eq. 13", needs=("keyword:inverse_frequencies",), cost=2)
def test_inverse_frequencies(rope: Operation, draw: Draw) -> None:
    """Given frequencies turn pair k by p f_k whatever theta is, and the product of two turned rows depends on i − j alone."""
    require_positions(draw, "offset")
    n, d_k = draw_dims(draw)
    given = draw_options(draw) | draw_frequencies(draw, d_k)
    i, j = (np.arange(n) + draw.integer(0, 40) for _ in "ij")
    one = np.ones((n, d_k // 2))
    angle = compute_angles(i, d_k, **given)
    cos, sin = split_pairs(rope(join_pairs(one, 0 * one, **given), i, **given), **given)
    assert_equal(cos, np.cos(angle))
    assert_equal(sin, np.sin(angle))
    q, k, s = draw.vectors((n, d_k)), draw.vectors((n, d_k)), draw.one_of(SHIFTS)
    here, there = (multiply_pairs(rope(q, i + at, **given), rope(k, j + at, **given), given) for at in (0, s))
    assert_equal(here, there)
