"""What must hold of causal_conv1d."""

from itertools import pairwise
from typing import Any

import numpy as np

from reference_numpy._marks import logistic

from .bounds.bounded import Bounded
from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_identical, assert_unmoved, exactly
from .helpers.cache_laws import draw_chunks
from .helpers.keywords import accepted
from .inputs.draw import Draw, within_domain
from .inputs.regimes import VECTORS
from .operations.causal_conv1d import Conv, draw_filter, draw_inputs, draw_options, draw_packed
from .trials.invariant import invariant

SOURCE = "Gu and Dao 2023, section 3.4; causal_conv1d_fn; ONNX CausalConvWithState-27"
PACKED = "seq_idx and query_start_loc of causal_conv1d; cu_seqlens of flash-linear-attention"
LONGER = (2, 3, 4, 5, 8)  # filters with a state


def passed(draw: Draw) -> dict[str, Any]:
    """Return the keyword for no activation, if it can be given."""
    return draw.only("activation", None)


def tokens_of(x: np.ndarray, state: np.ndarray | None, past: int) -> np.ndarray:
    """Return x behind the state, or behind zeros."""
    before = np.zeros((*x.shape[:-1], past)) if state is None else state
    return np.concatenate([before, x], axis=-1)


def in_chunks(conv: Operation, draw: Draw, given: Conv, keywords: dict[str, Any]) -> tuple[list[Bounded], np.ndarray]:
    """Return the outs of chunks of x, each with the state that the one before returned, and the last state."""
    (x, weight, bias, state), outs = given, []
    for chunk in draw_chunks(draw, x.shape[-1]):
        within_domain(draw, n=chunk.stop - chunk.start)
        out, after = conv(x[..., chunk], weight, bias, state, **keywords)
        outs.append(out)
        state = np.asarray(after.value)
    return outs, np.asarray(state)


@invariant("B", source=SOURCE, cost=2)
def test_any_cut(causal_conv1d: Operation, draw: Draw) -> None:
    """The tokens give one by one, or in chunks of any sizes with the states handed on, the out and the state that they give at
    once. The state has the same bits."""
    given, keywords = draw_inputs(draw, *accepted(causal_conv1d, "bias", "state"))
    out, state = causal_conv1d(*given, **keywords)
    outs, last = in_chunks(causal_conv1d, draw, given, keywords)
    if outs:
        assert_equal(np.concatenate(outs, axis=-1), out)  # type: ignore[arg-type]
        assert_identical(last, state.value)


@invariant("E", level="decode-equals-prefill", cost=2)
def test_any_cut_bit_for_bit(causal_conv1d: Operation, draw: Draw) -> None:
    """Token by token, or in chunks of any sizes, the out has the bits that it has at once."""
    given, keywords = draw_inputs(draw, *accepted(causal_conv1d, "bias", "state"))
    out, _ = causal_conv1d(*given, **keywords)
    outs, _ = in_chunks(causal_conv1d, draw, given, keywords)
    if outs:
        assert_identical(np.concatenate(outs, axis=-1), out.value)  # type: ignore[arg-type]


@invariant("E", source=SOURCE)
def test_state_is_the_last_columns(causal_conv1d: Operation, draw: Draw) -> None:
    """The new state is the last w − 1 columns of the old state and x, bit for bit: neither filtered, nor with the bias, nor
    activated. Fewer tokens than w − 1 keep columns of the old state."""
    used = accepted(causal_conv1d, "bias", "state")
    x, weight, bias, state = draw_filter(draw, *draw.one_of((draw.variants(*used), set(used))))
    if draw.one_of((True, False)):
        x = x[..., : max(weight.shape[-1] - 2, 0)]
        within_domain(draw, n=x.shape[-1])
    after = causal_conv1d(x, weight, bias, state, **draw_options(draw)).parts["state"]
    assert_identical(after, tokens_of(x, state, weight.shape[-1] - 1)[..., x.shape[-1] :])


@invariant("B", source=SOURCE)
def test_state_of_zeros(causal_conv1d: Operation, draw: Draw) -> None:
    """A state of zeros gives what no state gives."""
    (x, weight, bias, _), keywords = draw_inputs(draw, *accepted(causal_conv1d, "bias"))
    zeros = np.zeros((*x.shape[:-1], weight.shape[-1] - 1))
    (out, state), (other, after) = (causal_conv1d(x, weight, bias, s, **keywords) for s in (zeros, None))
    assert_equal(out, other)
    assert_identical(state, after.value)


@invariant("B", source=PACKED, needs=("keyword:cu_seqlens",))
def test_packed_is_one_by_one(causal_conv1d: Operation, draw: Draw) -> None:
    """Sequences that lie one behind the other give the outs and, bit for bit, the states that each gives in a call of its own."""
    (x, weight, bias, state, ends), keywords = draw_packed(draw)
    out, after = causal_conv1d(x, weight, bias, state, ends, **keywords)
    for i, (start, stop) in enumerate(pairwise(ends)):
        within_domain(draw, n=int(stop - start))
        own = None if state is None else state[i]
        alone, then = causal_conv1d(x[:, start:stop], weight, bias, own, **keywords)
        assert_equal(out[:, start:stop], alone)
        assert_identical(after.value[i], then.value)


@invariant("E", source=PACKED, needs=("keyword:cu_seqlens",))
def test_members_do_not_see_each_other(causal_conv1d: Operation, draw: Draw) -> None:
    """Other finite tokens and another state of one sequence, however large, change no out and no state of the others."""
    (x, weight, bias, state, ends), keywords = draw_packed(draw)
    followed = np.flatnonzero(np.diff(ends) > 0)[:-1].tolist()  # members whose columns a later one might read
    i = draw.one_of(tuple(followed)) if followed else draw.integer(0, len(ends) - 2)
    within, size = slice(ends[i], ends[i + 1]), min(draw.one_of((1.0, 300.0, 1e4)), draw.format.max / 64)
    other, other_state = np.array(x), None if state is None else np.array(state)
    other[:, within] = draw.held(draw.rng.uniform(-1, 1, other[:, within].shape) * size)
    if other_state is not None:
        other_state[i] = draw.held(draw.rng.uniform(-1, 1, other_state[i].shape) * size)
    before = causal_conv1d(x, weight, bias, state, ends, **keywords)
    after = causal_conv1d(other, weight, bias, other_state, ends, **keywords)
    others, tokens = np.arange(len(ends) - 1) != i, np.arange(x.shape[-1])
    assert_unmoved(after.parts["out"], before.parts["out"], (..., (tokens < within.start) | (tokens >= within.stop)))
    assert_identical(after.parts["state"].value[others], before.parts["state"].value[others])


@invariant("E", source=PACKED, needs=("keyword:cu_seqlens", "keyword:state"))
def test_empty_members(causal_conv1d: Operation, draw: Draw) -> None:
    """A sequence of no tokens among others returns its state, bit for bit."""
    (x, weight, bias, _, ends), keywords = draw_packed(draw)
    at = draw.integer(0, len(ends) - 1)
    states = draw.array((len(ends), len(x), weight.shape[-1] - 1), VECTORS)
    ends = np.concatenate([ends[: at + 1], ends[at:]])
    assert_identical(causal_conv1d(x, weight, bias, states, ends, **keywords).parts["state"][at], states[at])


@invariant("B", source=SOURCE)
def test_nothing_looks_ahead(causal_conv1d: Operation, draw: Draw) -> None:
    """Other finite tokens from t on, however large, change no out before t."""
    (x, weight, bias, state), keywords = draw_inputs(draw, *accepted(causal_conv1d, "bias", "state"))
    n = x.shape[-1]
    t = draw.integer(0, 300) % max(n, 1)
    later = draw.held(draw.rng.uniform(-1, 1, x.shape) * min(draw.one_of((1.0, 300.0, 1e4)), draw.format.max / 64))
    others = np.where(np.arange(n) >= t, later, x)
    before, after = (causal_conv1d(y, weight, bias, state, **keywords).parts["out"] for y in (x, others))
    assert_unmoved(after, before, (..., slice(0, t)))


@invariant("B", source=SOURCE)
def test_nothing_beyond_the_filter(causal_conv1d: Operation, draw: Draw) -> None:
    """A token does not show in the outs from w tokens later on, nor a column of the state in those that it does not reach."""
    (x, weight, bias, state), keywords = draw_inputs(draw, *accepted(causal_conv1d, "bias", "state"))
    w, n = weight.shape[-1], x.shape[-1]
    t = draw.integer(0, n)
    earlier = draw.held(draw.rng.uniform(-1, 1, x.shape) * draw.one_of((1.0, 300.0)))
    others = np.where(np.arange(n) < t, earlier, x)
    other_state = None if state is None else state[..., ::-1] + 1
    before = causal_conv1d(x, weight, bias, state, **keywords).parts["out"]
    after = causal_conv1d(others, weight, bias, other_state, **keywords).parts["out"]
    assert_unmoved(after, before, (..., slice(t + w - 1, n)))


@invariant("B", source=SOURCE)
def test_channels_are_separate(causal_conv1d: Operation, draw: Draw) -> None:
    """A channel gives what it gives alone, with its own taps, bias and state."""
    (x, weight, bias, state), keywords = draw_inputs(draw, *accepted(causal_conv1d, "bias", "state"))
    within_domain(draw, d=1)
    i = draw.integer(0, len(weight) - 1)
    one = slice(i, i + 1)
    alone = causal_conv1d(
        x[..., one, :],
        weight[one],
        None if bias is None else bias[one],
        None if state is None else state[..., one, :],
        **keywords,
    )
    together = causal_conv1d(x, weight, bias, state, **keywords).parts
    assert_equal(together["out"][..., one, :], alone.parts["out"])
    assert_identical(together["state"].value[..., one, :], alone.parts["state"].value)


@invariant("E", source=SOURCE)
def test_one_tap(causal_conv1d: Operation, draw: Draw) -> None:
    """A filter that is 1 at its tap j, and 0 elsewhere, gives the tokens w − 1 − j steps late, bit for bit, with the state's
    columns before them: the last tap is for the newest token."""
    x, weight, _, state = draw_filter(draw, *accepted(causal_conv1d, "state"))
    n, w = x.shape[-1], weight.shape[-1]
    j = draw.one_of((0, w - 1, draw.integer(0, w - 1)))
    taps = np.zeros(weight.shape)
    taps[:, j] = 1.0
    out = causal_conv1d(x, taps, None, state, **passed(draw)).parts["out"]
    assert_identical(out, tokens_of(x, state, w - 1)[..., j : j + n])


@invariant("B", source=SOURCE, needs=("keyword:bias",))
def test_bias_is_added(causal_conv1d: Operation, draw: Draw) -> None:
    """Without an activation, the bias of each channel is added to its outs, and the state is as without it."""
    x, weight, bias, state = draw_filter(draw, "bias", *accepted(causal_conv1d, "state"))
    keywords = passed(draw)
    with_bias, without = (causal_conv1d(x, weight, b, state, **keywords).parts for b in (bias, None))
    assert_equal(with_bias["out"], without["out"] + exactly(np.asarray(bias))[:, None])
    assert_identical(with_bias["state"], without["state"].value)


@invariant("B", source=SOURCE, needs=("keyword:activation",))
def test_activation_of_the_sum(causal_conv1d: Operation, draw: Draw) -> None:
    """The activation is that of the sum with the bias: silu(y) = y σ(y) of what there is without one."""
    given = draw_filter(draw, *draw.variants(*accepted(causal_conv1d, "bias", "state")))
    y = causal_conv1d(*given, activation=None).parts["out"]
    assert_equal(causal_conv1d(*given, activation="silu").parts["out"], y * logistic(y))


@invariant("B", source=SOURCE)
def test_sums_of_signals(causal_conv1d: Operation, draw: Draw) -> None:
    """Without bias and activation, the sum of two signals, with the sum of their states, gives the sum of what they give."""
    x, weight, _, state = draw_filter(draw, *accepted(causal_conv1d, "state"))
    a, b = (draw.grid(x.shape) for _ in "ab")
    s, r = (None, None) if state is None else (draw.grid(state.shape) for _ in "ab")
    total = None if s is None or r is None else s + r
    keywords = passed(draw)
    one, other, both = (causal_conv1d(y, weight, None, z, **keywords).parts["out"] for y, z in ((a, s), (b, r), (a + b, total)))
    assert_equal(both, one + other)


@invariant("B", source=SOURCE)
def test_filter_of_one_tap(causal_conv1d: Operation, draw: Draw) -> None:
    """With w = 1 each token is multiplied by the weight of its channel, and the state has no columns."""
    within_domain(draw, w=1, past=0)
    x, weight, _, _ = draw_filter(draw, taps=(1,))
    out, state = causal_conv1d(x, weight, **passed(draw))
    assert_equal(out, exactly(x) * exactly(weight))
    assert_identical(state, np.zeros((*x.shape[:-1], 0)))


@invariant("E", source=SOURCE, about_state=True)
def test_calls_do_not_see_each_other(causal_conv1d: Operation, draw: Draw) -> None:
    """A call without a state gives the same before and after a call of another sequence, and no call changes a state that an
    earlier one returned."""
    (x, weight, bias, _), keywords = draw_inputs(draw, *accepted(causal_conv1d, "bias"))
    first = causal_conv1d(x, weight, bias, **keywords)
    causal_conv1d(x[..., ::-1] + 1, weight, bias, **keywords)
    again = causal_conv1d(x, weight, bias, **keywords)
    assert_unmoved(again.parts["out"], first.parts["out"])
    assert_identical(again.parts["state"], first.parts["state"].value)


@invariant("B", level="quarantine", cost=2)
def test_quarantine(causal_conv1d: Operation, draw: Draw) -> None:
    """NaN and infinities in a token reach its channel from that token on alone, and no further than w − 1 tokens."""
    (x, weight, bias, state), keywords = draw_inputs(draw, *accepted(causal_conv1d, "bias", "state"))
    d, n, w = *x.shape[-2:], weight.shape[-1]
    if not n or not d:
        return
    i, t = draw.integer(0, d - 1), draw.integer(0, n - 1)
    spoiled = np.array(x)
    spoiled[..., i, t] = draw.one_of((np.nan, np.inf, -np.inf))
    clean = np.ones((d, n), bool)
    clean[i, t : t + w] = False
    before, after = (causal_conv1d(y, weight, bias, state, **keywords).parts["out"] for y in (x, spoiled))
    assert_unmoved(after, before, (..., clean))
