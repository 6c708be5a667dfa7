"""What must hold of the gradients of latent_attention_absorbed."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_all_zero, assert_equal, exactly
from .helpers.pages import rows_of
from .inputs.draw import Draw, within_domain
from .operations.latent_attention_absorbed import draw_inputs, draw_paged
from .trials.invariant import invariant

SOURCE = "Differentiation of DeepSeek-AI 2024, section 2.1.2"


@invariant("E", source=SOURCE, cost=2)
def test_unseen_rows(latent_attention_absorbed_vjp: Operation, draw: Draw) -> None:
    """Where the first query alone has cotangents, rows behind its position get exactly 0."""
    (q, cache), keywords = draw_inputs(draw, used=False)
    keywords = {name: x for name, x in keywords.items() if name != "is_causal"}
    c, g = draw.vectors((*q.shape[:-1], keywords["rank"])), draw.vectors(q.shape[:-1])
    c[..., 1:, :], g[..., 1:] = 0.0, 0.0
    behind = slice(cache.shape[-2] - q.shape[-2] + 1, None)
    assert_all_zero(latent_attention_absorbed_vjp((c, g), q, cache, **keywords, wrt="cache"), (..., behind, slice(None)))


@invariant("B", source=SOURCE, cost=2)
def test_values_share_the_cotangent(latent_attention_absorbed_vjp: Operation, draw: Draw) -> None:
    """Where queries are 0 the cache is values alone: its gradients together are the cotangents of all heads together."""
    (q, cache), keywords = draw_inputs(draw, used=False)
    c = draw.vectors((*q.shape[:-1], keywords["rank"]))
    d: Any = latent_attention_absorbed_vjp((c, None), 0 * q, cache, **keywords, wrt="cache")
    of_heads: Any = exactly(np.reshape(c, (*cache.shape[:-2], q.shape[-3] * q.shape[-2], c.shape[-1])))
    together: Any = np.sum(d, axis=-2)
    assert_equal(together[..., : c.shape[-1]], np.sum(of_heads, axis=-2))


@invariant("B", source=SOURCE, needs=("keyword:lengths", "keyword:block_table"), cost=2)
def test_pages_get_the_sum(latent_attention_absorbed_vjp: Operation, draw: Draw) -> None:
    """A page gets the sum of what the rows of a cache get that has a copy of it for each entry of the table. One that no entry
    lists gets exactly 0."""
    (q, cache, lengths, table), keywords = draw_paged(draw)
    within_domain(draw, m=table.shape[1] * cache.shape[1])
    c = draw.vectors((*q.shape[:-1], keywords["rank"])), draw.vectors(q.shape[:-1])
    of_pages: Any = latent_attention_absorbed_vjp(c, q, cache, lengths, table, **keywords, wrt="cache")
    of_rows: Any = latent_attention_absorbed_vjp(c, q, rows_of(cache, table), lengths, **keywords, wrt="cache")
    of_entries = np.reshape(of_rows, (table.size, *cache.shape[1:]))
    for page in range(len(cache)):
        (entries,) = np.nonzero(table.ravel() == page)
        if entries.size:
            assert_equal(of_pages[page], np.sum(of_entries[entries], axis=0))
        else:
            assert_all_zero(of_pages, page)
