"""What must hold of variable_length_attention."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_unmoved
from .helpers.attention_inputs import draw_other_values, largest_safe_key
from .helpers.cache_laws import options_of
from .helpers.conventions import assert_convention
from .inputs.draw import Draw, within_domain
from .operations.variable_length_attention import draw_ends, draw_inputs
from .trials.invariant import invariant

SOURCE = "FlashAttention's flash_attn_varlen_func"
REST = (1, 2, 7, 16)  # tokens beyond the last member


def member(ends: np.ndarray, i: int) -> slice:
    """Return the slice of a member."""
    return slice(int(ends[i]), int(ends[i + 1]))


@invariant("B", source=SOURCE, cost=1.5)
def test_packed_is_separate(variable_length_attention: Operation, draw: Draw) -> None:
    """Each member gives what it gives alone, as the only one."""
    (q, k, v, ends_q, ends_k), keywords = draw_inputs(draw, *options_of(variable_length_attention))
    i = draw.integer(0, len(ends_q) - 2)
    queries, keys = member(ends_q, i), member(ends_k, i)
    alone = variable_length_attention(
        q[queries], k[keys], v[keys], ends_q[i : i + 2] - ends_q[i], ends_k[i : i + 2] - ends_k[i], **keywords
    )
    assert_equal(variable_length_attention(q, k, v, ends_q, ends_k, **keywords)[queries], alone)


@invariant("B", source=SOURCE, cost=1.5)
def test_one_member_is_attention(variable_length_attention: Operation, grouped_query_attention: Operation, draw: Draw) -> None:
    """A single member is the backend's own grouped-query attention, with tokens in front of heads."""
    (q, k, v, ends_q, ends_k), _ = draw_inputs(draw)
    queries, keys = member(ends_q, int(np.argmax(np.diff(ends_q)))), member(ends_k, int(np.argmax(np.diff(ends_q))))
    q, k, v = q[queries], k[keys], v[keys]
    plain = grouped_query_attention(*(np.swapaxes(x, 0, 1) for x in (q, k, v)))
    alone: Any = variable_length_attention(q, k, v, np.array([0, len(q)]), np.array([0, len(k)]))
    assert_equal(np.swapaxes(alone, 0, 1), plain)


@invariant("B", source=SOURCE)
def test_order_of_members(variable_length_attention: Operation, draw: Draw) -> None:
    """Permuting the members permutes their results."""
    (q, k, v, ends_q, ends_k), keywords = draw_inputs(draw, *options_of(variable_length_attention))
    order = draw.rng.permutation(len(ends_q) - 1)
    of_q, of_k = ([np.arange(len(x))[member(ends, i)] for i in order] for x, ends in ((q, ends_q), (k, ends_k)))
    rows, columns = np.concatenate(of_q), np.concatenate(of_k)
    moved_ends = (draw_ends(np.diff(ends)[order]) for ends in (ends_q, ends_k))
    moved = variable_length_attention(q[rows], k[columns], v[columns], *moved_ends, **keywords)
    assert_equal(moved, variable_length_attention(q, k, v, ends_q, ends_k, **keywords)[rows])


@invariant("B", source=SOURCE)
def test_members_do_not_leak(variable_length_attention: Operation, draw: Draw) -> None:
    """Other keys and values in one member, finite, however large, change no other member's results."""
    (q, k, v, ends_q, ends_k), keywords = draw_inputs(draw, *options_of(variable_length_attention))
    i = draw.integer(0, len(ends_q) - 2)
    other_k, other_v = k.copy(), v.copy()
    keys = member(ends_k, i)
    other_k[keys] = draw_other_values(draw, k[keys].shape, largest_safe_key(draw, q))
    other_v[keys] = draw_other_values(draw, v[keys].shape, draw.format.max / 4)
    others = np.ones(len(q), dtype=bool)
    others[member(ends_q, i)] = False
    y = variable_length_attention(q, k, v, ends_q, ends_k, **keywords)
    assert_unmoved(variable_length_attention(q, other_k, other_v, ends_q, ends_k, **keywords), y, others)


@invariant("B", source=SOURCE)
def test_empty_members_change_nothing(variable_length_attention: Operation, draw: Draw) -> None:
    """A further member without queries and keys, in front, between or at the end, changes no result."""
    (q, k, v, ends_q, ends_k), keywords = draw_inputs(draw, *options_of(variable_length_attention))
    place = draw.integer(0, len(ends_q) - 1)
    more_q, more_k = (np.insert(ends, place, ends[place]) for ends in (ends_q, ends_k))
    y = variable_length_attention(q, k, v, ends_q, ends_k, **keywords)
    assert_equal(variable_length_attention(q, k, v, more_q, more_k, **keywords), y)


@invariant("B", source=SOURCE, needs=("keyword:is_causal",))
def test_first_and_last_of_a_causal_member(variable_length_attention: Operation, draw: Draw) -> None:
    """Under causality, with as many keys as queries, the first query of each member gives its first value, and the last one
    what it gives without causality."""
    (q, k, v, ends, _), _ = draw_inputs(draw)
    k, v = (x[np.arange(len(q)) % max(len(x), 1)] if len(x) else np.ones((len(q), *x.shape[1:])) for x in (k, v))
    starts = np.unique(ends[:-1][np.diff(ends) > 0])
    causal = variable_length_attention(q, k, v, ends, ends, is_causal=True)
    everything = variable_length_attention(q, k, v, ends, ends)
    assert_equal(causal[starts], np.repeat(v[starts], q.shape[1] // v.shape[1], axis=1))
    last = np.unique(ends[1:][np.diff(ends) > 0]) - 1
    assert_equal(causal[last], everything[last])


@invariant("B")
def test_fully_masked_rows(variable_length_attention: Operation, draw: Draw) -> None:
    """A query of a member without keys, or before its first position, gives what the backend states. If the backend states
    nothing, it always gives zeros, or always NaN. The other queries give what the equation says.
    """
    assert_convention(variable_length_attention, draw, "fully_masked_rows")


@invariant("B", source=SOURCE, level="padded-tokens", cost=2)
def test_tokens_beyond_the_last_member(variable_length_attention: Operation, draw: Draw) -> None:
    """Tokens beyond the last member, as buffers of a fixed size have them, change no member's result, NaN and infinities
    included.
    """
    (q, k, v, ends_q, ends_k), keywords = draw_inputs(draw, *options_of(variable_length_attention))
    y = variable_length_attention(q, k, v, ends_q, ends_k, **keywords)
    rest, what = [draw.one_of(REST) for _ in range(2)], draw.one_of((1.0, np.nan, np.inf, -np.inf))
    within_domain(draw, N=len(q) + rest[0], M=len(k) + rest[1])
    longer = [
        np.concatenate([x, what * np.ones((more, *x.shape[1:]))]) for x, more in zip((q, k, v), (*rest, rest[1]), strict=True)
    ]
    assert_unmoved(variable_length_attention(*longer, ends_q, ends_k, **keywords)[: len(q)], y)
