"""What goes wrong with the gradient of Mamba-2's scan: the state's part, steps and rates, limits, gates and shared groups."""

from typing import Any

import numpy as np

from reference_numpy._marks import float64, logistic
from reference_numpy._steps import UNLIMITED, step_sizes
from reference_numpy.mamba2_scan import mamba2_scan
from reference_numpy.mamba2_scan_vjp import mamba2_scan_vjp

from . import deviation
from ._recurrences import Arrays


def _found(cotangent: Any, given: Arrays, options: dict[str, Any], **others: Any) -> tuple[Any, ...]:
    """Return the gradients, some of them replaced by others of these names."""
    found = Arrays(*mamba2_scan_vjp(cotangent, *given, **options))
    return tuple(found._replace(**{name: f(getattr(found, name)) for name, f in others.items()}))


def _unless_missing(f: Any) -> Any:
    return lambda dx: None if dx is None else f(dx)


@deviation("reference", "state_alone", "last_token")
def cotangent_of_the_state_lost(cotangent: Any, *arrays: Any, **options: Any) -> Any:
    """the cotangent of the new state is not used: nothing flows back from the next chunk.

    Shows: a cotangent of the state. Hides: a loss of out alone.
    """
    e, of_state = cotangent
    return mamba2_scan_vjp((e, None if of_state is None else 0 * float64(of_state)), *arrays, **options)


@deviation("reference", "state_alone")
def state_without_gradient(cotangent: Any, *arrays: Any, **options: Any) -> Any:
    """the gradient of the given state is 0, so that nothing flows back to the chunk before.

    Shows: a state. Hides: none.
    """
    given, options = Arrays.split(*arrays, **options)
    return _found(cotangent, given, options, state=_unless_missing(lambda dx: 0 * dx))


@deviation("reference", "last_token")
def skip_without_gradient(cotangent: Any, *arrays: Any, **options: Any) -> Any:
    """x gets nothing through d x.

    Shows: d. Hides: none.
    """
    given, options = Arrays.split(*arrays, **options)
    without = mamba2_scan_vjp(cotangent, *given._replace(d=None), **options)[0]
    return _found(cotangent, given, options, x=lambda dx: without)


@deviation("reference", "steps_rates_and_inputs")
def steps_of_the_decay_alone(cotangent: Any, *arrays: Any, **options: Any) -> Any:
    """dt gets its gradient through the decay alone, and not that through the input s x.

    Shows: any call. Hides: none.
    """
    given, options = Arrays.split(*arrays, **options)
    plain = mamba2_scan_vjp(cotangent, *given._replace(d=None), **options)
    steps = step_sizes(given.dt, given.dt_bias, options.get("dt_softplus", False), options.get("dt_limit", UNLIMITED))
    positive = np.where(_value(steps) > 0, steps, 1.0)
    through_input = np.sum(float64(given.x) * plain[0], axis=-1) / positive
    slope = 1.0
    if options.get("dt_softplus", False):
        bias = 0.0 if given.dt_bias is None else np.reshape(float64(given.dt_bias), (-1, 1))
        slope = logistic(float64(given.dt) + bias)
    return _found(cotangent, given, options, dt=lambda dx: np.where(_value(dx) == 0, dx, dx - slope * through_input))


def _value(x: Any) -> Any:
    return np.asarray(getattr(x, "value", x))


@deviation("reference", "steps_rates_and_inputs")
def rate_of_the_last_token(cotangent: Any, *arrays: Any, **options: Any) -> Any:
    """a gets the gradient of the last token alone, and not the sum over tokens.

    Shows: two tokens. Hides: one.
    """
    given, options = Arrays.split(*arrays, **options)
    n = given.x.shape[-2]
    if n < 2:
        return mamba2_scan_vjp(cotangent, *given, **options)
    before = mamba2_scan(*given.taken(slice(0, n - 1)), **options)[1]
    e, of_state = cotangent
    own = None if e is None else float64(e)[..., n - 1 :, :]
    last = mamba2_scan_vjp((own, of_state), *given.taken(slice(n - 1, n))._replace(state=before), **options)[2]
    return _found(cotangent, given, options, a=lambda dx: last)


@deviation("reference", "slope_of_softplus")
def softplus_without_its_slope(cotangent: Any, *arrays: Any, **options: Any) -> Any:
    """dt gets the gradient of the step: the slope σ(dt + dt_bias) of softplus is missing.

    Shows: dt_softplus. Hides: steps that are given.
    """
    given, options = Arrays.split(*arrays, **options)
    if not options.get("dt_softplus", False):
        return mamba2_scan_vjp(cotangent, *given, **options)
    bias = 0.0 if given.dt_bias is None else np.reshape(float64(given.dt_bias), (-1, 1))
    slope = logistic(float64(given.dt) + bias)
    return _found(cotangent, given, options, dt=lambda dx: dx / slope)


@deviation("reference", "beyond_the_limits")
def limits_pass_everything(cotangent: Any, *arrays: Any, **options: Any) -> Any:
    """steps that a limit cuts off have a gradient as if they were not.

    Shows: a limit that cuts off. Hides: no limit.
    """
    given, options = Arrays.split(*arrays, **options)
    steps = step_sizes(given.dt, given.dt_bias, options.get("dt_softplus", False), options.get("dt_limit", UNLIMITED))
    as_given = mamba2_scan_vjp(cotangent, *given._replace(dt=steps, dt_bias=None))[1]
    return _found(cotangent, given, options, dt=lambda dx: np.where(_value(dx) == 0, as_given, dx))


@deviation("reference", "bias_gets_the_sum")
def bias_of_the_last_token(cotangent: Any, *arrays: Any, **options: Any) -> Any:
    """dt_bias gets what dt of the last token gets.

    Shows: dt_bias and two tokens. Hides: one token.
    """
    given, options = Arrays.split(*arrays, **options)

    def last(dx: Any) -> Any:
        of_tokens = mamba2_scan_vjp(cotangent, *given, **options)[1][..., -1:]
        return np.sum(np.reshape(np.moveaxis(of_tokens, -2, 0), (given.a.shape[0], -1)), axis=-1)

    return _found(cotangent, given, options, dt_bias=lambda dx: dx if dx is None or not given.x.shape[-2] else last(dx))


@deviation("reference", "skip_gets_products")
def skip_of_the_ungated_cotangent(cotangent: Any, *arrays: Any, **options: Any) -> Any:
    """d gets the products of x with the cotangent of out, without the gate.

    Shows: d with z. Hides: either alone.
    """
    given, options = Arrays.split(*arrays, **options)
    without = mamba2_scan_vjp(cotangent, *given._replace(z=None), **options)[5]
    return _found(cotangent, given, options, d=lambda dx: without)


@deviation("reference")
def gate_of_a_constant(cotangent: Any, *arrays: Any, **options: Any) -> Any:
    """z gets y σ(z) times the cotangent: the slope of σ is left out.

    Shows: z other than 0. Hides: no z.
    """
    given, options = Arrays.split(*arrays, **options)
    if given.z is None or cotangent[0] is None:
        return mamba2_scan_vjp(cotangent, *given, **options)
    y = mamba2_scan(*given._replace(z=None), **options)[0]
    return _found(cotangent, given, options, z=lambda dx: float64(cotangent[0]) * y * logistic(float64(given.z)))


@deviation("reference", "groups_get_the_sum")
def groups_get_the_mean(cotangent: Any, *arrays: Any, **options: Any) -> Any:
    """b and c that several heads read get the mean of their gradients, and not the sum.

    Shows: g < h. Hides: g = h.
    """
    given, options = Arrays.split(*arrays, **options)
    group = given.x.shape[-3] // given.b.shape[-3]
    return _found(cotangent, given, options, b=lambda dx: dx / group, c=lambda dx: dx / group)


@deviation("reference", "later_tokens_get_nothing")
def cotangents_one_token_late(cotangent: Any, *arrays: Any, **options: Any) -> Any:
    """each token uses the cotangent of the one before.

    Shows: two tokens. Hides: one, and equal cotangents.
    """
    e, of_state = cotangent
    return mamba2_scan_vjp((None if e is None else np.roll(float64(e), 1, axis=-2), of_state), *arrays, **options)


@deviation("strong_decays", seen=("https://github.com/huggingface/transformers/pull/48455",))
def decays_of_the_wrong_sign_on_the_way_back(cotangent: Any, *arrays: Any, **options: Any) -> Any:
    """the exponents of the decays have the wrong sign, so that gradients grow until they overflow.

    Shows: strong decays. Hides: none.
    """
    given, options = Arrays.split(*arrays, **options)
    return mamba2_scan_vjp(cotangent, *given._replace(a=-float64(given.a)), **options)
