"""What must hold of linear_attention."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_finite, assert_unmoved, exactly
from .helpers.conventions import assert_convention
from .inputs.draw import Draw, within_domain
from .operations.linear_attention import (
    OPTIONAL,
    SOME,
    Attention,
    draw_attention,
    draw_call,
    draw_lengthy,
    draw_options,
    heads_of,
    plain,
    wide,
)
from .trials.invariant import invariant

SOURCE = "Yang, Kautz and Hatamizadeh 2024, eq. 10; Yang et al. 2024; ONNX LinearAttention-27"


def scale_of(given: Attention, keywords: dict[str, Any]) -> float:
    """Return the scale of a call."""
    scale = keywords.get("scale")
    return float(1 / np.sqrt(given.q.shape[-1]) if scale is None else scale)


@invariant("B", source=SOURCE)
def test_nothing_looks_ahead(linear_attention: Operation, draw: Draw) -> None:
    """Other finite tokens from t on, however large their values, change no out before t."""
    given, keywords = draw_call(draw, *OPTIONAL, tokens=SOME)
    t = draw.integer(1, 300) % given.q.shape[-2]
    later = np.arange(given.q.shape[-2])[:, None] >= t
    values = draw.held(draw.rng.uniform(-1, 1, given.v.shape) * draw.one_of((1.0, 300.0, 1e4)))
    others = given._replace(
        q=np.where(later, given.q[..., ::-1, :], given.q),
        k=np.where(later, 0.5 * given.k, given.k),
        v=np.where(later, values, given.v),
        g=None if given.g is None else np.where(later, wide(draw, 0.5 * given.g), given.g),
    )
    before, after = (linear_attention(*x, **keywords).parts["out"] for x in (given, others))
    assert_unmoved(after, before, (..., slice(0, t), slice(None)))


@invariant("B", source=SOURCE)
def test_values_and_states_add_up(linear_attention: Operation, draw: Draw) -> None:
    """With the same queries, keys, decays and rates, the sum of two calls' values, with the sum of their states, gives the sum
    of their outs and of their states."""
    given, keywords = draw_call(draw, *OPTIONAL)
    (v, w), states = (draw.grid(given.v.shape) for _ in "ab"), list[Any]([None] * 3)
    if given.state is not None:
        s, r = (draw.grid(given.state.shape) for _ in "ab")
        states = [s, r, s + r]
    calls = zip((v, w, v + w), states, strict=True)
    one, other, both = (linear_attention(*given._replace(v=x, state=s), **keywords).parts for x, s in calls)
    for name in ("out", "state"):
        assert_equal(both[name], one[name] + other[name])


@invariant("B", source=SOURCE, needs=("keyword:scale",))
def test_scale_is_a_factor(linear_attention: Operation, draw: Draw) -> None:
    """The outs with a scale are its multiple of those with a scale of 1, and the state does not feel it."""
    given, keywords = draw_call(draw, *OPTIONAL)
    one, other = (linear_attention(*given, **{**keywords, "scale": scale}).parts for scale in (1.0, -0.75))
    assert_equal(other["out"], -0.75 * one["out"])
    assert_equal(other["state"], one["state"])


@invariant("B", source=SOURCE, needs=("keyword:beta", "keyword:state"))
def test_rate_of_zero(linear_attention: Operation, draw: Draw) -> None:
    """With beta = 0 nothing is written: out_t = scale (e^(g_1 + … + g_t) ⊙ S)ᵀ q_t."""
    keywords = plain(draw) | draw.keyword("scale", (None, 1.0, -0.3))
    given = draw_attention(draw, "beta", "state", *draw.variants("g"), tokens=SOME)
    given = given._replace(beta=0 * np.asarray(given.beta))
    out, state = linear_attention(*given, **keywords)
    decays = np.zeros((*given.v.shape[:-1], 1)) if given.g is None else np.cumsum(given.g, axis=-2)
    kept = np.exp(decays)[..., None] * np.asarray(given.state)[..., None, :, :]
    read = np.matmul(heads_of(given.q, given)[..., None, :], kept)[..., 0, :]
    assert_equal(out, scale_of(given, keywords) * read)
    assert_equal(state, kept[..., -1, :, :])


@invariant("B", source=SOURCE, needs=("keyword:g",))
def test_decay_of_one(linear_attention: Operation, draw: Draw) -> None:
    """g = 0 gives what no g gives."""
    keywords = draw_options(draw)
    normalized = keywords.get("qk_l2norm", False)
    given = draw_attention(draw, "g", *draw.variants("beta", "state"), normalized=normalized)
    zeros = 0 * np.asarray(given.g)
    one, other = (linear_attention(*given._replace(g=g), **keywords).parts for g in (zeros, None))
    for name in ("out", "state"):
        assert_equal(one[name], other[name])


@invariant("B", source=SOURCE, needs=("keyword:g",))
def test_equal_channels(linear_attention: Operation, draw: Draw) -> None:
    """One decay for each channel, all equal, gives what one for the head gives."""
    keywords = draw_options(draw)
    normalized = keywords.get("qk_l2norm", False)
    given = draw_attention(draw, "g", *draw.variants("beta", "state"), by_head=True, normalized=normalized)
    within_domain(draw, d_g=given.k.shape[-1])
    each = np.repeat(np.asarray(given.g), given.k.shape[-1], axis=-1)
    one, other = (linear_attention(*given._replace(g=g), **keywords).parts for g in (given.g, each))
    for name in ("out", "state"):
        assert_equal(other[name], one[name])


@invariant("B", source="Yang et al. 2024 (GLA), eq. 4; Sun et al. 2023 (RetNet), eq. 5")
def test_parallel_form(linear_attention: Operation, draw: Draw) -> None:
    """Without beta and a state, out = (scale Q Kᵀ ⊙ D) V with D_ij = e^(g_(j+1) + … + g_i) for j ≤ i, else 0."""
    keywords = plain(draw) | draw.keyword("scale", (None, None, -0.3))
    given = draw_attention(draw, *draw.variants("g"), by_head=True)
    n = given.q.shape[-2]
    g = np.zeros((*given.v.shape[:-1], 1)) if given.g is None else given.g
    mask = np.tril(np.ones((n, n), bool))
    # each row sums its own decays, so that nothing cancels
    behind = np.where(np.tril(np.ones((n, n), bool), -1).T[None], g[..., 0][..., None, :], 0.0)  # [j, s]: g_s for s > j
    decays = np.swapaxes(np.cumsum(behind, axis=-1), -1, -2)  # [i, j]
    q, k = (heads_of(x, given) for x in (given.q, given.k))
    scores = scale_of(given, keywords) * np.matmul(q, np.swapaxes(k, -1, -2)) * np.where(mask, np.exp(decays), 0.0)
    assert_equal(linear_attention(*given, **keywords).parts["out"], np.matmul(scores, given.v))


@invariant("B", source="Schlag et al. 2021, section 4.2", needs=("keyword:beta",))
def test_recall(linear_attention: Operation, draw: Draw) -> None:
    """Orthonormal keys at beta = 1, without decays, are each read as the value that was written with it last, and any other key
    as 0."""
    keywords = plain(draw)
    given = draw_attention(draw, "beta", tokens=SOME)
    n, d_k = given.k.shape[-2:]
    place = draw.rng.integers(0, d_k, (*given.k.shape[:-1], 1))
    keys = np.where(np.arange(d_k) == place, draw.rng.choice((1.0, -1.0), given.k.shape), 0.0)
    given = given._replace(k=keys, beta=1 + 0 * np.asarray(given.beta))
    state = linear_attention(*given, **keywords).parts["state"]
    expected = np.zeros(state.shape)
    for t in range(n):
        key = heads_of(keys[..., t : t + 1, :], given)[..., 0, :, None]
        expected = np.where(key != 0, key * given.v[..., t, None, :], expected)
    assert_equal(state, expected)


@invariant("B", source="Grazzi et al. 2024, section 4", needs=("keyword:beta", "keyword:state"), dtypes=("float64", "float32"))
def test_reflection(linear_attention: Operation, draw: Draw) -> None:
    """At beta = 2 a key of length 1 reflects what is read with it: it is read as 2 v minus what it was read as before."""
    keywords = plain(draw)
    within_domain(draw, n=1)
    given = draw_attention(draw, "beta", "state", tokens=(1,))
    d_k = given.k.shape[-1]
    root = np.sqrt(d_k)
    signs = draw.rng.choice((1.0, -1.0), given.k.shape)
    place = np.arange(d_k) == draw.rng.integers(0, d_k, (*given.k.shape[:-1], 1))
    keys = signs / root if root == int(root) else np.where(place, signs, 0.0)
    given = given._replace(k=keys, beta=2 + 0 * np.asarray(given.beta))
    state = linear_attention(*given, **keywords).parts["state"]
    key = heads_of(keys, given)
    assert_equal(exactly(key) @ state, 2 * given.v - np.matmul(key, np.asarray(given.state)))


@invariant("B", source=SOURCE, needs=("keyword:g",))
def test_erased(linear_attention: Operation, draw: Draw) -> None:
    """Where a token's decay is e^-200, other queries, keys, values, rates and another state before it leave the outs from it on
    as they were. In float64, where this is above the smallest number, it is the decay of four tokens."""
    keywords = draw_options(draw)
    normalized = keywords.get("qk_l2norm", False)
    given = draw_attention(draw, "g", *draw.variants("beta", "state"), tokens=SOME, normalized=normalized)
    n = given.q.shape[-2]
    t = draw.integer(1, 300) % n
    strong = 4 if linear_attention.dtype == "float64" else 1
    earlier, begin = np.arange(n)[:, None] < t, t + strong - 1
    g = np.array(given.g)
    g[..., t : begin + 1, :] = -200.0
    keys = np.where(earlier, np.roll(given.k, 1, axis=-1), given.k)  # of the same lengths
    beta = given.beta if given.beta is None else np.where(earlier[:, 0], 0.5 * given.beta, given.beta)
    state = given.state if given.state is None else -given.state
    others = Attention(np.where(earlier, -given.q, given.q), keys, np.where(earlier, -2 * given.v, given.v), g, beta, state)
    before, after = (linear_attention(*x, **keywords).parts for x in (given._replace(g=g), others))
    if begin < n:
        assert_unmoved(after["out"], before["out"], (..., slice(begin, n), slice(None)))
        assert_unmoved(after["state"], before["state"])


@invariant("B", level="limits", source=SOURCE, needs=("keyword:g",))
def test_infinite_decay(linear_attention: Operation, draw: Draw) -> None:
    """A token whose g is −∞ in all channels forgets all before it: the outs from it on, and the state, are those of a call that
    begins with it and has no state."""
    keywords = draw_options(draw)
    normalized = keywords.get("qk_l2norm", False)
    within_domain(draw, n=1)
    given = draw_attention(draw, "g", *draw.variants("beta", "state"), tokens=SOME, normalized=normalized)
    t = draw.integer(1, 300) % given.q.shape[-2]
    g, later = np.array(given.g), slice(t, None)
    g[..., t, :] = -np.inf
    whole = linear_attention(*given._replace(g=g), **keywords).parts
    begun = linear_attention(*given.taken(later)._replace(state=None), **keywords).parts
    assert_equal(whole["out"][..., later, :], begun["out"])
    assert_equal(whole["state"], begun["state"])


@invariant("F", source="sums of logarithms of decays below -88, whose exponential is 0 in float32", needs=("keyword:g",))
def test_strong_decays(linear_attention: Operation, draw: Draw) -> None:
    """Decays whose product is 0 in every format give finite outs and a finite state."""
    keywords = draw_options(draw)
    normalized = keywords.get("qk_l2norm", False)
    given = draw_attention(draw, "g", *draw.variants("beta", "state"), tokens=SOME, normalized=normalized)
    g = wide(draw, -draw.rng.choice((200.0, 20.0, 1.0, 90.0), np.asarray(given.g).shape))
    for x in linear_attention(*given._replace(g=g), **keywords).parts.values():
        assert_finite(x)


@invariant("B", source="l2norm of flash-linear-attention", needs=("keyword:qk_l2norm",))
def test_lengths_do_not_count(linear_attention: Operation, draw: Draw) -> None:
    """With qk_l2norm, queries and keys that are longer by powers of two give the same, where 1e-6 is nothing beside their
    squares."""
    keywords = draw.only("qk_l2norm", True)
    given = draw_lengthy(draw, draw_attention(draw, *draw.variants("g", "beta", "state"), normalized=True))
    q, k = given.q, given.k
    longer = 2.0 ** draw.rng.integers(0, 3, (*q.shape[:-1], 1))
    one, other = (linear_attention(*given._replace(q=q * f, k=k * f), **keywords).parts for f in (1.0, longer))
    for name in ("out", "state"):
        assert_equal(other[name], one[name])


@invariant("E", source="where the eps of a normalization by lengths stands", needs=("keyword:qk_l2norm",))
def test_l2_epsilon(linear_attention: Operation, draw: Draw) -> None:
    """With qk_l2norm, queries and keys whose lengths are near 1e-6 or its root are divided as the convention l2_epsilon says."""
    assert_convention(linear_attention, draw, "l2_epsilon")


@invariant("B", source=SOURCE)
def test_channels_in_another_order(linear_attention: Operation, draw: Draw) -> None:
    """The channels of queries, keys, decays and the state in another order give the same outs, and the state in that order."""
    given, keywords = draw_call(draw, *OPTIONAL, by_head=draw.one_of((False, False, None)))
    order = draw.rng.permutation(given.k.shape[-1])
    g = given.g if given.g is None or given.g.shape[-1] == 1 else given.g[..., order]
    state = given.state if given.state is None else given.state[..., order, :]
    others = given._replace(q=given.q[..., order], k=given.k[..., order], g=g, state=state)
    one, other = (linear_attention(*x, **keywords).parts for x in (given, others))
    assert_equal(other["out"], one["out"])
    assert_equal(other["state"], one["state"][..., order, :])


@invariant("B", source=SOURCE)
def test_value_channels_are_separate(linear_attention: Operation, draw: Draw) -> None:
    """Other values, and another state, in the other channels of the values leave a channel as it was."""
    given, keywords = draw_call(draw, *OPTIONAL)
    d_v = given.v.shape[-1]
    i = draw.integer(0, d_v - 1)
    own = np.arange(d_v) == i
    state = given.state if given.state is None else np.where(own, given.state, -2 * given.state)
    others = given._replace(v=np.where(own, given.v, draw.held(3 - 2 * given.v)), state=state)
    one, other = (linear_attention(*x, **keywords).parts for x in (given, others))
    for name in ("out", "state"):
        assert_unmoved(other[name], one[name], (..., slice(i, i + 1)))


@invariant("B", source="Qwen3-Next; ONNX LinearAttention-27")
def test_heads_are_separate(linear_attention: Operation, draw: Draw) -> None:
    """A value head i gives what it gives alone with the queries and keys of head i // (h / h_k), with its own decays, rates and
    state."""
    within_domain(draw, h=1, h_k=1)
    given, keywords = draw_call(draw, *OPTIONAL, grouped=draw.one_of((True, True, False)))
    h, h_k = given.v.shape[-3], given.k.shape[-3]
    i = draw.integer(0, h - 1)
    j = i // (h // h_k)
    g, state = (x if x is None else x[..., i : i + 1, :, :] for x in (given.g, given.state))
    beta = given.beta if given.beta is None else given.beta[..., i : i + 1, :]
    q, k = (x[..., j : j + 1, :, :] for x in (given.q, given.k))
    alone = linear_attention(q, k, given.v[..., i : i + 1, :, :], g, beta, state, **keywords).parts
    together = linear_attention(*given, **keywords).parts
    for name in ("out", "state"):
        assert_equal(together[name][..., i : i + 1, :, :], alone[name])
