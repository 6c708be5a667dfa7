"""What must hold of the gradient of mamba2_scan."""

from typing import Any

import numpy as np

from reference_numpy._marks import logistic
from reference_numpy._steps import UNLIMITED
from reference_numpy.mamba2_scan import mamba2_scan as equation

from .calls.operation import Operation
from .helpers.assertions import assert_all_zero, assert_equal, assert_finite, exactly
from .helpers.keywords import accepted
from .inputs.draw import Draw, within_domain
from .operations.mamba2_scan import LIMITS, OPTIONAL, SOME, Scan, draw_call, draw_options, draw_scan, plain, steps_of
from .trials.invariant import invariant

SOURCE = "Differentiation of Dao and Gu 2024, eq. 16"


def gradients(vjp: Operation, cotangent: Any, given: Scan, keywords: dict[str, Any]) -> dict[str, Any]:
    """Return the gradients of all arrays that are given, by their names."""
    names = tuple(name for name, x in given._asdict().items() if x is not None)
    return dict(zip(names, vjp(cotangent, *given, **keywords, wrt=names), strict=True))


def cotangents(draw: Draw, given: Scan) -> tuple[np.ndarray, np.ndarray]:
    """Draw cotangents of out and of the new state."""
    return draw.grid(given.x.shape), draw.grid((*given.x.shape[:-2], given.x.shape[-1], given.b.shape[-1]))


def sum_by_heads(x: Any, axes: int = 2) -> Any:
    """Return the sum over all axes but that of heads, behind which so many axes stand."""
    for _ in range(axes):
        x = np.sum(x, axis=-1)
    while x.ndim > 1:
        x = np.sum(x, axis=0)
    return x


@invariant("B", source=SOURCE, needs=("keyword:state",), cost=2)
def test_state_alone(mamba2_scan_vjp: Operation, draw: Draw) -> None:
    """A cotangent of the new state alone comes back to the given one times e^(a (s_1 + … + s_n)), and c, d and z get exactly
    0."""
    keywords = plain(draw)
    given = draw_scan(draw, keywords, "state", *draw.variants("d", "z"), tokens=SOME)
    _, of_state = cotangents(draw, given)
    found = gradients(mamba2_scan_vjp, (None, of_state), given, keywords)
    total = np.reshape(exactly(given.a) * np.sum(steps_of(given, keywords), axis=-1), (*given.dt.shape[:-1], 1, 1))
    assert_equal(found["state"], np.exp(total) * of_state)
    for name in ("c", "d", "z"):
        if name in found:
            assert_all_zero(found[name])


@invariant("B", source=SOURCE, cost=2)
def test_last_token(mamba2_scan_vjp: Operation, draw: Draw) -> None:
    """With the cotangents e of out and L of the new state, the last token's x gets s (L + e cᵀ) b + d e where there is no z."""
    keywords = plain(draw)
    given = draw_scan(draw, keywords, *draw.variants("d", "state"), tokens=SOME)
    e, of_state = cotangents(draw, given)
    found = gradients(mamba2_scan_vjp, (e, of_state), given, keywords)
    b, c = (given.heads_of(v)[..., -1, None, :] for v in (given.b, given.c))
    last, step = e[..., -1, :], exactly(given.dt[..., -1, None])
    expected: Any = step * np.sum((of_state + last[..., :, None] * c) * exactly(b), axis=-1)
    if given.d is not None:
        expected = expected + exactly(np.reshape(given.d, (-1, 1))) * last
    assert_equal(found["x"][..., -1, :], expected)


@invariant("B", source=SOURCE, cost=2)
def test_steps_rates_and_inputs(mamba2_scan_vjp: Operation, draw: Draw) -> None:
    """Without d, longer steps with slower rates and smaller inputs give the same: of each head, the products of the steps with
    their gradients have the sum of those of the rates and of the inputs with theirs."""
    keywords = plain(draw)
    given = draw_scan(draw, keywords, *draw.variants("z", "state"), tokens=SOME)
    found = gradients(mamba2_scan_vjp, cotangents(draw, given), given, keywords)
    of_steps = sum_by_heads(exactly(given.dt) * found["dt"], axes=1)
    assert_equal(of_steps, exactly(given.a) * found["a"] + sum_by_heads(exactly(given.x) * found["x"]))


@invariant("B", source=SOURCE, needs=("keyword:state",), cost=2)
def test_any_cut(mamba2_scan_vjp: Operation, draw: Draw) -> None:
    """The gradients of the later tokens, then those of the earlier ones with the state's gradient as the cotangent of the state
    that they return, are those of all tokens at once."""
    given, keywords = draw_call(draw, *OPTIONAL, tokens=SOME)
    n = given.x.shape[-2]
    cut = draw.integer(1, 300) % n
    for size in (cut, n - cut):
        within_domain(draw, n=size)
    first, second = given.taken(slice(0, cut)), given.taken(slice(cut, n))
    handed_on = equation(*first, **keywords)[1]
    e, of_state = cotangents(draw, given)
    whole = gradients(mamba2_scan_vjp, (e, of_state), given, keywords)
    later = gradients(mamba2_scan_vjp, (e[..., cut:, :], of_state), second._replace(state=handed_on), keywords)
    first = first if cut or given.state is not None else first._replace(state=0 * of_state)  # that something depends on it
    earlier = gradients(mamba2_scan_vjp, (e[..., :cut, :], later["state"]), first, keywords)
    for name, axis in (("x", -2), ("b", -2), ("c", -2), ("dt", -1)):
        assert_equal(whole[name], np.concatenate([earlier[name], later[name]], axis=axis))


@invariant("E", source=SOURCE, cost=2)
def test_later_tokens_get_nothing(mamba2_scan_vjp: Operation, draw: Draw) -> None:
    """Where no out from t on has a cotangent, nor the new state, the tokens from t on get exactly 0."""
    given, keywords = draw_call(draw, *OPTIONAL, tokens=SOME)
    n = given.x.shape[-2]
    t = draw.integer(1, 300) % n
    e = np.where(np.arange(n)[:, None] < t, cotangents(draw, given)[0], 0.0)
    found = gradients(mamba2_scan_vjp, (e, None), given, keywords)
    for name in ("x", "b", "c", "z"):
        if name in found:
            assert_all_zero(found[name], (..., slice(t, n), slice(None)))
    assert_all_zero(found["dt"], (..., slice(t, n)))


@invariant("F", source="sums of logarithms of decays below -88, whose exponential is 0 in float32", cost=2)
def test_strong_decays(mamba2_scan_vjp: Operation, draw: Draw) -> None:
    """Decays whose product is 0 in every format have finite gradients, but for those beyond the largest number of the dtype."""
    keywords = plain(draw)
    given = draw_scan(draw, keywords, *draw.variants("d", "state"), tokens=SOME)
    given = given._replace(dt=draw.rng.choice((8.0, 1.0, 0.0625, 4.0), given.dt.shape), a=np.full(given.a.shape, -24.0))
    for x in gradients(mamba2_scan_vjp, cotangents(draw, given), given, keywords).values():
        assert_finite(x, unless_they_overflow=True)


@invariant("B", source=SOURCE, cost=2)
def test_groups_get_the_sum(mamba2_scan_vjp: Operation, draw: Draw) -> None:
    """b and c that several heads read get the sum of what they get when each head has its own."""
    keywords = draw_options(draw)
    used = draw.variants(*accepted(mamba2_scan_vjp, *OPTIONAL))
    given = draw_scan(draw, keywords, *used, tokens=SOME, grouped=draw.one_of((True, True, False)))
    (h, g), e = (x.shape[-3] for x in (given.x, given.b)), cotangents(draw, given)
    within_domain(draw, g=h)
    shared = gradients(mamba2_scan_vjp, e, given, keywords)
    own = given._replace(b=given.heads_of(given.b), c=given.heads_of(given.c))
    each = gradients(mamba2_scan_vjp, e, own, keywords)
    for name in ("b", "c"):
        x = each[name]
        assert_equal(shared[name], np.sum(np.reshape(x, (*x.shape[:-3], g, h // g, *x.shape[-2:])), axis=-3))


@invariant("B", source=SOURCE, needs=("keyword:dt_bias",), cost=2)
def test_bias_gets_the_sum(mamba2_scan_vjp: Operation, draw: Draw) -> None:
    """dt_bias gets the sum over tokens and batch of what dt gets, where that is held exactly or nearly."""
    keywords = draw_options(draw)
    given = draw_scan(draw, keywords, "dt_bias", *draw.variants("d", "state"), tokens=SOME)
    found = gradients(mamba2_scan_vjp, cotangents(draw, given), given, keywords)
    assert_equal(found["dt_bias"], sum_by_heads(found["dt"], axes=1))


@invariant("B", source=SOURCE, needs=("keyword:d",), cost=2)
def test_skip_gets_products(mamba2_scan_vjp: Operation, draw: Draw) -> None:
    """d gets the sum over tokens and batch of x times the cotangent of out, times silu(z) where there is a z."""
    keywords = draw_options(draw)
    given = draw_scan(draw, keywords, "d", *draw.variants("z", "state"), tokens=SOME)
    e, of_state = cotangents(draw, given)
    found = gradients(mamba2_scan_vjp, (e, of_state), given, keywords)
    products = exactly(given.x) * e
    if given.z is not None:
        z = exactly(given.z)
        products = products * (z * logistic(z))
    assert_equal(found["d"], sum_by_heads(products))


@invariant("B", source=SOURCE, needs=("keyword:z",), cost=2)
def test_closed_gate(mamba2_scan_vjp: Operation, draw: Draw) -> None:
    """At z = 0, z gets half of y times the cotangent of out, and x, b, c and d get exactly 0 from out."""
    keywords = plain(draw)
    given = draw_scan(draw, keywords, "z", *draw.variants("d", "state"), tokens=SOME)
    given = given._replace(z=np.zeros(given.x.shape))
    e, _ = cotangents(draw, given)
    found = gradients(mamba2_scan_vjp, (e, None), given, keywords)
    for name in ("x", "b", "c", "d"):
        if name in found:
            assert_all_zero(found[name])
    arrays = [x if x is None else exactly(x) for x in given._replace(z=None)]
    assert_equal(found["z"], 0.5 * (equation(*arrays, **keywords)[0] * e))


@invariant("E", source=SOURCE, needs=("keyword:dt_limit",), cost=2)
def test_beyond_the_limits(mamba2_scan_vjp: Operation, draw: Draw) -> None:
    """Steps that a limit cuts off have no gradient: dt gets exactly 0 there, and dt_bias if that holds of all tokens."""
    keywords = draw.keyword("dt_softplus", (True, False)) | draw.only("dt_limit", *LIMITS[3:])
    given = draw_scan(draw, keywords, *draw.variants(*OPTIONAL), tokens=SOME)
    given = given._replace(dt=np.full(given.dt.shape, 16.0), a=np.maximum(given.a, -50.0))
    found = gradients(mamba2_scan_vjp, cotangents(draw, given), given, keywords)
    for name in ("dt", "dt_bias"):
        if name in found:
            assert_all_zero(found[name])


@invariant("B", source=SOURCE, needs=("keyword:dt_softplus",), cost=2)
def test_slope_of_softplus(mamba2_scan_vjp: Operation, draw: Draw) -> None:
    """At dt = 0 softplus has the slope ½: dt gets half of what it gets as a step of ln 2 that is given."""
    keywords, unlimited = draw.only("dt_softplus", True), draw.only("dt_limit", UNLIMITED)
    given = draw_scan(draw, keywords | unlimited, *draw.variants("d", "z", "state"), tokens=SOME)
    given = given._replace(dt=np.zeros(given.dt.shape), a=np.maximum(given.a, -50.0))
    e = cotangents(draw, given)
    found = gradients(mamba2_scan_vjp, e, given, keywords | unlimited)
    direct = draw.only("dt_softplus", False) | unlimited
    ln2 = np.full(given.dt.shape, np.log(2.0))
    one = gradients(mamba2_scan_vjp, e, given._replace(dt=ln2), direct)
    assert_equal(2 * found["dt"], one["dt"])
