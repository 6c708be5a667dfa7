"""What must hold of mamba2_scan from call to call: its state, and what no call does to another."""

from typing import Any

import numpy as np

from .bounds.bounded import Bounded
from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_identical, assert_unmoved
from .helpers.cache_laws import draw_chunks
from .helpers.keywords import accepted
from .inputs.draw import Draw, within_domain
from .operations.mamba2_scan import FEW, OPTIONAL, SOME, Scan, draw_call, draw_options, draw_scan
from .trials.invariant import invariant

SOURCE = "Dao and Gu 2024, eq. 16; selective_state_update of mamba"


def in_chunks(scan: Operation, draw: Draw, given: Scan, keywords: dict[str, Any]) -> tuple[list[Bounded], Bounded | None]:
    """Return the outs of chunks of the tokens, each with the state that the one before returned, and the last state."""
    outs, state = list[Bounded](), None
    for chunk in draw_chunks(draw, given.x.shape[-2]):
        within_domain(draw, n=chunk.stop - chunk.start)
        *arrays, own = given.taken(chunk)
        out, state = scan(*arrays, own if state is None else state, **keywords)
        outs.append(out)
    return outs, state


@invariant("B", source=SOURCE, needs=("keyword:state",), cost=2)
def test_any_cut(mamba2_scan: Operation, draw: Draw) -> None:
    """The tokens give one by one, or in chunks of any sizes with the states handed on, the outs and the state that they give at
    once."""
    given, keywords = draw_call(draw, *OPTIONAL, tokens=FEW)
    out, state = mamba2_scan(*given, **keywords)
    outs, last = in_chunks(mamba2_scan, draw, given, keywords)
    assert_equal(np.concatenate(outs, axis=-2), out)  # type: ignore[arg-type]
    assert_equal(last, state)


@invariant("E", level="decode-equals-prefill", needs=("keyword:state",), cost=2)
def test_any_cut_bit_for_bit(mamba2_scan: Operation, draw: Draw) -> None:
    """Token by token, or in chunks of any sizes, the outs have the bits that they have at once."""
    given, keywords = draw_call(draw, *OPTIONAL, tokens=FEW)
    out, _ = mamba2_scan(*given, **keywords)
    outs, _ = in_chunks(mamba2_scan, draw, given, keywords)
    assert_identical(np.concatenate(outs, axis=-2), out.value)  # type: ignore[arg-type]


@invariant("E", source=SOURCE, needs=("keyword:state",))
def test_no_tokens(mamba2_scan: Operation, draw: Draw) -> None:
    """No tokens return the given state, bit for bit, and no outs."""
    within_domain(draw, n=0)
    keywords = draw_options(draw)
    given = draw_scan(draw, keywords, "state", *draw.variants("d", "z", "dt_bias"), tokens=(0,))
    out, state = mamba2_scan(*given, **keywords)
    assert_identical(state, given.state)
    assert_identical(out, np.zeros(given.x.shape))


@invariant("B", source=SOURCE, needs=("keyword:state",))
def test_state_of_zeros(mamba2_scan: Operation, draw: Draw) -> None:
    """A state of zeros gives what no state gives."""
    given, keywords = draw_call(draw, "d", "z", "dt_bias")
    zeros = np.zeros((*given.x.shape[:-2], given.x.shape[-1], given.b.shape[-1]))
    (out, state), (other, after) = (mamba2_scan(*given._replace(state=s), **keywords) for s in (zeros, None))
    assert_equal(out, other)
    assert_equal(state, after)


@invariant("E", source=SOURCE, about_state=True)
def test_calls_do_not_see_each_other(mamba2_scan: Operation, draw: Draw) -> None:
    """A call without a state gives the same before and after a call of another sequence, and no call changes a state that an
    earlier one returned."""
    given, keywords = draw_call(draw, *accepted(mamba2_scan, "d", "z", "dt_bias"))
    first = mamba2_scan(*given, **keywords)
    mamba2_scan(*given._replace(x=draw.held(1 - given.x)), **keywords)
    again = mamba2_scan(*given, **keywords)
    assert_unmoved(again.parts["out"], first.parts["out"])
    assert_identical(again.parts["state"], first.parts["state"].value)


@invariant("B", level="quarantine", cost=2)
def test_quarantine(mamba2_scan: Operation, draw: Draw) -> None:
    """NaN and infinities in an entry of x reach its own channel of its head from that token on alone."""
    given, keywords = draw_call(draw, *OPTIONAL, tokens=SOME)
    h, n, p = given.x.shape[-3:]
    i, t, j = draw.integer(0, h - 1), draw.integer(0, n - 1), draw.integer(0, p - 1)
    spoiled = np.array(given.x)
    spoiled[..., i, t, j] = draw.one_of((np.nan, np.inf, -np.inf))
    clean = np.ones((h, n, p), bool)
    clean[i, t:, j] = False
    before, after = (mamba2_scan(*given._replace(x=x), **keywords).parts["out"] for x in (given.x, spoiled))
    assert_unmoved(after, before, (..., clean))
