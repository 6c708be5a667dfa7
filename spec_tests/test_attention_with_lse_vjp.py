"""What must hold of the gradients of attention that returns lse."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_all_zero, assert_equal, assert_zero, exactly
from .helpers.attention_inputs import draw_grouped_qkv
from .helpers.lse_base import from_nats
from .inputs.draw import Draw
from .operations._serving import draw_sinks
from .trials.invariant import invariant

SOURCE = "Dao et al. 2022, appendix B.2"


def draw_cotangents(draw: Draw, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Draw a cotangent of out and one of lse."""
    return draw.vectors((*q.shape[:-1], v.shape[-1])), draw.vectors(q.shape[:-1])


@invariant("B", source=SOURCE, cost=2)
def test_lse_alone(attention_with_lse_vjp: Operation, draw: Draw) -> None:
    """Where lse alone has a cotangent values get 0, and all keys together get its sum times scale · q: the weights sum to 1."""
    (q, k, v), _ = draw_grouped_qkv(draw)
    _, g = draw_cotangents(draw, q, v)
    assert_zero(attention_with_lse_vjp((None, g), q, k, v, wrt="v"))
    dk: Any = attention_with_lse_vjp((None, g), q, k, v, wrt="k")
    group = q.shape[-3] // k.shape[-3]
    pulled = np.reshape(g[..., None] * q / np.sqrt(q.shape[-1]), (*k.shape[:-2], group * q.shape[-2], q.shape[-1]))
    total: Any = exactly(np.sum(pulled, axis=-2))
    assert_equal(np.sum(dk, axis=-2), from_nats(attention_with_lse_vjp, total))


@invariant("E", source=SOURCE, needs=("keyword:mask",), cost=2)
def test_hidden_keys(attention_with_lse_vjp: Operation, draw: Draw) -> None:
    """A key that the mask hides from every query has gradients of exactly 0, and so has its value, from both cotangents."""
    (q, k, v), _ = draw_grouped_qkv(draw, keys=2)
    hidden = np.arange(k.shape[-2]) % 2 == draw.integer(0, 1)
    mask = np.broadcast_to(~hidden, (q.shape[-2], k.shape[-2])).copy()
    for name in ("k", "v"):
        result = attention_with_lse_vjp(draw_cotangents(draw, q, v), q, k, v, mask=mask, wrt=name)
        assert_all_zero(result, (..., hidden, slice(None)))


@invariant("E", source=SOURCE, needs=("keyword:left_window",), cost=2)
def test_outside_the_window(attention_with_lse_vjp: Operation, draw: Draw) -> None:
    """Where only the last query has cotangents, keys and values that its window hides get exactly 0."""
    (q, k, v), _ = draw_grouped_qkv(draw, square=True, keys=2)
    left = draw.near(0, q.shape[-2] - 2, low=0, high=max(q.shape[-2] - 2, 0))
    c, g = draw_cotangents(draw, q, v)
    c[..., :-1, :], g[..., :-1] = 0.0, 0.0
    for name in ("k", "v"):
        result = attention_with_lse_vjp((c, g), q, k, v, left_window=left, wrt=name)
        assert_all_zero(result, (..., slice(None, q.shape[-2] - 1 - left), slice(None)))


@invariant("B", source="Xiao et al. 2023, differentiated", needs=("keyword:sinks",), cost=2)
def test_sinks_gain_what_keys_lose(attention_with_lse_vjp: Operation, draw: Draw) -> None:
    """With one key, a value of 1 and a cotangent of 1, out is σ(score − sink): the sink's gradient is −σ(1 − σ), summed over all
    queries of its head."""
    (q, k, v), _ = draw_grouped_qkv(draw)
    k, v = np.ones((*k.shape[:-2], 1, k.shape[-1])), np.ones((*v.shape[:-2], 1, 1))
    q = draw.grid(q.shape, 0.25, 8)
    sinks = draw.held(np.where(np.isinf(s := draw_sinks(draw, q.shape[-3])), 0.0, s))
    c = np.ones((*q.shape[:-1], 1))
    got = attention_with_lse_vjp((c, None), q, k, v, sinks=sinks, wrt="sinks")
    score: Any = exactly(np.sum(q, axis=-1)) / np.sqrt(exactly(float(q.shape[-1])))
    distance: Any = score - exactly(np.broadcast_to(sinks[:, None], score.shape))
    lost = distance.logistic() * (-distance).logistic()  # 1 − σ(z) is σ(−z), which does not cancel
    of_heads: Any = np.reshape(np.sum(lost, axis=-1), (-1, len(sinks)))
    assert_equal(got, -np.sum(of_heads, axis=0))
