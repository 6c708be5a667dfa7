"""What must hold of grouped-query attention's gradients."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal
from .inputs.draw import Draw
from .operations.grouped_query_attention import draw_heads
from .operations.scaled_dot_product_attention import MAX_SCORES, draw_batch, draw_dims
from .trials.invariant import invariant


@invariant("B", source="Ainslie et al. 2023, section 2.2", needs=("about:core",), cost=2)
def test_shared_heads_add_up(grouped_query_attention_vjp: Operation, draw: Draw) -> None:
    """The gradient of a shared head is the sum of those of its copies, one for each query head of its group."""
    n, m, d_k, d_v = draw_dims(draw)
    h, h_kv = draw_heads(draw, MAX_SCORES // max(2 * n * m, 1), least=2)
    b = draw_batch(draw, h * n * m)
    c, q = draw.vectors((*b, h, n, d_v)), draw.vectors((*b, h, n, d_k))
    k, v = draw.vectors((*b, h_kv, m, d_k)), draw.vectors((*b, h_kv, m, d_v))
    copies = [np.repeat(x, h // h_kv, axis=-3) for x in (k, v)]
    for name in ("k", "v"):
        each: Any = grouped_query_attention_vjp(c, q, *copies, wrt=name)
        by_group = np.reshape(each, (*b, h_kv, h // h_kv, *each.shape[-2:]))
        assert_equal(grouped_query_attention_vjp(c, q, k, v, wrt=name), np.sum(by_group, axis=-3))
