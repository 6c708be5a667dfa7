"""What must hold of latent_attention_absorbed."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_unmoved
from .helpers.attention_inputs import largest_safe_key
from .helpers.attention_states import assert_states_equal
from .helpers.cache_laws import maybe_not_causal, other_slots
from .helpers.conventions import assert_convention
from .helpers.pages import cut_pages, needed_entries, rows_of, slots_in_use
from .inputs.draw import Draw, within_domain
from .operations.latent_attention_absorbed import draw_inputs, draw_paged
from .trials.invariant import invariant

SOURCE = "DeepSeek-AI 2024, arXiv:2405.04434, section 2.1.2; FlashMLA"
PAGES = "Kwon et al. 2023, section 4.1; FlashMLA's block_table"
PAGED = ("keyword:lengths", "keyword:block_table")


@invariant("B", source=SOURCE, cost=1.5)
def test_is_attention_to_one_head(latent_attention_absorbed: Operation, grouped_query_attention: Operation, draw: Draw) -> None:
    """It is the backend's own grouped-query attention to one head of keys, whose values are the first columns of the cache."""
    (q, cache), keywords = draw_inputs(draw, used=False)
    k, rank = cache[..., None, :, :], keywords["rank"]
    away = np.arange(k.shape[-2]) - (np.arange(q.shape[-2])[:, None] + k.shape[-2] - q.shape[-2])
    mask = (away <= 0) | (not keywords.get("is_causal", True))
    out, _ = latent_attention_absorbed(q, cache, **keywords)
    assert_equal(out, grouped_query_attention(q, k, k[..., :rank].copy(), mask=mask, scale=keywords["scale"]))


@invariant("B", source=SOURCE)
def test_columns_behind_the_rank(latent_attention_absorbed: Operation, draw: Draw) -> None:
    """Where queries are 0 behind the first rank columns, the other columns of the cache do not show."""
    (q, cache), keywords = draw_inputs(draw, used=False)
    behind = np.arange(q.shape[-1]) >= keywords["rank"]
    q, other = np.where(behind, 0.0, q), np.where(behind, draw.vectors(cache.shape), cache)
    before = latent_attention_absorbed(q, cache, **keywords)
    for one, after in zip(before, latent_attention_absorbed(q, other, **keywords), strict=True):
        assert_unmoved(after, one)


@invariant("B", source=SOURCE, needs=("keyword:lengths",))
def test_nothing_beyond_the_lengths(latent_attention_absorbed: Operation, draw: Draw) -> None:
    """Other finite rows from lengths on do not change either result, with and without causality."""
    (q, cache, lengths), keywords = draw_inputs(draw, used=True)
    beyond = (np.arange(cache.shape[-2]) >= lengths[:, None])[..., None]
    before = latent_attention_absorbed(q, cache, lengths=lengths, **keywords)
    other = other_slots(draw, cache, beyond, largest_safe_key(draw, q))
    for one, after in zip(before, latent_attention_absorbed(q, other, lengths=lengths, **keywords), strict=True):
        assert_unmoved(after, one)


@invariant("B", source=PAGES, needs=PAGED)
def test_is_attention_to_the_listed_rows(latent_attention_absorbed: Operation, draw: Draw) -> None:
    """With a block_table it is what the same function gives for a cache in which the listed pages lie one after the other."""
    (q, cache, lengths, table), keywords = draw_paged(draw)
    within_domain(draw, m=table.shape[1] * cache.shape[1])
    in_pages = latent_attention_absorbed(q, cache, lengths, table, **keywords)
    assert_states_equal(in_pages, latent_attention_absorbed(q, rows_of(cache, table), lengths, **keywords))


@invariant("B", source=PAGES, needs=PAGED)
def test_order_of_pages(latent_attention_absorbed: Operation, draw: Draw) -> None:
    """Permuting the physical pages together with the table changes nothing."""
    (q, cache, lengths, table), keywords = draw_paged(draw)
    order = draw.rng.permutation(len(cache))
    before = latent_attention_absorbed(q, cache, lengths, table, **keywords)
    assert_states_equal(latent_attention_absorbed(q, cache[order], lengths, np.argsort(order)[table], **keywords), before)


@invariant("B", source=PAGES, needs=PAGED)
def test_size_of_pages(latent_attention_absorbed: Operation, draw: Draw) -> None:
    """The same rows in pages of another size, half as large or single rows, give the same."""
    (q, cache, lengths, table), keywords = draw_paged(draw)
    finer, cut = cut_pages(draw, table, cache)
    before = latent_attention_absorbed(q, cache, lengths, table, **keywords)
    assert_states_equal(latent_attention_absorbed(q, cut, lengths, finer, **keywords), before)


@invariant("E", source=PAGES, needs=PAGED)
def test_nothing_beyond_the_pages(latent_attention_absorbed: Operation, draw: Draw) -> None:
    """Other finite rows in slots that no entry of the batch needs, and other pages in entries of the table beyond, do not change
    either result: in the tail of the last page, in pages that are not listed, and in the tail of the table."""
    (q, cache, lengths, table), keywords = draw_paged(draw)
    keywords = maybe_not_causal(latent_attention_absorbed, draw, keywords)
    unused = ~slots_in_use(table, lengths, *cache.shape[:2])[..., None]
    others = other_slots(draw, cache, unused, largest_safe_key(draw, q))
    stale = np.where(needed_entries(table, lengths, cache.shape[1]), table, draw.rng.integers(0, len(cache), table.shape))
    before = latent_attention_absorbed(q, cache, lengths, table, **keywords)
    for one, after in zip(before, latent_attention_absorbed(q, others, lengths, stale, **keywords), strict=True):
        assert_unmoved(after, one)


@invariant("B", source=SOURCE)
def test_decode_is_prefill(latent_attention_absorbed: Operation, draw: Draw) -> None:
    """Under causality each query alone, beside the rows up to its own, gives what it gives beside the later ones."""
    (q, cache), keywords = draw_inputs(draw, used=False)
    keywords = {name: x for name, x in keywords.items() if name != "is_causal"}
    n, m = q.shape[-2], cache.shape[-2]
    i = draw.integer(0, n - 1)
    within_domain(draw, n=1, m=m - n + i + 1)
    alone = latent_attention_absorbed(q[..., i : i + 1, :], cache[..., : m - n + i + 1, :], **keywords)
    out, lse = latent_attention_absorbed(q, cache, **keywords)
    assert_states_equal((out[..., i : i + 1, :], lse[..., i : i + 1]), alone)


@invariant("B", source=SOURCE)
def test_fully_masked_rows(latent_attention_absorbed: Operation, draw: Draw) -> None:
    """A query before the first row gives what the backend states. If the backend states nothing, it always gives zeros, or always
    NaN. The other queries give what the equation says.
    """
    assert_convention(latent_attention_absorbed, draw, "fully_masked_rows")


@invariant("B", source="FlashAttention: natural; FlashInfer and FlashMLA: to the base 2")
def test_lse_base(latent_attention_absorbed: Operation, draw: Draw) -> None:
    """lse is to the base that the backend states. If it states nothing, the base is always the same, e or 2."""
    assert_convention(latent_attention_absorbed, draw, "lse_base")


@invariant("B", level="quarantine", needs=("keyword:lengths",), cost=2)
def test_quarantine(latent_attention_absorbed: Operation, draw: Draw) -> None:
    """NaN and infinities in rows from lengths on never reach a result."""
    (q, cache, lengths), keywords = draw_inputs(draw, used=True)
    beyond = (np.arange(cache.shape[-2]) >= lengths[:, None])[..., None]
    spoiled: Any = np.where(beyond, draw.one_of((np.nan, np.inf, -np.inf)), cache)
    before = latent_attention_absorbed(q, cache, lengths=lengths, **keywords)
    for one, after in zip(before, latent_attention_absorbed(q, spoiled, lengths=lengths, **keywords), strict=True):
        assert_unmoved(after, one)


@invariant("B", level="quarantine", needs=PAGED, cost=2)
def test_quarantine_in_pages(latent_attention_absorbed: Operation, draw: Draw) -> None:
    """NaN and infinities in slots that no entry of the batch needs never reach a result, nor do entries of −1, or beyond the
    pages, in the tail of the table."""
    (q, cache, lengths, table), keywords = draw_paged(draw)
    unused = ~slots_in_use(table, lengths, *cache.shape[:2])[..., None]
    spoiled: Any = np.where(unused, draw.one_of((np.nan, np.inf, -np.inf)), cache)
    no_page = np.where(needed_entries(table, lengths, cache.shape[1]), table, draw.one_of((-1, len(cache), 0)))
    before = latent_attention_absorbed(q, cache, lengths, table, **keywords)
    for one, after in zip(before, latent_attention_absorbed(q, spoiled, lengths, no_page, **keywords), strict=True):
        assert_unmoved(after, one)
