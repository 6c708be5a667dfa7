"""What must hold of mamba2_scan."""

from typing import Any

import numpy as np

from reference_numpy._marks import logistic
from reference_numpy._softplus import softplus
from reference_numpy._steps import UNLIMITED
from reference_numpy.linear_attention import linear_attention

from .calls.operation import Operation
from .helpers.assertions import assert_all_zero, assert_equal, assert_finite, assert_unmoved, exactly
from .inputs.draw import Draw, within_domain
from .operations.mamba2_scan import (
    LIMITS,
    MOST_DECAY,
    OPTIONAL,
    SOME,
    Scan,
    draw_call,
    draw_options,
    draw_scan,
    plain,
)
from .trials.invariant import invariant

SOURCE = "Dao and Gu 2024, eq. 16; mamba_chunk_scan_combined"
LIMITED = ("keyword:dt_limit",)


def numbers(x: Any) -> Any:
    """Return an array as numbers without an error."""
    return exactly(x)


def column(x: Any) -> Any:
    """Return one number for each head, to be multiplied with the tokens and channels of that head."""
    return np.reshape(numbers(x), (-1, 1, 1))


@invariant("B", source="Dao and Gu 2024, section 3; eq. 16")
def test_is_linear_attention(mamba2_scan: Operation, draw: Draw) -> None:
    """With given steps s, out and state are those of linear attention with the queries c, the keys b, the values s x, the decays
    s a and the scale 1; d x is added to its out, and its state is the transpose."""
    keywords = plain(draw)
    given = draw_scan(draw, keywords, *draw.variants("d", "state"))
    steps = np.expand_dims(numbers(given.dt), axis=-1)
    q, k = (numbers(given.heads_of(x)) for x in (given.c, given.b))
    start = None if given.state is None else np.swapaxes(numbers(given.state), -1, -2)
    out, state = linear_attention(q, k, steps * given.x, steps * column(given.a), None, start, scale=1.0)
    found = mamba2_scan(*given, **keywords).parts
    assert_equal(found["out"], out if given.d is None else out + column(given.d) * given.x)
    assert_equal(found["state"], np.swapaxes(state, -1, -2))


@invariant("B", source=SOURCE)
def test_nothing_looks_ahead(mamba2_scan: Operation, draw: Draw) -> None:
    """Other finite tokens from t on, however large their values, change no out before t."""
    given, keywords = draw_call(draw, *OPTIONAL, tokens=SOME)
    n = given.x.shape[-2]
    t = draw.integer(1, 300) % n
    later = np.arange(n)[:, None] >= t
    values = draw.held(draw.rng.uniform(-1, 1, given.x.shape) * draw.one_of((1.0, 300.0, 1e4)))
    others = given._replace(
        x=np.where(later, values, given.x),
        dt=np.where(later[:, 0], draw.held(0.5 * given.dt), given.dt),
        b=np.where(later, -given.b, given.b),
        c=np.where(later, given.c[..., ::-1, :], given.c),
    )
    before, after = (mamba2_scan(*x, **keywords).parts["out"] for x in (given, others))
    assert_unmoved(after, before, (..., slice(0, t), slice(None)))


@invariant("B", source=SOURCE)
def test_inputs_and_states_add_up(mamba2_scan: Operation, draw: Draw) -> None:
    """With the same steps, b, c, d and z, the sum of two calls' inputs, with the sum of their states, gives the sum of their outs
    and of their states."""
    given, keywords = draw_call(draw, *OPTIONAL)
    (x, y), states = (draw.grid(given.x.shape) for _ in "ab"), list[Any]([None] * 3)
    if given.state is not None:
        s, r = (draw.grid(given.state.shape) for _ in "ab")
        states = [s, r, s + r]
    calls = zip((x, y, x + y), states, strict=True)
    one, other, both = (mamba2_scan(*given._replace(x=v, state=s), **keywords).parts for v, s in calls)
    for name in ("out", "state"):
        assert_equal(both[name], one[name] + other[name])


@invariant("B", source=SOURCE, needs=("keyword:d",))
def test_skip(mamba2_scan: Operation, draw: Draw) -> None:
    """d adds d x to what is read from the state, before the gate, and does nothing to the state."""
    keywords = draw_options(draw)
    given = draw_scan(draw, keywords, "d", *draw.variants("z", "dt_bias", "state"))
    one, other = (mamba2_scan(*given._replace(d=d), **keywords).parts for d in (given.d, None))
    added: Any = column(given.d) * given.x
    if given.z is not None:
        z = numbers(given.z)
        added = added * (z * logistic(z))
    assert_equal(one["out"], other["out"] + added)
    assert_equal(one["state"], other["state"])


@invariant("B", source=SOURCE, needs=("keyword:z",), dtypes=("float64", "float32"))
def test_gate(mamba2_scan: Operation, draw: Draw) -> None:
    """z multiplies out by silu(z), and does nothing to the state."""
    keywords = draw_options(draw)
    given = draw_scan(draw, keywords, "z", *draw.variants("d", "dt_bias", "state"))
    one, other = (mamba2_scan(*given._replace(z=z), **keywords).parts for z in (given.z, None))
    z = numbers(given.z)
    assert_equal(one["out"], other["out"] * (z * logistic(z)))
    assert_equal(one["state"], other["state"])


@invariant("E", source=SOURCE, needs=("keyword:z",))
def test_closed_gate(mamba2_scan: Operation, draw: Draw) -> None:
    """z = 0 gives exactly 0."""
    keywords = draw_options(draw)
    given = draw_scan(draw, keywords, "z", *draw.variants("d", "dt_bias", "state"))
    assert_all_zero(mamba2_scan(*given._replace(z=np.zeros(given.x.shape)), **keywords).parts["out"])


@invariant("B", source=SOURCE, needs=("keyword:dt_softplus", "keyword:state"))
def test_steps_of_zero(mamba2_scan: Operation, draw: Draw) -> None:
    """Where softplus is 0, time stands still: the state passes as it is, and each token reads it with its c."""
    keywords = draw.only("dt_softplus", True) | draw.only("dt_limit", UNLIMITED)
    given = draw_scan(draw, keywords, "state", *draw.variants("dt_bias"), tokens=SOME)
    given = given._replace(dt=np.full(given.dt.shape, -1000.0))
    out, state = mamba2_scan(*given, **keywords)
    start = numbers(given.state)
    assert_equal(state, start)
    assert_equal(out, np.matmul(numbers(given.heads_of(given.c)), np.swapaxes(start, -1, -2)))


@invariant("B", source=SOURCE, needs=("keyword:dt_bias",))
def test_bias_is_added(mamba2_scan: Operation, draw: Draw) -> None:
    """dt_bias gives what dt gives to which it is added, where that is exact."""
    given, keywords = draw_call(draw, "d", "z", "state")
    dt, bias = 2 + 0.25 * draw.rng.integers(0, 8, given.dt.shape), 0.25 * draw.rng.integers(-7, 4, given.a.shape)
    rates = np.maximum(given.a, -8.0)
    one = mamba2_scan(*given._replace(dt=dt, a=rates, dt_bias=bias), **keywords).parts
    other = mamba2_scan(*given._replace(dt=dt + bias[:, None], a=rates), **keywords).parts
    for name in ("out", "state"):
        assert_equal(one[name], other[name])


@invariant("B", source=SOURCE, needs=("keyword:dt_softplus",))
def test_one_step(mamba2_scan: Operation, draw: Draw) -> None:
    """A single step from no state, at dt + dt_bias = y, leaves softplus(y) x bᵀ."""
    keywords = draw.only("dt_softplus", True) | draw.only("dt_limit", UNLIMITED)
    within_domain(draw, n=1)
    given = draw_scan(draw, keywords, *draw.variants("dt_bias", "d", "z"), tokens=(1,))
    y = numbers(given.dt) if given.dt_bias is None else numbers(given.dt) + numbers(given.dt_bias)[:, None]
    steps = np.expand_dims(np.expand_dims(softplus(y)[..., 0], axis=-1), axis=-1)
    x, b = numbers(given.x), numbers(given.heads_of(given.b))
    assert_equal(mamba2_scan(*given, **keywords).parts["state"], steps * (np.swapaxes(x, -1, -2) * b))


@invariant("B", source=SOURCE, needs=LIMITED)
def test_limits_hold_after_softplus(mamba2_scan: Operation, draw: Draw) -> None:
    """Steps beyond a limit, taken behind softplus if that is applied, are the limit itself."""
    keywords = draw.keyword("dt_softplus", (True, False)) | draw.only("dt_limit", *LIMITS[3:])
    given = draw_scan(draw, keywords, *draw.variants(*OPTIONAL))
    lowest, highest = keywords["dt_limit"]
    beyond = given.dt > np.median(given.dt) if given.dt.size else np.zeros(given.dt.shape, bool)
    given = given._replace(dt=np.where(beyond, 100.0, -100.0), a=np.maximum(given.a, -MOST_DECAY / highest))
    steps = np.where(beyond, highest, lowest)
    other = mamba2_scan(*given, **keywords).parts
    alike = given._replace(dt=steps, dt_bias=None)
    direct = {**keywords, **draw.only("dt_softplus", False), **draw.only("dt_limit", UNLIMITED, keywords["dt_limit"])}
    one = mamba2_scan(*alike, **direct).parts
    for name in ("out", "state"):
        assert_equal(other[name], one[name])


@invariant("B", source=SOURCE)
def test_forgotten(mamba2_scan: Operation, draw: Draw) -> None:
    """Where tokens decay the state to nothing, other inputs and another state before them leave the outs from them on as they
    were."""
    keywords = plain(draw)
    given = draw_scan(draw, keywords, *draw.variants("d", "z", "state"), tokens=SOME)
    n, strong = given.x.shape[-2], 4 if mamba2_scan.dtype == "float64" else 1
    t = draw.integer(1, 300) % n
    begin, places = t + strong - 1, np.arange(n)
    dt = np.where((places >= t) & (places <= begin), 1.0, draw.held(draw.rng.uniform(0.001, 0.01, given.dt.shape)))
    given = given._replace(dt=dt, a=np.full(given.a.shape, -200.0))
    earlier = places[:, None] < t
    state = given.state if given.state is None else -given.state
    x, b = (np.where(earlier, -2 * v, v) for v in (given.x, given.b))
    before, after = (mamba2_scan(*v, **keywords).parts for v in (given, given._replace(x=x, b=b, state=state)))
    if begin < n:
        assert_unmoved(after["out"], before["out"], (..., slice(begin, n), slice(None)))
        assert_unmoved(after["state"], before["state"])


@invariant("F", source="sums of logarithms of decays below -88, whose exponential is 0 in float32")
def test_strong_decays(mamba2_scan: Operation, draw: Draw) -> None:
    """Decays whose product is 0 in every format give finite outs and a finite state."""
    keywords = plain(draw)
    given = draw_scan(draw, keywords, *draw.variants("d", "state"), tokens=SOME)
    given = given._replace(dt=draw.rng.choice((8.0, 1.0, 0.0625, 4.0), given.dt.shape), a=np.full(given.a.shape, -24.0))
    for x in mamba2_scan(*given, **keywords).parts.values():
        assert_finite(x)


@invariant("F", source="the exponential of a large dt overflows", needs=("keyword:dt_softplus",), dtypes=("float32", "bfloat16"))
def test_large_arguments(mamba2_scan: Operation, draw: Draw) -> None:
    """Softplus of 100 and of −100 is finite."""
    keywords = draw.only("dt_softplus", True) | draw.only("dt_limit", UNLIMITED)
    given = draw_scan(draw, keywords, tokens=SOME)
    dt = draw.rng.choice((100.0, -100.0, 90.0, 0.0), given.dt.shape)
    for x in mamba2_scan(*given._replace(dt=dt, a=np.full(given.a.shape, -1.5)), **keywords).parts.values():
        assert_finite(x)


@invariant("B", source=SOURCE)
def test_channels_of_the_state_in_another_order(mamba2_scan: Operation, draw: Draw) -> None:
    """The channels of b, c and the state in another order give the same outs, and the state in that order."""
    given, keywords = draw_call(draw, *OPTIONAL)
    order = draw.rng.permutation(given.b.shape[-1])
    state = given.state if given.state is None else given.state[..., order]
    others = given._replace(b=given.b[..., order], c=given.c[..., order], state=state)
    one, other = (mamba2_scan(*x, **keywords).parts for x in (given, others))
    assert_equal(other["out"], one["out"])
    assert_equal(other["state"], one["state"][..., order])


@invariant("B", source=SOURCE)
def test_channels_are_separate(mamba2_scan: Operation, draw: Draw) -> None:
    """Other inputs, and another state, in the other channels of x leave a channel as it was."""
    given, keywords = draw_call(draw, *OPTIONAL)
    p = given.x.shape[-1]
    i = draw.integer(0, p - 1)
    own = np.arange(p) == i
    state = given.state if given.state is None else np.where(own[:, None], given.state, -2 * given.state)
    others = given._replace(x=np.where(own, given.x, draw.held(3 - 2 * given.x)), state=state)
    one, other = (mamba2_scan(*x, **keywords).parts for x in (given, others))
    assert_unmoved(other["out"], one["out"], (..., slice(i, i + 1)))
    assert_unmoved(other["state"], one["state"], (..., slice(i, i + 1), slice(None)))


@invariant("B", source=SOURCE)
def test_heads_are_separate(mamba2_scan: Operation, draw: Draw) -> None:
    """Head i gives what it gives alone with group i // (h / g) of b and c, with its own steps, rates, d, z, bias and state."""
    within_domain(draw, h=1, g=1)
    given, keywords = draw_call(draw, *OPTIONAL, grouped=draw.one_of((True, True, False)))
    h, g = given.x.shape[-3], given.b.shape[-3]
    i = draw.integer(0, h - 1)
    j = i // (h // g)
    own, of_group = slice(i, i + 1), slice(j, j + 1)
    a, d, bias = (None if x is None else x[own] for x in (given.a, given.d, given.dt_bias))
    x, z, state = (None if v is None else v[..., own, :, :] for v in (given.x, given.z, given.state))
    b, c = (v[..., of_group, :, :] for v in (given.b, given.c))
    alone = mamba2_scan(*Scan(x, given.dt[..., own, :], a, b, c, d, z, bias, state), **keywords).parts  # type: ignore[arg-type]
    together = mamba2_scan(*given, **keywords).parts
    for name in ("out", "state"):
        assert_equal(together[name][..., own, :, :], alone[name])
