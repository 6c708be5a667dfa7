"""What must hold of the gradient of causal_conv1d."""

from itertools import pairwise
from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_all_zero, assert_equal, assert_identical, exactly
from .helpers.keywords import accepted
from .inputs.draw import Draw, within_domain
from .operations.causal_conv1d import draw_filter, draw_inputs, draw_packed
from .trials.invariant import invariant

SOURCE = "Differentiation of Gu and Dao 2023, section 3.4"


def given_names(*arrays: tuple[str, np.ndarray | None]) -> tuple[str, ...]:
    """Return the names of the arrays that are given."""
    return tuple(name for name, x in arrays if x is not None)


@invariant("E", source=SOURCE, cost=2)
def test_state_alone(causal_conv1d_vjp: Operation, draw: Draw) -> None:
    """A cotangent of the new state alone comes back unchanged to the columns that the state holds: those of x, and those of the
    old state where x is shorter. All other gradients are exactly 0."""
    (x, weight, bias, state), keywords = draw_inputs(draw, *accepted(causal_conv1d_vjp, "bias", "state"))
    n, past = x.shape[-1], weight.shape[-1] - 1
    g = draw.grid((*x.shape[:-1], past))
    names = given_names(("x", x), ("weight", weight), ("bias", bias), ("state", state))
    found = dict(zip(names, causal_conv1d_vjp((None, g), x, weight, bias, state, **keywords, wrt=names), strict=True))
    columns = np.concatenate([np.zeros((*x.shape[:-1], n)), g], axis=-1)
    assert_identical(found["x"], columns[..., past:])
    if state is not None:
        assert_identical(found["state"], columns[..., :past])
    for name in ("weight", "bias"):
        if name in found:
            assert_all_zero(found[name])


@invariant("B", source=SOURCE, cost=2)
def test_tokens_and_taps(causal_conv1d_vjp: Operation, draw: Draw) -> None:
    """Without an activation out is linear in the tokens, and in the taps: the products of x and the state with their gradients
    have the sum of those of the taps with theirs, channel by channel."""
    x, weight, _, state = draw_filter(draw, *accepted(causal_conv1d_vjp, "state"))
    c = draw.grid(x.shape)
    names = given_names(("x", x), ("weight", weight), ("state", state))
    keywords = draw.only("activation", None)
    dx, dweight, *dstate = causal_conv1d_vjp((c, None), x, weight, None, state, **keywords, wrt=names)
    of_tokens = np.sum(exactly(x) * dx, axis=-1)
    if state is not None:
        of_tokens = of_tokens + np.sum(exactly(state) * dstate[0], axis=-1)
    rows = int(np.prod(x.shape[:-2]))
    of_tokens = np.sum(np.reshape(of_tokens, (rows, len(weight))), axis=0)
    assert_equal(of_tokens, np.sum(exactly(weight) * dweight, axis=-1))


@invariant("B", source=SOURCE, cost=2, needs=("keyword:bias",))
def test_bias_gets_the_sum(causal_conv1d_vjp: Operation, draw: Draw) -> None:
    """Without an activation the gradient of a channel's bias is the sum of its cotangents over tokens and batch."""
    x, weight, bias, state = draw_filter(draw, "bias", *accepted(causal_conv1d_vjp, "state"))
    c = draw.grid(x.shape)
    dbias = causal_conv1d_vjp((c, None), x, weight, bias, state, **draw.only("activation", None), wrt="bias")
    rows = int(np.prod(x.shape[:-2]))
    assert_equal(dbias, exactly(np.sum(c.reshape(rows, *c.shape[-2:]), axis=(0, 2))))


@invariant("B", source=SOURCE, cost=2)
def test_one_cotangent(causal_conv1d_vjp: Operation, draw: Draw) -> None:
    """Without an activation a cotangent of 1 at out t gives the taps as the gradient of the w columns that end at token t,
    exactly 0 at the others, and these columns as the gradient of the taps."""
    x, weight, _, state = draw_filter(draw, *accepted(causal_conv1d_vjp, "state"))
    n, w = x.shape[-1], weight.shape[-1]
    if not n:
        return
    t = draw.one_of((0, n - 1, draw.integer(0, n - 1)))
    c = np.zeros(x.shape)
    c[..., t] = 1.0
    names = given_names(("x", x), ("weight", weight), ("state", state))
    dx, dweight, *dstate = causal_conv1d_vjp((c, None), x, weight, None, state, **draw.only("activation", None), wrt=names)
    columns = np.zeros((*x.shape[:-1], n + w - 1))
    columns[..., t : t + w] = weight
    assert_equal(dx, exactly(columns[..., w - 1 :]))
    assert_all_zero(dx, columns[..., w - 1 :] == 0)
    if state is not None:
        assert_equal(dstate[0], exactly(columns[..., : w - 1]))
    before = np.zeros((*x.shape[:-1], w - 1)) if state is None else state
    seen = np.concatenate([before, x], axis=-1)[..., t : t + w]
    assert_equal(dweight, np.sum(exactly(np.reshape(seen, (-1, *weight.shape))), axis=0))  # type: ignore[call-overload]


@invariant("B", source=SOURCE, cost=2)
def test_any_cut(causal_conv1d_vjp: Operation, draw: Draw) -> None:
    """The gradients of the later tokens, then those of the earlier ones with the state's gradient as the cotangent of the state
    that they return, are those of all tokens at once."""
    (x, weight, bias, state), keywords = draw_inputs(draw, *accepted(causal_conv1d_vjp, "bias", "state"))
    n, past = x.shape[-1], weight.shape[-1] - 1
    cut = draw.integer(0, n)
    within_domain(draw, n=cut)
    within_domain(draw, n=n - cut)
    c, g = draw.grid(x.shape), draw.grid((*x.shape[:-1], past))
    before = np.zeros((*x.shape[:-1], past)) if state is None else state
    handed_on = np.concatenate([before, x[..., :cut]], axis=-1)[..., cut:]
    later = causal_conv1d_vjp((c[..., cut:], g), x[..., cut:], weight, bias, handed_on, **keywords, wrt=("x", "state"))
    dx, dstate = later
    earlier = causal_conv1d_vjp((c[..., :cut], dstate), x[..., :cut], weight, bias, state, **keywords, wrt="x")
    whole = causal_conv1d_vjp((c, g), x, weight, bias, state, **keywords, wrt="x")
    assert_equal(whole, np.concatenate([earlier, dx], axis=-1))


@invariant("B", source=SOURCE, needs=("keyword:cu_seqlens",), cost=2)
def test_packed_is_one_by_one(causal_conv1d_vjp: Operation, draw: Draw) -> None:
    """The gradients of sequences that lie one behind the other are those of each in a call of its own; the taps and the bias get
    the sum."""
    (x, weight, bias, state, ends), keywords = draw_packed(draw)
    c, g = draw.grid(x.shape), draw.grid((len(ends) - 1, len(x), weight.shape[-1] - 1))
    names = given_names(("x", x), ("weight", weight), ("bias", bias), ("state", state))
    packed = dict(zip(names, causal_conv1d_vjp((c, g), x, weight, bias, state, ends, **keywords, wrt=names), strict=True))
    found = []
    for i, (start, stop) in enumerate(pairwise(ends)):
        within_domain(draw, n=int(stop - start))
        own, cotangents = None if state is None else state[i], (c[:, start:stop], g[i])
        alone = causal_conv1d_vjp(cotangents, x[:, start:stop], weight, bias, own, **keywords, wrt=names)
        found.append(dict(zip(names, alone, strict=True)))
        assert_equal(packed["x"][:, start:stop], found[i]["x"])
        if state is not None:
            assert_equal(packed["state"][i], found[i]["state"])
    for name in ("weight", "bias"):
        if name in packed:
            each: Any = [one[name] for one in found]
            assert_equal(packed[name], np.sum(np.stack(each, axis=0), axis=0))
