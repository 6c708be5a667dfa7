"""What must hold of kv_cache_append."""

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_identical, assert_true, assert_unmoved
from .helpers.conventions import assert_convention
from .helpers.slot_scales import SLOT_SCALES, WIDTHS, ask, draw_scales, draw_slot_sizes, other_scales
from .implementation.domain import SCALES
from .inputs.draw import Draw, within_domain
from .operations._caches import draw_format, draw_new_products, hold_both, scale_of_new
from .operations.kv_cache_append import draw_inputs, draw_lengths
from .specification.narrow_formats import NARROW_FORMATS
from .trials.invariant import invariant

SOURCE = "ONNX TensorScatter-24; vLLM's reshape_and_cache"
FP8 = "Micikevicius et al. 2022, arXiv:2209.05433, section 3"
FEW_BITS = ("keyword:cache_dtype",)
DTYPES = ("float32", "bfloat16", "float16")  # of what is quantized
BEYOND = np.array([1.0, 1.002, 1.03, 1.036, 1.1, 1.5, 2.0, 2.7, 256.0])  # times the largest number of a format


def slots_written(lengths: np.ndarray, n: int, slots: int) -> np.ndarray:
    """Return which slots of each row are written."""
    return (np.arange(slots) >= lengths[:, None]) & (np.arange(slots) < lengths[:, None] + n)


@invariant("E", source=SOURCE)
def test_one_after_the_other(kv_cache_append: Operation, draw: Draw) -> None:
    """Appending some keys and then others is appending all of them at once."""
    (k_cache, v_cache, k, v, lengths), keywords = draw_inputs(draw)
    n = k.shape[2]
    first = draw.integer(0, n)
    within_domain(draw, n=first)
    within_domain(draw, n=n - first)
    half = kv_cache_append(k_cache, v_cache, k[:, :, :first], v[:, :, :first], lengths, **keywords)
    stored = (np.asarray(x.value) for x in half)
    both = kv_cache_append(*stored, k[:, :, first:], v[:, :, first:], lengths + first, **keywords)
    for one, other in zip(both, kv_cache_append(k_cache, v_cache, k, v, lengths, **keywords), strict=True):
        assert_unmoved(one, other)


@invariant("E", source=SOURCE, about_state=True)
def test_other_slots_keep_their_bits(kv_cache_append: Operation, draw: Draw) -> None:
    """Every slot that is not written keeps its bits, whatever it holds: NaN, infinities, other numbers."""
    (k_cache, v_cache, k, v, lengths), keywords = draw_inputs(draw)
    others = ~slots_written(lengths, k.shape[2], k_cache.shape[2])[:, None, :, None]
    f = NARROW_FORMATS.get(keywords.get("cache_dtype", ""))
    rubbish = draw.one_of((np.nan, np.inf, draw.format.max, -0.0) if f is None else (f.numbers[-1], f.max, f.least))
    spoiled = [np.where(others & (draw.rng.random(x.shape) < 0.5), rubbish, x) for x in (k_cache, v_cache)]
    for result, was in zip(kv_cache_append(*spoiled, k, v, lengths, **keywords), spoiled, strict=True):
        where = np.broadcast_to(others, was.shape)
        assert_identical(result.value[where], was[where])


@invariant("E", source=SOURCE)
def test_new_slots_hold_the_new_keys(kv_cache_append: Operation, draw: Draw) -> None:
    """Slots lengths … lengths + n − 1 of each row hold its new keys and values, in order, whatever the lengths of others."""
    (k_cache, v_cache, k, v, lengths), _ = draw_inputs(draw, few_bits=False)
    results = kv_cache_append(k_cache, v_cache, k, v, lengths)
    for result, new in zip(results, (k, v), strict=True):
        for row, length in enumerate(lengths):
            assert_identical(result.value[row, :, length : length + k.shape[2]], new[row])


@invariant("E", source=SOURCE)
def test_nothing_appended(kv_cache_append: Operation, draw: Draw) -> None:
    """Appending no keys changes nothing, also to a full cache."""
    (k_cache, v_cache, k, v, lengths), keywords = draw_inputs(draw)
    within_domain(draw, n=0)
    lengths = np.where(draw.rng.random(len(lengths)) < 0.5, k_cache.shape[2], lengths)
    results = kv_cache_append(k_cache, v_cache, k[:, :, :0], v[:, :, :0], lengths, **keywords)
    for result, was in zip(results, (k_cache, v_cache), strict=True):
        assert_identical(result, was)


# --- caches of few bits ---------------------------------------------------------------------------------------------


@invariant("E", source=FP8, needs=FEW_BITS, dtypes=DTYPES)
def test_few_bits_lose_nothing(kv_cache_append: Operation, draw: Draw) -> None:
    """Keys and values that are numbers of the format times scales, which are powers of two, are held as these numbers."""
    (k_cache, v_cache, k, v, lengths), _ = draw_inputs(draw, few_bits=False)
    keywords = draw_format(draw, k_cache.shape[:3], exact=True)
    few = hold_both(draw, keywords, k_cache, v_cache)
    new = draw_new_products(draw, keywords, lengths, k, v)
    results = kv_cache_append(*few, *(product for _, product in new), lengths, **keywords)
    for result, (numbers, _) in zip(results, new, strict=True):
        for row, length in enumerate(lengths):
            assert_identical(result.value[row, :, length : length + k.shape[2]], numbers[row])


@invariant("E", source=FP8, needs=SLOT_SCALES, dtypes=DTYPES, cost=2)
def test_scales_of_slots(kv_cache_append: Operation, draw: Draw) -> None:
    """With one scale for each slot of each head, new keys that are numbers of the format times the scales of their slots, powers
    of two, are held as these numbers, and the scales of other slots do not show. A backend may refuse such scales with any
    exception, unless its domain states slot_scales.
    """
    sizes = draw_slot_sizes(draw, "b", "h_kv", "M")
    n, d = draw.size("n", (1, 2, 3)), [draw.size(name, WIDTHS) for name in ("d_k", "d_v")]
    within_domain(draw, M=sizes["M"], n=n)
    slots = (b, h, m) = tuple(sizes.values())
    lengths = draw_lengths(draw, b, (m - n) // 2, low=min(1, m - n), high=m - n)
    keywords = draw_scales(draw, slots)
    caches = hold_both(draw, keywords, *(draw.vectors((*slots, width)) for width in d))
    new = draw_new_products(draw, keywords, lengths, *(draw.vectors((b, h, n, width)) for width in d))
    arguments = (*caches, *(product for _, product in new), lengths)
    ask(kv_cache_append, arguments, keywords)
    results = kv_cache_append(*arguments, **keywords)
    for result, (numbers, _) in zip(results, new, strict=True):
        for row, length in enumerate(lengths):
            assert_identical(result.value[row, :, length : length + n], numbers[row])
    here = slots_written(lengths, n, m)[:, None]
    others = {name: np.where(here, keywords[name], other_scales(draw, keywords[name])) for name in SCALES}
    for result, again in zip(results, kv_cache_append(*arguments, **{**keywords, **others}), strict=True):
        assert_unmoved(again, result)


@invariant("E", source=FP8, needs=FEW_BITS, dtypes=DTYPES)
def test_saturation(kv_cache_append: Operation, draw: Draw) -> None:
    """Finite keys and values beyond the largest number times the scale are held as this number: never NaN, never an infinity."""
    (k_cache, v_cache, k, v, lengths), keywords = draw_inputs(draw, few_bits=True)
    f, n = NARROW_FORMATS[keywords["cache_dtype"]], k.shape[2]
    scales = [scale_of_new(keywords, name, lengths, n) for name in SCALES]
    new = [draw.rng.choice(BEYOND, x.shape) * f.max * scale for x, scale in zip((k, v), scales, strict=True)]
    new = [draw.format.round(np.minimum(x, draw.format.max)) * draw.rng.choice((1.0, -1.0), x.shape) for x in new]
    results = kv_cache_append(k_cache, v_cache, *new, lengths, **keywords)
    for result, x, s in zip(results, new, scales, strict=True):
        far = np.abs(x) >= 1.01 * f.max * s
        for row, length in enumerate(lengths):
            held = result.value[row, :, length : length + n]
            assert_true(bool(np.all(np.isfinite(held))), "a finite number became NaN or an infinity")
            sizes = np.minimum(np.abs(held), f.max)  # int8 may have -128
            assert_identical(np.where(far[row], sizes, 0.0), np.where(far[row], f.max, 0.0))


@invariant("E", needs=FEW_BITS, dtypes=DTYPES)
def test_int8_range(kv_cache_append: Operation, draw: Draw) -> None:
    """The smallest integer that a cache in int8 holds is -128, or -127."""
    assert_convention(kv_cache_append, draw, "int8_range")
