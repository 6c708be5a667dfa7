"""What must hold of the gradients of latent_attention."""

from typing import Any

from .calls.operation import Operation
from .helpers.assertions import assert_all_zero, assert_equal
from .inputs.draw import Draw
from .operations.latent_attention import draw_inputs
from .trials.invariant import invariant

SOURCE = "Differentiation of DeepSeek-AI 2024, section 2.1"


@invariant("E", source=SOURCE, cost=2)
def test_unseen_rows(latent_attention_vjp: Operation, draw: Draw) -> None:
    """Where the first query alone has cotangents, rows behind its position get exactly 0."""
    arrays, keywords = draw_inputs(draw, used=False)
    keywords = {name: x for name, x in keywords.items() if name != "is_causal"}
    n, m, d_v = arrays[0].shape[-2], arrays[2].shape[-2], arrays[5].shape[-2]
    c, g = draw.vectors((*arrays[0].shape[:-1], d_v)), draw.vectors(arrays[0].shape[:-1])
    c[..., 1:, :], g[..., 1:] = 0.0, 0.0
    for name in ("latent", "k_rope"):
        assert_all_zero(latent_attention_vjp((c, g), *arrays, **keywords, wrt=name), (..., slice(m - n + 1, None), slice(None)))


@invariant("B", source=SOURCE, cost=2)
def test_values_alone(latent_attention_vjp: Operation, draw: Draw) -> None:
    """Where queries are 0 and nothing is hidden all weights are 1/m: each row's latent has the gradient of the mean value."""
    (q_nope, q_rope, *others), keywords = draw_inputs(draw, used=False)
    keywords |= draw.only("is_causal", False)
    c = draw.vectors((*q_nope.shape[:-1], others[3].shape[-2]))
    d: Any = latent_attention_vjp((c, None), 0 * q_nope, 0 * q_rope, *others, **keywords, wrt="latent")
    assert_equal(d, d[..., ::-1, :])
