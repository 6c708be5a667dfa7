"""What must hold of paged_attention."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .calls.violation import NotImplementedVariant
from .helpers.assertions import assert_equal, assert_unmoved
from .helpers.attention_inputs import largest_safe_key
from .helpers.cache_laws import maybe_not_causal, options_of, other_slots
from .helpers.conventions import assert_convention
from .helpers.pages import cut_pages, gather, needed_entries, slots_in_use
from .helpers.slot_scales import SLOT_SCALES, WIDTHS, ask, draw_query_heads, draw_scales, draw_slot_sizes, other_scales
from .implementation.domain import SCALES
from .inputs.draw import Draw, within_domain
from .operations._caches import draw_products
from .operations.kv_cache_append import draw_lengths
from .operations.paged_attention import draw_inputs
from .trials.invariant import invariant

NOT_DOUBLE = ("float32", "bfloat16", "float16")  # nobody keeps numbers in few bits beside float64
SOURCE = "Kwon et al. 2023, section 4.1; vLLM's paged attention"


@invariant("B", source=SOURCE, cost=1.5)
def test_is_attention_to_the_gathered_keys(paged_attention: Operation, attention_with_kv_cache: Operation, draw: Draw) -> None:
    """It is the backend's own attention to a cache in which the pages lie one after the other."""
    common = [name for name in options_of(paged_attention) if attention_with_kv_cache.accepts(name)]
    (q, k, v, table, lengths), keywords = draw_inputs(draw, *common, "cache_dtype")
    in_pages = {name: x for name, x in keywords.items() if name in SCALES and np.ndim(x) > 1}
    if in_pages and not attention_with_kv_cache.domain.get("slot_scales"):
        raise NotImplementedVariant("its domain of attention_with_kv_cache does not state slot_scales")
    in_rows = {**keywords, **{name: gather(x[..., None], table)[..., 0] for name, x in in_pages.items()}}
    alike = attention_with_kv_cache(q, gather(k, table), gather(v, table), lengths, **in_rows)
    assert_equal(paged_attention(q, k, v, table, lengths, **keywords), alike)


@invariant("B", source=SOURCE)
def test_order_of_pages(paged_attention: Operation, draw: Draw) -> None:
    """Permuting the physical pages together with the table changes nothing."""
    (q, k, v, table, lengths), keywords = draw_inputs(draw, *options_of(paged_attention))
    order = draw.rng.permutation(len(k))
    moved = np.argsort(order)[table]
    y = paged_attention(q, k, v, table, lengths, **keywords)
    assert_equal(paged_attention(q, k[order], v[order], moved, lengths, **keywords), y)


@invariant("B", source=SOURCE)
def test_size_of_pages(paged_attention: Operation, draw: Draw) -> None:
    """The same keys in pages of another size, half as large or single slots, give the same."""
    (q, k, v, table, lengths), keywords = draw_inputs(draw, *options_of(paged_attention))
    finer, *cut = cut_pages(draw, table, k, v)
    y = paged_attention(q, k, v, table, lengths, **keywords)
    assert_equal(paged_attention(q, *cut, finer, lengths, **keywords), y)


@invariant("B", source=SOURCE)
def test_shared_pages(paged_attention: Operation, draw: Draw) -> None:
    """Rows may share pages, as those with the same prefix do: a copy of a page gives what the page itself gives."""
    (q, k, v, table, lengths), keywords = draw_inputs(draw, *options_of(paged_attention))
    within_domain(draw, P=table.size)
    own = np.arange(table.size).reshape(table.shape)
    copies = (x[table.ravel()] for x in (k, v))
    y = paged_attention(q, k, v, table, lengths, **keywords)
    assert_equal(paged_attention(q, *copies, own, lengths, **keywords), y)


@invariant("B", source=SOURCE)
def test_nothing_beyond_the_lengths(paged_attention: Operation, draw: Draw) -> None:
    """Other finite keys and values in slots that no row needs, and other pages in entries beyond, do not change the result: in
    the tail of the last page, in pages that are not listed, and in the tail of the table.
    """
    (q, k, v, table, lengths), keywords = draw_inputs(draw, *options_of(paged_attention))
    keywords = maybe_not_causal(paged_attention, draw, keywords)
    y = paged_attention(q, k, v, table, lengths, **keywords)
    unused = ~slots_in_use(table, lengths, len(k), k.shape[1])[..., None, None]
    others = other_slots(draw, k, unused, largest_safe_key(draw, q)), other_slots(draw, v, unused, draw.format.max)
    stale = draw.rng.integers(0, len(k), table.shape)
    moved = np.where(needed_entries(table, lengths, k.shape[1]), table, stale)
    assert_unmoved(paged_attention(q, *others, moved, lengths, **keywords), y)


@invariant("B", source=SOURCE)
def test_rows_are_separate(paged_attention: Operation, draw: Draw) -> None:
    """A row gives what it gives alone: with its own part of the table, and its own length."""
    (q, k, v, table, lengths), keywords = draw_inputs(draw, *options_of(paged_attention))
    i = draw.integer(0, len(q) - 1)
    within_domain(draw, b=1)
    alone = paged_attention(q[i : i + 1], k, v, table[i : i + 1], lengths[i : i + 1], **keywords)
    assert_equal(paged_attention(q, k, v, table, lengths, **keywords)[i : i + 1], alone)


@invariant(
    "B", source="FlashInfer's k_scale and v_scale; vLLM's quantized KV cache", needs=SLOT_SCALES, dtypes=NOT_DOUBLE, cost=3
)
def test_scales_of_slots(paged_attention: Operation, draw: Draw) -> None:
    """With one scale for each slot of each page and head, numbers times these scales, which are powers of two, give what pages of
    their products give, and scales of slots that no row needs do not show. A backend may refuse such scales with any exception,
    unless its domain states slot_scales.
    """
    sizes = draw_slot_sizes(draw, "P", "page_size", "h_kv")
    b, n, d = draw.size("b", (2, 3)), draw.size("n", (1, 2)), [draw.size(name, WIDTHS) for name in ("d_k", "d_v")]
    within_domain(draw, n=n)
    pages, page_size, h_kv = slots = tuple(sizes.values())
    table = np.stack([draw.rng.permutation(pages) for _ in range(b)])
    table = table[:, : draw.size("pages", (pages, pages - 1))]
    lengths = draw_lengths(
        draw, b, page_size, low=max(n, min(page_size + 1, table.shape[1] * page_size)), high=table.shape[1] * page_size
    )
    keywords = draw_scales(draw, slots, head_axis=2)
    q = draw.vectors((b, draw_query_heads(draw, h_kv), n, d[0]))
    drawn = (draw.vectors((*slots, width)) for width in d)
    (k, k_wide), (v, v_wide) = draw_products(draw, keywords, *drawn, head_axis=2)
    ask(paged_attention, (q, k, v, table, lengths), keywords)
    y = paged_attention(q, k, v, table, lengths, **keywords)
    assert_equal(y, paged_attention(q, k_wide, v_wide, table, lengths))
    used = slots_in_use(table, lengths, pages, page_size)[..., None]
    others = {name: np.where(used, keywords[name], other_scales(draw, keywords[name])) for name in SCALES}
    assert_unmoved(paged_attention(q, k, v, table, lengths, **{**keywords, **others}), y)


@invariant("B")
def test_fully_masked_rows(paged_attention: Operation, draw: Draw) -> None:
    """A row without keys, or a query before the first position, gives what the backend states. If the backend states nothing,
    it always gives zeros, or always NaN. The other queries give what the equation says.
    """
    assert_convention(paged_attention, draw, "fully_masked_rows")


@invariant("B", level="quarantine", cost=2)
def test_quarantine(paged_attention: Operation, draw: Draw) -> None:
    """NaN and infinities in slots that no row needs never reach the result, nor do entries of −1, or beyond the pages, in the
    tail of the table."""
    (q, k, v, table, lengths), keywords = draw_inputs(draw, *options_of(paged_attention))
    keywords = maybe_not_causal(paged_attention, draw, keywords)
    y = paged_attention(q, k, v, table, lengths, **keywords)
    unused, poison = ~slots_in_use(table, lengths, len(k), k.shape[1])[..., None, None], draw.one_of((np.nan, np.inf, -np.inf))
    spoiled: Any = (np.where(unused, poison, x) for x in (k, v))
    no_page = np.where(needed_entries(table, lengths, k.shape[1]), table, draw.one_of((-1, len(k), 0)))
    assert_unmoved(paged_attention(q, *spoiled, no_page, lengths, **keywords), y)
