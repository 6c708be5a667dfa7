"""What must hold of the gradients of sparse_attention."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_all_zero, assert_equal, exactly
from .helpers.optional import answer_optional
from .inputs.draw import Draw, within_domain
from .operations.sparse_attention import (
    draw_arrays,
    draw_indices,
    draw_inputs,
    draw_lists_of_key_heads,
    draw_several_key_heads,
)
from .trials.invariant import invariant

SOURCE = "Dao et al. 2022, appendix B.2, under the mask of the lists"
OWN_LISTS = "it takes no list for each key head"


@invariant("E", source=SOURCE, cost=2)
def test_keys_that_are_not_listed(sparse_attention_vjp: Operation, draw: Draw) -> None:
    """A key that no query lists has gradients of exactly 0, and so has its value, from the cotangents of both results."""
    q, k, v = draw_arrays(draw, least=2)
    q = q[..., 1:, :] if q.shape[-2] == k.shape[-2] else q  # so that each query can list another key than the first
    within_domain(draw, n=q.shape[-2])
    indices = np.where((listed := draw_indices(draw, q, k)) == 0, -1, listed)
    empty = np.all(indices == -1, axis=-1, keepdims=True)
    indices = np.where(empty & (np.arange(indices.shape[-1]) == 0), 1, indices)
    unlisted = ~np.any(indices[..., None] == np.arange(k.shape[-2]), axis=(-2, -3))
    at = np.broadcast_to(unlisted[..., None, :], k.shape[:-1])
    cotangents = draw.vectors((*q.shape[:-1], v.shape[-1])), draw.vectors(q.shape[:-1])
    for name in ("k", "v"):
        assert_all_zero(sparse_attention_vjp(cotangents, q, k, v, indices, wrt=name), at)


@invariant("B", source=SOURCE, cost=2)
def test_values_share_the_cotangent(sparse_attention_vjp: Operation, draw: Draw) -> None:
    """The gradients of all values together are the cotangents of out together, for the weights of a query sum to 1."""
    (q, k, v, indices), keywords = draw_inputs(draw)
    c = draw.vectors((*q.shape[:-1], v.shape[-1]))
    dv: Any = sparse_attention_vjp((c, None), q, k, v, indices, **keywords, wrt="v")
    group = q.shape[-3] // k.shape[-3]
    of_heads: Any = exactly(np.reshape(c, (*v.shape[:-2], group * q.shape[-2], v.shape[-1])))
    assert_equal(np.sum(dv, axis=-2), np.sum(of_heads, axis=-2))


@invariant("B", source=SOURCE, cost=2)
def test_lists_of_key_heads(sparse_attention_vjp: Operation, draw: Draw) -> None:
    """With a list for each key head, the gradients of a key head are those of a call of its heads alone with this list."""
    (q, k, v), keywords = draw_several_key_heads(draw)
    group, head = q.shape[-3] // k.shape[-3], draw.integer(0, k.shape[-3] - 1)
    lists, name = draw_lists_of_key_heads(draw, q, k), draw.one_of(("q", "k", "v"))
    within_domain(draw, h=group, h_kv=1)
    c, g = draw.vectors((*q.shape[:-1], v.shape[-1])), draw.vectors(q.shape[:-1])
    own, read = slice(head, head + 1), slice(head * group, (head + 1) * group)
    call = sparse_attention_vjp.call((c, g), q, k, v, lists, **keywords, wrt=name)
    joint: Any = answer_optional(sparse_attention_vjp, call, OWN_LISTS)
    alone = sparse_attention_vjp(
        (c[..., read, :, :], g[..., read, :]),
        *(q[..., read, :, :], k[..., own, :, :], v[..., own, :, :], lists[..., head, :, :]),
        **keywords,
        wrt=name,
    )
    assert_equal(joint[..., read if name == "q" else own, :, :], alone)
