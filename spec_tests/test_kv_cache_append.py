"""What must hold of kv_cache_append."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_identical
from .inputs.draw import Draw, within_domain
from .operations.kv_cache_append import arguments
from .trials.invariant import invariant

SOURCE = "ONNX TensorScatter-24; vLLM's reshape_and_cache"


def draw_call(draw: Draw) -> tuple[Any, ...]:
    """Draw the two caches, new keys and values, and lengths."""
    return arguments(draw)[0]


def slots_written(lengths: np.ndarray, n: int, slots: int) -> np.ndarray:
    """Return which slots of each row are written."""
    return (np.arange(slots) >= lengths[:, None]) & (np.arange(slots) < lengths[:, None] + n)


@invariant("E", source=SOURCE)
def test_one_after_the_other(kv_cache_append: Operation, draw: Draw) -> None:
    """Appending some keys and then others is appending all of them at once."""
    k_cache, v_cache, k, v, lengths = draw_call(draw)
    n = k.shape[2]
    first = draw.integer(0, n)
    within_domain(draw, n=first)
    within_domain(draw, n=n - first)
    half = kv_cache_append(k_cache, v_cache, k[:, :, :first], v[:, :, :first], lengths)
    stored = (np.asarray(x.value) for x in half)
    both = kv_cache_append(*stored, k[:, :, first:], v[:, :, first:], lengths + first)
    for one, other in zip(both, kv_cache_append(k_cache, v_cache, k, v, lengths), strict=True):
        assert_identical(one, other)


@invariant("E", source=SOURCE, about_state=True)
def test_other_slots_keep_their_bits(kv_cache_append: Operation, draw: Draw) -> None:
    """Every slot that is not written keeps its bits, whatever it holds: NaN, infinities, other numbers."""
    k_cache, v_cache, k, v, lengths = draw_call(draw)
    others = ~slots_written(lengths, k.shape[2], k_cache.shape[2])[:, None, :, None]
    rubbish = draw.one_of((np.nan, np.inf, draw.format.max, -0.0))
    spoiled = [np.where(others & (draw.rng.random(x.shape) < 0.5), rubbish, x) for x in (k_cache, v_cache)]
    for result, was in zip(kv_cache_append(*spoiled, k, v, lengths), spoiled, strict=True):
        where = np.broadcast_to(others, was.shape)
        assert_identical(result.value[where], was[where])


@invariant("E", source=SOURCE)
def test_new_slots_hold_the_new_keys(kv_cache_append: Operation, draw: Draw) -> None:
    """Slots lengths … lengths + n − 1 of each row hold its new keys and values, in order, whatever the lengths of others."""
    k_cache, v_cache, k, v, lengths = draw_call(draw)
    results = kv_cache_append(k_cache, v_cache, k, v, lengths)
    for result, new in zip(results, (k, v), strict=True):
        for row, length in enumerate(lengths):
            assert_identical(result.value[row, :, length : length + k.shape[2]], new[row])


@invariant("E", source=SOURCE)
def test_nothing_appended(kv_cache_append: Operation, draw: Draw) -> None:
    """Appending no keys changes nothing, also to a full cache."""
    k_cache, v_cache, k, v, lengths = draw_call(draw)
    within_domain(draw, n=0)
    lengths = np.where(draw.rng.random(len(lengths)) < 0.5, k_cache.shape[2], lengths)
    results = kv_cache_append(k_cache, v_cache, k[:, :, :0], v[:, :, :0], lengths)
    for result, was in zip(results, (k_cache, v_cache), strict=True):
        assert_identical(result, was)
