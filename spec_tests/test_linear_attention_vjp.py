"""What must hold of the gradient of linear_attention."""

from itertools import pairwise
from typing import Any

import numpy as np

from reference_numpy.linear_attention import linear_attention as equation

from .calls.operation import Operation
from .helpers.assertions import assert_all_zero, assert_equal, assert_finite, exactly
from .helpers.keywords import accepted
from .inputs.draw import Draw, within_domain
from .operations.linear_attention import (
    OPTIONAL,
    SOME,
    Attention,
    draw_attention,
    draw_call,
    draw_lengthy,
    draw_options,
    draw_packed,
    heads_of,
    plain,
    wide,
)
from .trials.invariant import invariant

SOURCE = "Differentiation of Yang, Kautz and Hatamizadeh 2024, eq. 10"


def gradients(vjp: Operation, cotangent: Any, given: Attention, keywords: dict[str, Any]) -> dict[str, Any]:
    """Return the gradients of all arrays that are given, by their names."""
    names = tuple(name for name, x in given._asdict().items() if x is not None)
    return dict(zip(names, vjp(cotangent, *given, **keywords, wrt=names), strict=True))


def cotangents(draw: Draw, given: Attention) -> tuple[np.ndarray, np.ndarray]:
    """Draw cotangents of out and of the new state."""
    return draw.grid(given.v.shape), draw.grid((*given.v.shape[:-2], given.k.shape[-1], given.v.shape[-1]))


@invariant("B", source=SOURCE, needs=("keyword:beta", "keyword:state"), cost=2)
def test_state_alone(linear_attention_vjp: Operation, draw: Draw) -> None:
    """A cotangent of the new state alone comes back to the given one times e^(g_1 + … + g_n) where beta = 0, and queries get
    exactly 0."""
    given = draw_attention(draw, "beta", "state", *draw.variants("g"), tokens=SOME)
    given = given._replace(beta=0 * np.asarray(given.beta))
    _, c = cotangents(draw, given)
    found = gradients(linear_attention_vjp, (None, c), given, plain(draw))
    total = np.zeros((*given.v.shape[:-2], 1)) if given.g is None else np.sum(given.g, axis=-2)
    assert_equal(found["state"], np.exp(total)[..., None] * c)
    assert_all_zero(found["q"])


@invariant("B", source=SOURCE, cost=2)
def test_last_token(linear_attention_vjp: Operation, draw: Draw) -> None:
    """With the cotangents c of out and L of the new state, the last token's values get beta (L + scale q cᵀ)ᵀ k."""
    keywords = plain(draw) | draw.keyword("scale", (None, 1.0, -0.3))
    given = draw_attention(draw, *draw.variants(*OPTIONAL), tokens=SOME)
    c, of_state = cotangents(draw, given)
    found = gradients(linear_attention_vjp, (c, of_state), given, keywords)
    q, k = (heads_of(x, given)[..., -1, :, None] for x in (given.q, given.k))
    scale = keywords.get("scale")
    scale = 1 / np.sqrt(q.shape[-2]) if scale is None else scale
    rate = 1.0 if given.beta is None else given.beta[..., -1, None]
    expected = rate * np.sum((of_state + scale * q * c[..., -1, None, :]) * k, axis=-2)
    assert_equal(found["v"][..., -1, :], expected)


@invariant("B", source=SOURCE, cost=2)
def test_queries_and_values(linear_attention_vjp: Operation, draw: Draw) -> None:
    """out is linear in the queries, and in the values and the state together: for a cotangent of out the products of the queries
    with their gradients have the sum of those of the values and the state with theirs."""
    keywords = plain(draw) | draw.keyword("scale", (None, 1.0, -0.3))
    given = draw_attention(draw, *draw.variants(*OPTIONAL), tokens=SOME)
    c, _ = cotangents(draw, given)
    found = gradients(linear_attention_vjp, (c, None), given, keywords)

    def total(name: str) -> Any:
        products = exactly(getattr(given, name)) * found[name]
        return np.sum(np.reshape(products, (-1,)), axis=0)

    assert_equal(total("q"), total("v") if given.state is None else total("v") + total("state"))


@invariant("B", source=SOURCE, needs=("keyword:state",), cost=2)
def test_any_cut(linear_attention_vjp: Operation, draw: Draw) -> None:
    """The gradients of the later tokens, then those of the earlier ones with the state's gradient as the cotangent of the state
    that they return, are those of all tokens at once."""
    given, keywords = draw_call(draw, *OPTIONAL, tokens=SOME)
    n = given.q.shape[-2]
    cut = draw.integer(1, 300) % n
    for size in (cut, n - cut):
        within_domain(draw, n=size)
    first, second = given.taken(slice(0, cut)), given.taken(slice(cut, n))
    handed_on = equation(*first, **keywords)[1]
    c, of_state = cotangents(draw, given)
    whole = gradients(linear_attention_vjp, (c, of_state), given, keywords)
    later = gradients(linear_attention_vjp, (c[..., cut:, :], of_state), second._replace(state=handed_on), keywords)
    first = first if cut or given.state is not None else first._replace(state=0 * of_state)  # that something depends on it
    earlier = gradients(linear_attention_vjp, (c[..., :cut, :], later["state"]), first, keywords)
    for name in ("q", "k", "v"):
        assert_equal(whole[name], np.concatenate([earlier[name], later[name]], axis=-2))


@invariant("B", source=SOURCE, needs=("keyword:cu_seqlens",), cost=2)
def test_packed_is_one_by_one(linear_attention_vjp: Operation, draw: Draw) -> None:
    """The gradients of sequences that lie one behind the other are those of each in a call of its own."""
    given, keywords = draw_packed(draw)
    ends = np.asarray(given.cu_seqlens)
    c, of_states = draw.grid(given.v.shape), draw.grid((len(ends) - 1, given.v.shape[-3], given.k.shape[-1], given.v.shape[-1]))
    names = [name for name, x in given._asdict().items() if x is not None and name != "cu_seqlens"]
    packed = linear_attention_vjp((c, of_states), *given, **keywords, wrt=tuple(names))
    for i, (start, stop) in enumerate(pairwise(ends)):
        within_domain(draw, n=int(stop - start))
        own = given.taken(slice(start, stop))._replace(state=None if given.state is None else given.state[i])
        if start == stop and own.state is None:
            continue  # nothing that was given is in its state
        alone = gradients(linear_attention_vjp, (c[..., start:stop, :], of_states[i]), own, keywords)
        for name, dx in zip(names, packed, strict=True):
            part = dx[i] if name == "state" else dx[..., start:stop] if name == "beta" else dx[..., start:stop, :]
            assert_equal(part, alone[name])


@invariant("E", source=SOURCE, cost=2)
def test_later_tokens_get_nothing(linear_attention_vjp: Operation, draw: Draw) -> None:
    """Where no out from t on has a cotangent, nor the new state, the queries, keys, values and rates from t on get exactly 0."""
    given, keywords = draw_call(draw, *OPTIONAL, tokens=SOME)
    n = given.q.shape[-2]
    t = draw.integer(1, 300) % n
    c = np.where(np.arange(n)[:, None] < t, cotangents(draw, given)[0], 0.0)
    found = gradients(linear_attention_vjp, (c, None), given, keywords)
    for name in ("q", "k", "v"):
        assert_all_zero(found[name], (..., slice(t, n), slice(None)))
    if "beta" in found:
        assert_all_zero(found["beta"], (..., slice(t, n)))


@invariant("F", source="sums of logarithms of decays below -88, whose exponential is 0 in float32", needs=("keyword:g",), cost=2)
def test_strong_decays(linear_attention_vjp: Operation, draw: Draw) -> None:
    """Decays whose product is 0 in every format have finite gradients, but for those beyond the largest number of the dtype."""
    keywords = draw_options(draw)
    normalized = keywords.get("qk_l2norm", False)
    given = draw_attention(draw, "g", *draw.variants("beta", "state"), tokens=SOME, normalized=normalized)
    g = wide(draw, -draw.rng.choice((200.0, 20.0, 1.0, 90.0), np.asarray(given.g).shape))
    found = gradients(linear_attention_vjp, cotangents(draw, given), given._replace(g=g), keywords)
    for x in found.values():
        assert_finite(x, unless_they_overflow=True)


@invariant("B", source="Qwen3-Next; ONNX LinearAttention-27", cost=2)
def test_shared_heads_get_the_sum(linear_attention_vjp: Operation, draw: Draw) -> None:
    """Queries and keys that several value heads read get the sum of what they get when each of these has its own."""
    keywords = draw_options(draw)
    normalized = keywords.get("qk_l2norm", False)
    used = draw.variants(*accepted(linear_attention_vjp, *OPTIONAL))
    given = draw_attention(draw, *used, tokens=SOME, grouped=draw.one_of((True, True, False)), normalized=normalized)
    (h, h_k), c = (x.shape[-3] for x in (given.v, given.k)), cotangents(draw, given)
    within_domain(draw, h_k=h)
    shared = gradients(linear_attention_vjp, c, given, keywords)
    own = given._replace(q=heads_of(given.q, given), k=heads_of(given.k, given))
    each = gradients(linear_attention_vjp, c, own, keywords)
    for name in ("q", "k"):
        x = each[name]
        groups = np.reshape(x, (*x.shape[:-3], h_k, h // h_k, *x.shape[-2:]))
        assert_equal(shared[name], np.sum(groups, axis=-3))


@invariant("B", source="l2norm of flash-linear-attention", needs=("keyword:qk_l2norm",), cost=2)
def test_lengths_do_not_count(linear_attention_vjp: Operation, draw: Draw) -> None:
    """With qk_l2norm the gradient of a query is orthogonal to it, and so is that of a key, where 1e-6 is nothing beside their
    squares."""
    keywords = draw.only("qk_l2norm", True)
    given = draw_lengthy(draw, draw_attention(draw, *draw.variants("g", "beta", "state"), tokens=SOME, normalized=True))
    found = gradients(linear_attention_vjp, cotangents(draw, given), given, keywords)
    for name, x in (("q", given.q), ("k", given.k)):
        assert_equal(np.sum(exactly(x) * found[name], axis=-1), np.zeros(x.shape[:-1]))
