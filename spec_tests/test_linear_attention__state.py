"""What must hold of linear_attention from call to call: its state, and what no call does to another."""

from itertools import pairwise
from typing import Any

import numpy as np

from .bounds.bounded import Bounded
from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_identical, assert_unmoved
from .helpers.cache_laws import draw_chunks
from .helpers.keywords import accepted
from .inputs.draw import Draw, within_domain
from .operations.linear_attention import (
    OPTIONAL,
    SOME,
    Attention,
    draw_attention,
    draw_call,
    draw_options,
    draw_packed,
    held_state,
)
from .trials.invariant import invariant

SOURCE = "Yang, Kautz and Hatamizadeh 2024, eq. 10; Yang et al. 2024; ONNX LinearAttention-27"
FEW = (3, 1, 2, 5, 8, 17, 33, 64, 65, 66)  # tokens, where each may be a call of its own


def in_chunks(attend: Operation, draw: Draw, given: Attention, keywords: dict[str, Any]) -> tuple[list[Bounded], Bounded | None]:
    """Return the outs of chunks of the tokens, each with the state that the one before returned, and the last state."""
    outs, state = list[Bounded](), None
    for chunk in draw_chunks(draw, given.q.shape[-2]):
        within_domain(draw, n=chunk.stop - chunk.start)
        *arrays, own, _ = given.taken(chunk)
        out, state = attend(*arrays, own if state is None else state, **keywords)
        outs.append(out)
    return outs, state


@invariant("B", source=SOURCE, needs=("keyword:state",), cost=2)
def test_any_cut(linear_attention: Operation, draw: Draw) -> None:
    """The tokens give one by one, or in chunks of any sizes with the states handed on, the outs and the state that they give at
    once."""
    given, keywords = draw_call(draw, *OPTIONAL, tokens=FEW)
    out, state = linear_attention(*given, **keywords)
    outs, last = in_chunks(linear_attention, draw, given, keywords)
    assert_equal(np.concatenate(outs, axis=-2), out)  # type: ignore[arg-type]
    assert_equal(last, state)


@invariant("E", level="decode-equals-prefill", needs=("keyword:state",), cost=2)
def test_any_cut_bit_for_bit(linear_attention: Operation, draw: Draw) -> None:
    """Token by token, or in chunks of any sizes, the outs have the bits that they have at once."""
    given, keywords = draw_call(draw, *OPTIONAL, tokens=FEW)
    out, _ = linear_attention(*given, **keywords)
    outs, _ = in_chunks(linear_attention, draw, given, keywords)
    assert_identical(np.concatenate(outs, axis=-2), out.value)  # type: ignore[arg-type]


@invariant("E", source=SOURCE, needs=("keyword:state",))
def test_no_tokens(linear_attention: Operation, draw: Draw) -> None:
    """No tokens return the given state, bit for bit, and no outs."""
    within_domain(draw, n=0)
    keywords = draw_options(draw)
    given = draw_attention(draw, "state", *draw.variants("g", "beta"), tokens=(0,), normalized=keywords.get("qk_l2norm", False))
    out, state = linear_attention(*given, **keywords)
    assert_identical(state, given.state)
    assert_identical(out, np.zeros(given.v.shape))


@invariant("B", source=SOURCE, needs=("keyword:state",))
def test_state_of_zeros(linear_attention: Operation, draw: Draw) -> None:
    """A state of zeros gives what no state gives."""
    given, keywords = draw_call(draw, "g", "beta")
    zeros = np.zeros((*given.v.shape[:-2], given.k.shape[-1], given.v.shape[-1]))
    (out, state), (other, after) = (linear_attention(*given._replace(state=s), **keywords) for s in (zeros, None))
    assert_equal(out, other)
    assert_equal(state, after)


@invariant("B", source="cu_seqlens of flash-linear-attention", needs=("keyword:cu_seqlens",))
def test_packed_is_one_by_one(linear_attention: Operation, draw: Draw) -> None:
    """Sequences that lie one behind the other give the outs and the states that each gives in a call of its own."""
    given, keywords = draw_packed(draw)
    out, state = linear_attention(*given, **keywords)
    for i, (start, stop) in enumerate(pairwise(np.asarray(given.cu_seqlens))):
        within_domain(draw, n=int(stop - start))
        own = given.taken(slice(start, stop))._replace(state=None if given.state is None else given.state[i])
        alone, after = linear_attention(*own, **keywords)
        assert_equal(out[..., start:stop, :], alone)
        assert_equal(state[i], after)


@invariant("E", source="cu_seqlens of flash-linear-attention", needs=("keyword:cu_seqlens", "keyword:state"))
def test_empty_members(linear_attention: Operation, draw: Draw) -> None:
    """A sequence of no tokens among others returns its state, bit for bit."""
    given, keywords = draw_packed(draw)
    ends = np.asarray(given.cu_seqlens)
    at = draw.integer(0, len(ends) - 1)
    states = held_state(draw, draw.rng.standard_normal((len(ends), given.v.shape[-3], given.k.shape[-1], given.v.shape[-1])))
    given = given._replace(state=states, cu_seqlens=np.concatenate([ends[: at + 1], ends[at:]]))
    assert_identical(linear_attention(*given, **keywords).parts["state"][at], states[at])


@invariant("E", source=SOURCE, about_state=True)
def test_calls_do_not_see_each_other(linear_attention: Operation, draw: Draw) -> None:
    """A call without a state gives the same before and after a call of another sequence, and no call changes a state that an
    earlier one returned."""
    given, keywords = draw_call(draw, *accepted(linear_attention, "g", "beta"))
    first = linear_attention(*given, **keywords)
    linear_attention(*given._replace(v=draw.held(1 - given.v)), **keywords)
    again = linear_attention(*given, **keywords)
    assert_unmoved(again.parts["out"], first.parts["out"])
    assert_identical(again.parts["state"], first.parts["state"].value)


@invariant("B", level="quarantine", cost=2)
def test_quarantine(linear_attention: Operation, draw: Draw) -> None:
    """NaN and infinities in a value reach its own channel of its head from that token on alone."""
    given, keywords = draw_call(draw, *OPTIONAL, tokens=SOME)
    h, n, d_v = given.v.shape[-3:]
    i, t, j = draw.integer(0, h - 1), draw.integer(0, n - 1), draw.integer(0, d_v - 1)
    spoiled = np.array(given.v)
    spoiled[..., i, t, j] = draw.one_of((np.nan, np.inf, -np.inf))
    clean = np.ones((h, n, d_v), bool)
    clean[i, t:, j] = False
    before, after = (linear_attention(*given._replace(v=v), **keywords).parts["out"] for v in (given.v, spoiled))
    assert_unmoved(after, before, (..., clean))
