"""What must hold of attention_with_kv_cache."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_identical, assert_unmoved, exactly
from .helpers.attention_inputs import largest_safe_key
from .helpers.cache_laws import draw_chunks, maybe_not_causal, options_of, other_slots, scales_of_row
from .helpers.conventions import assert_convention
from .helpers.slot_scales import SLOT_SCALES, WIDTHS, ask, draw_query_heads, draw_scales, draw_slot_sizes, other_scales
from .implementation.domain import SCALES
from .inputs.draw import Draw, within_domain
from .operations._caches import draw_format, draw_products, hold_both
from .operations.attention_with_kv_cache import draw_inputs
from .operations.kv_cache_append import draw_lengths
from .trials.invariant import invariant

SOURCE = "FlashAttention's flash_attn_with_kvcache; ONNX Attention-24"
FLASHINFER = "FlashInfer's k_scale and v_scale; vLLM's quantized KV cache"
FEW_BITS = ("keyword:cache_dtype",)
NOT_DOUBLE = ("float32", "bfloat16", "float16")  # nobody keeps numbers in few bits beside float64

ROLLED = 9  # tokens that go through a rolling cache, at most


def slots_beyond(lengths: np.ndarray, slots: int) -> np.ndarray:
    """Return which slots of each row lie beyond its length, as an array that broadcasts to the cache."""
    return (np.arange(slots) >= lengths[:, None])[:, None, :, None]


def assert_decode_equals_prefill(attention: Operation, draw: Draw, *, bits: bool) -> None:
    """The queries, taken in chunks with the lengths that they then had, give what they give at once."""
    (q, k, v, lengths), keywords = draw_inputs(draw, *options_of(attention), "cache_dtype", causal=True)
    n = q.shape[2]
    whole = attention(q, k, v, lengths, **keywords)
    for chunk in draw_chunks(draw, n):
        within_domain(draw, n=chunk.stop - chunk.start)
        shorter = np.maximum(lengths - (n - chunk.stop), 0)
        part = attention(q[:, :, chunk], k, v, shorter, **keywords)
        if bits:
            assert_identical(part, whole[:, :, chunk])
        else:
            assert_equal(part, whole[:, :, chunk])


@invariant("B", source=SOURCE, cost=2)
def test_decode_is_prefill(attention_with_kv_cache: Operation, draw: Draw) -> None:
    """Under causality the queries give token by token, or in chunks of any sizes, what they give all at once, with windows,
    caps, sinks and shared heads too."""
    assert_decode_equals_prefill(attention_with_kv_cache, draw, bits=False)


@invariant("E", level="decode-equals-prefill", cost=2)
def test_decode_is_prefill_bit_for_bit(attention_with_kv_cache: Operation, draw: Draw) -> None:
    """Token by token, or in chunks of any sizes, queries give the bits that they give all at once."""
    assert_decode_equals_prefill(attention_with_kv_cache, draw, bits=True)


@invariant("B", source=SOURCE)
def test_nothing_beyond_the_lengths(attention_with_kv_cache: Operation, draw: Draw) -> None:
    """Other finite keys and values in the slots beyond lengths, however large, do not change the result."""
    (q, k, v, lengths), keywords = draw_inputs(draw, *options_of(attention_with_kv_cache))
    keywords = maybe_not_causal(attention_with_kv_cache, draw, keywords)
    beyond = slots_beyond(lengths, k.shape[2])
    y = attention_with_kv_cache(q, k, v, lengths, **keywords)
    others = other_slots(draw, k, beyond, largest_safe_key(draw, q)), other_slots(draw, v, beyond, draw.format.max)
    assert_unmoved(attention_with_kv_cache(q, *others, lengths, **keywords), y)


@invariant("B", source=SOURCE)
def test_unused_slots_might_be_absent(attention_with_kv_cache: Operation, draw: Draw) -> None:
    """A cache with fewer slots that still holds all keys gives the same."""
    (q, k, v, lengths), keywords = draw_inputs(draw, *options_of(attention_with_kv_cache))
    used = max(int(np.max(lengths)), q.shape[2], 1)
    within_domain(draw, M=used)
    y = attention_with_kv_cache(q, k, v, lengths, **keywords)
    assert_equal(attention_with_kv_cache(q, k[:, :, :used], v[:, :, :used], lengths, **keywords), y)


@invariant("B", source=SOURCE)
def test_rows_are_separate(attention_with_kv_cache: Operation, draw: Draw) -> None:
    """A row gives what it gives alone: with its own length, and whatever the others' are."""
    (q, k, v, lengths), keywords = draw_inputs(draw, *options_of(attention_with_kv_cache), "cache_dtype")
    i = draw.integer(0, len(q) - 1)
    within_domain(draw, b=1)
    alone = attention_with_kv_cache(*(x[i : i + 1] for x in (q, k, v, lengths)), **scales_of_row(keywords, i))
    assert_equal(attention_with_kv_cache(q, k, v, lengths, **keywords)[i : i + 1], alone)


@invariant("B", source=SOURCE, needs=("keyword:left_window",))
def test_leading_slots_out_of_the_window(attention_with_kv_cache: Operation, draw: Draw) -> None:
    """Dropping s leading slots that no query sees through its window, and lowering lengths by s, changes nothing."""
    (q, k, v, lengths), keywords = draw_inputs(draw, causal=True)
    n, slots = q.shape[2], k.shape[2]
    left = draw.near(0, slots // 2, low=0, high=slots)
    within_domain(draw, left_window=left)
    unseen = max(int(np.min(lengths)) - n - left, 0)
    dropped = draw.near(unseen, 0, low=0, high=unseen)
    within_domain(draw, M=slots - dropped)
    y = attention_with_kv_cache(q, k, v, lengths, **keywords, left_window=left)
    fewer = (x[:, :, dropped:] for x in (k, v))
    assert_equal(attention_with_kv_cache(q, *fewer, lengths - dropped, **keywords, left_window=left), y)


@invariant("B", source=SOURCE)
def test_one_key(attention_with_kv_cache: Operation, draw: Draw) -> None:
    """The first token of each row sees its own key alone: the result is its value."""
    (q, k, v, _), _ = draw_inputs(draw)
    within_domain(draw, n=1)
    y = attention_with_kv_cache(q[:, :, :1], k, v, np.ones(len(q), dtype=np.int64))
    assert_equal(y, np.repeat(v[:, :, :1], q.shape[1] // v.shape[1], axis=1))


@invariant("B", source=SOURCE, cost=2)
def test_after_an_append(attention_with_kv_cache: Operation, kv_cache_append: Operation, draw: Draw) -> None:
    """Keys that the backend's own append wrote are attended to as if they had been in the cache: the lengths of the one are
    those before, of the other those after."""
    (q, k, v, lengths), keywords = draw_inputs(draw)
    n = min(q.shape[2], int(np.min(lengths)))
    before = lengths - n
    new = [np.stack([x[row, :, start : start + n] for row, start in enumerate(before)]) for x in (k, v)]
    written = np.arange(k.shape[2]) >= before[:, None]
    holes = (np.where(written[:, None, :, None], 0.0, x) for x in (k, v))
    caches = (np.asarray(x.value) for x in kv_cache_append(*holes, *new, before))
    y = attention_with_kv_cache(q, *caches, lengths, **keywords)
    beyond = slots_beyond(lengths, k.shape[2])
    kept = (np.where(beyond, 0.0, x) for x in (k, v))
    assert_equal(y, attention_with_kv_cache(q, *kept, lengths, **keywords))


@invariant("B", source="Jiang et al. 2023, arXiv:2310.06825, section 2", needs=("keyword:left_window",), cost=4)
def test_rolling_cache(attention_with_kv_cache: Operation, kv_cache_append: Operation, draw: Draw) -> None:
    """A cache of W slots, into which token t is appended at slot t mod W, gives at each step what a window of W keys, the query's
    own among them, gives over a cache of all tokens: before it is full, at the wrap, and after keys were overwritten.
    """
    (q, k, v, _), keywords = draw_inputs(draw, causal=True)
    tokens = min(k.shape[2], ROLLED)
    slots = draw.near(2, tokens // 2, tokens - 1, low=1, high=tokens)
    within_domain(draw, n=1, left_window=slots - 1)
    within_domain(draw, M=slots)
    held = [draw.held(draw.rng.standard_normal(x[:, :, :slots].shape)) for x in (k, v)]  # of an earlier sequence
    checked = {slots - 1, min(slots, tokens - 1), tokens - 1}
    for t in range(tokens):
        lengths = np.full(len(q), t)
        held = [np.asarray(x.value) for x in kv_cache_append(*held, k[:, :, t : t + 1], v[:, :, t : t + 1], lengths % slots)]
        if t in checked:
            query = q[:, :, t % q.shape[2] :][:, :, :1]
            rolled = attention_with_kv_cache(query, *held, np.minimum(lengths + 1, slots), **keywords)
            whole = attention_with_kv_cache(query, k, v, lengths + 1, **keywords, left_window=slots - 1)
            assert_equal(rolled, whole)


# --- caches of few bits ---------------------------------------------------------------------------------------------


def draw_slots_of_cache(draw: Draw, *, exact: bool = True) -> tuple[tuple[np.ndarray, ...], dict[str, Any]]:
    """Draw queries that see a key each, a cache of few rows, and its format with scales for each slot."""
    sizes = draw_slot_sizes(draw, "b", "h_kv", "M")
    n, d = draw.size("n", (1, 2)), [draw.size(name, WIDTHS) for name in ("d_k", "d_v")]
    within_domain(draw, M=sizes["M"], n=n)
    h = draw_query_heads(draw, sizes["h_kv"])
    slots = tuple(sizes.values())
    q, k, v = draw.vectors((slots[0], h, n, d[0])), draw.vectors((*slots, d[0])), draw.vectors((*slots, d[1]))
    lengths = draw_lengths(draw, slots[0], slots[2] // 2, low=max(n, 2), high=slots[2])
    return (q, k, v, lengths), draw_scales(draw, slots, exact=exact)


@invariant("B", source=FLASHINFER, needs=FEW_BITS, dtypes=NOT_DOUBLE, cost=0.5)
def test_numbers_times_scales(attention_with_kv_cache: Operation, draw: Draw) -> None:
    """A cache of numbers in few bits, and scales that are powers of two, give what a cache of their products gives."""
    (q, k, v, lengths), keywords = draw_inputs(draw, *options_of(attention_with_kv_cache))
    few_bits = draw_format(draw, k.shape[:3], exact=True)
    (k, k_wide), (v, v_wide) = draw_products(draw, few_bits, k, v)
    y = attention_with_kv_cache(q, k, v, lengths, **keywords, **few_bits)
    assert_equal(y, attention_with_kv_cache(q, k_wide, v_wide, lengths, **keywords))


@invariant("B", source=FLASHINFER, needs=("keyword:k_scale", "keyword:v_scale", "keyword:scale"), dtypes=NOT_DOUBLE, cost=2)
def test_scales_move_out(attention_with_kv_cache: Operation, draw: Draw) -> None:
    """A k_scale times 2ʲ beside a scale times 2⁻ʲ changes nothing, and a v_scale times 2ʲ multiplies the result by 2ʲ."""
    (q, k, v, lengths), _ = draw_inputs(draw)
    few_bits = draw_format(draw, k.shape[:3])
    k, v = hold_both(draw, few_bits, k, v)
    scale, factor = draw.one_of((1.0, 0.125, 0.3)), 2.0 ** draw.one_of((1, 2))
    k_scale, v_scale = (np.asarray(few_bits.pop(name, 1.0)) for name in SCALES)
    y = attention_with_kv_cache(q, k, v, lengths, **few_bits, k_scale=k_scale, v_scale=v_scale, scale=scale)
    changed = {"k_scale": k_scale * factor, "scale": scale / factor}
    assert_equal(attention_with_kv_cache(q, k, v, lengths, **few_bits, v_scale=v_scale, **changed), y)
    larger = attention_with_kv_cache(q, k, v, lengths, **few_bits, k_scale=k_scale, v_scale=v_scale * factor, scale=scale)
    assert_equal(larger, y * exactly(np.asarray(factor)))


@invariant("B", source=FLASHINFER, needs=("keyword:k_scale", "keyword:v_scale"), dtypes=NOT_DOUBLE, cost=2)
def test_scales_of_other_heads(attention_with_kv_cache: Operation, draw: Draw) -> None:
    """Other scales of the other heads of a cache do not change what a head gives. Equal scales of all heads give what one number
    for all gives.
    """
    (q, k, v, lengths), _ = draw_inputs(draw)
    h_kv = k.shape[1]
    few_bits = {name: x for name, x in draw_format(draw, k.shape[:3]).items() if name not in SCALES}
    scales = {name: draw.rng.choice((0.5, 1.0, 2.0), h_kv) for name in SCALES}
    k, v = hold_both(draw, few_bits | scales, k, v)
    y = attention_with_kv_cache(q, k, v, lengths, **few_bits, **scales)
    here = np.arange(h_kv) == draw.integer(0, h_kv - 1)
    others = {name: np.where(here, x, x * draw.rng.choice((2.0, 4.0), h_kv)) for name, x in scales.items()}
    of_head = np.broadcast_to(np.repeat(here, q.shape[1] // h_kv)[:, None, None], y.value.shape)
    assert_unmoved(attention_with_kv_cache(q, k, v, lengths, **few_bits, **others), y, of_head)
    equal = {name: np.full(h_kv, x[0]) for name, x in scales.items()}
    one = {name: np.asarray(x[0]) for name, x in scales.items()}
    for_all = attention_with_kv_cache(q, k, v, lengths, **few_bits, **one)
    assert_equal(attention_with_kv_cache(q, k, v, lengths, **few_bits, **equal), for_all)


@invariant("B", source=FLASHINFER, needs=SLOT_SCALES, dtypes=NOT_DOUBLE, cost=3)
def test_scales_of_slots(attention_with_kv_cache: Operation, draw: Draw) -> None:
    """One scale for each slot of each head: numbers times these scales, which are powers of two, give what a cache of their
    products gives. The scale of one slot in all others is that of its head, and then gives what this gives. A backend may refuse
    such scales with any exception, unless its domain states slot_scales.
    """
    (q, k, v, lengths), keywords = draw_slots_of_cache(draw)
    (k, k_wide), (v, v_wide) = draw_products(draw, keywords, k, v)
    ask(attention_with_kv_cache, (q, k, v, lengths), keywords)
    y = attention_with_kv_cache(q, k, v, lengths, **keywords)
    assert_equal(y, attention_with_kv_cache(q, k_wide, v_wide, lengths))
    of_heads = {name: keywords[name][0, :, 0] for name in SCALES}
    repeated = {name: np.broadcast_to(x[:, None], k.shape[:3]).copy() for name, x in of_heads.items()}
    of_slots = attention_with_kv_cache(q, k, v, lengths, **{**keywords, **repeated})
    assert_equal(of_slots, attention_with_kv_cache(q, k, v, lengths, **{**keywords, **of_heads}))


@invariant("E", source=FLASHINFER, needs=SLOT_SCALES, dtypes=NOT_DOUBLE, cost=3)
def test_scales_beyond_the_lengths(attention_with_kv_cache: Operation, draw: Draw) -> None:
    """Other scales of the slots beyond lengths do not change the result. A backend may refuse a scale for each slot."""
    (q, k, v, lengths), keywords = draw_slots_of_cache(draw, exact=False)
    k, v = hold_both(draw, keywords, k, v)
    ask(attention_with_kv_cache, (q, k, v, lengths), keywords)
    y = attention_with_kv_cache(q, k, v, lengths, **keywords)
    beyond = slots_beyond(lengths, k.shape[2])[..., 0]
    others = {name: np.where(beyond, other_scales(draw, keywords[name]), keywords[name]) for name in SCALES}
    assert_unmoved(attention_with_kv_cache(q, k, v, lengths, **{**keywords, **others}), y)


# --- conventions, and a level ---------------------------------------------------------------------------------------


@invariant("B")
def test_fully_masked_rows(attention_with_kv_cache: Operation, draw: Draw) -> None:
    """A row without keys, or a query before the first position, gives what the backend states. If the backend states nothing,
    it always gives zeros, or always NaN. The other queries give what the equation says.
    """
    assert_convention(attention_with_kv_cache, draw, "fully_masked_rows")


@invariant("B", level="quarantine", cost=2)
def test_quarantine(attention_with_kv_cache: Operation, draw: Draw) -> None:
    """NaN and infinities in the slots beyond lengths never reach the result."""
    (q, k, v, lengths), keywords = draw_inputs(draw, *options_of(attention_with_kv_cache))
    keywords = maybe_not_causal(attention_with_kv_cache, draw, keywords)
    beyond, poison = slots_beyond(lengths, k.shape[2]), draw.one_of((np.nan, np.inf, -np.inf))
    y = attention_with_kv_cache(q, k, v, lengths, **keywords)
    spoiled = (np.where(beyond, poison, x) for x in (k, v))
    assert_unmoved(attention_with_kv_cache(q, *spoiled, lengths, **keywords), y)
