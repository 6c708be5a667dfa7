"""What goes wrong with the scan of Mamba-2: its steps, decays and rates, what it adds behind the scan, and shared groups."""

from typing import Any

import numpy as np

from reference_numpy._marks import float64, logistic
from reference_numpy._softplus import softplus
from reference_numpy._steps import UNLIMITED, step_sizes
from reference_numpy.mamba2_scan import mamba2_scan
from reference_numpy.silu import silu

from . import deviation
from ._recurrences import Arrays, scan_by_token, scan_with


def _biased(dt: Any, dt_bias: Any) -> Any:
    return float64(dt) if dt_bias is None else float64(dt) + np.reshape(float64(dt_bias), (-1, 1))


def _limited(y: Any, dt_limit: Any) -> Any:
    return step_sizes(y, None, False, dt_limit)


@deviation("reference", "one_step")
def softplus_ignored(*arrays: Any, dt_softplus: bool = False, dt_limit: Any = UNLIMITED, **named: Any) -> Any:
    """softplus is not applied, whatever dt_softplus says.

    Shows: dt_softplus. Hides: steps that are given, and large ones.
    """
    return mamba2_scan(*arrays, dt_softplus=False, dt_limit=dt_limit, **named)


@deviation("reference", "is_linear_attention")
def softplus_always(*arrays: Any, dt_softplus: bool = False, dt_limit: Any = UNLIMITED, **named: Any) -> Any:
    """softplus is always applied, as in the modules that call the scan.

    Shows: steps that are given. Hides: dt_softplus.
    """
    return mamba2_scan(*arrays, dt_softplus=True, dt_limit=dt_limit, **named)


@deviation("reference")
def bias_after_softplus(*arrays: Any, dt_softplus: bool = False, dt_limit: Any = UNLIMITED, **named: Any) -> Any:
    """dt_bias is added after softplus.

    Shows: dt_bias with dt_softplus. Hides: either alone.
    """
    given = Arrays.of(*arrays, **named)
    y = softplus(float64(given.dt)) if dt_softplus else float64(given.dt)
    return scan_with(given, _limited(_biased(y, given.dt_bias), dt_limit))


@deviation("reference", "bias_is_added")
def bias_of_softplus_alone(*arrays: Any, dt_softplus: bool = False, dt_limit: Any = UNLIMITED, **named: Any) -> Any:
    """without dt_softplus dt_bias is not added either.

    Shows: dt_bias without dt_softplus. Hides: dt_softplus.
    """
    given = Arrays.of(*arrays, **named)
    bias = given.dt_bias if dt_softplus else None
    return scan_with(given, step_sizes(float64(given.dt), bias, dt_softplus, dt_limit))


@deviation("reference", "limits_hold_after_softplus")
def limits_before_softplus(*arrays: Any, dt_softplus: bool = False, dt_limit: Any = UNLIMITED, **named: Any) -> Any:
    """dt_limit is applied before softplus, and not after it.

    Shows: dt_softplus with a limit. Hides: either alone.
    """
    given = Arrays.of(*arrays, **named)
    lowest, highest = dt_limit
    y = _biased(given.dt, given.dt_bias)
    if not dt_softplus:
        return scan_with(given, _limited(y, dt_limit))
    y = np.maximum(y, lowest) if lowest > 0 else y
    return scan_with(given, softplus(np.minimum(y, highest)))


@deviation("reference", "limits_hold_after_softplus")
def limits_ignored(*arrays: Any, dt_softplus: bool = False, dt_limit: Any = UNLIMITED, **named: Any) -> Any:
    """dt_limit is not applied.

    Shows: a limit that cuts steps off. Hides: no limit.
    """
    return mamba2_scan(*arrays, dt_softplus=dt_softplus, **named)


@deviation("reference", "limits_hold_after_softplus")
def lowest_step_ignored(*arrays: Any, dt_softplus: bool = False, dt_limit: Any = UNLIMITED, **named: Any) -> Any:
    """of dt_limit only the highest step is used.

    Shows: steps below the lowest. Hides: a lowest step of 0.
    """
    return mamba2_scan(*arrays, dt_softplus=dt_softplus, dt_limit=(0.0, dt_limit[1]), **named)


@deviation("reference", "limits_hold_after_softplus", seen=("https://github.com/huggingface/transformers/pull/35154",))
def highest_step_ignored(*arrays: Any, dt_softplus: bool = False, dt_limit: Any = UNLIMITED, **named: Any) -> Any:
    """of dt_limit only the lowest step is used.

    Shows: steps above the highest. Hides: no highest step.
    """
    return mamba2_scan(*arrays, dt_softplus=dt_softplus, dt_limit=(dt_limit[0], np.inf), **named)


@deviation("reference", "is_linear_attention", "one_step")
def input_without_the_step(*arrays: Any, dt_softplus: bool = False, dt_limit: Any = UNLIMITED, **named: Any) -> Any:
    """x b^T is added without the size of the step.

    Shows: steps other than 1. Hides: none.
    """
    given = Arrays.of(*arrays, **named)
    return scan_with(given, step_sizes(given.dt, given.dt_bias, dt_softplus, dt_limit), of_inputs=lambda s, a: 1 + 0 * s)


@deviation("reference", "is_linear_attention", "one_step")
def input_held_over_the_step(*arrays: Any, dt_softplus: bool = False, dt_limit: Any = UNLIMITED, **named: Any) -> Any:
    """x b^T is multiplied by (e^(s a) - 1) / a, as a hold of order zero has it, and not by s.

    Shows: steps that decay much. Hides: short ones.
    """
    given = Arrays.of(*arrays, **named)
    steps = step_sizes(given.dt, given.dt_bias, dt_softplus, dt_limit)
    return scan_with(given, steps, of_inputs=lambda s, a: (np.exp(s * a) - 1) / a)


@deviation("reference", "is_linear_attention")
def decay_without_the_step(*arrays: Any, dt_softplus: bool = False, dt_limit: Any = UNLIMITED, **named: Any) -> Any:
    """the state decays by e^a for every token, whatever its step.

    Shows: steps other than 1 with a state to decay. Hides: a single token without a state.
    """
    given = Arrays.of(*arrays, **named)
    return scan_with(given, step_sizes(given.dt, given.dt_bias, dt_softplus, dt_limit), of_decays=lambda s, a: a + 0 * s)


@deviation("reference", "is_linear_attention")
def rate_taken_for_its_logarithm(*arrays: Any, dt_softplus: bool = False, dt_limit: Any = UNLIMITED, **named: Any) -> Any:
    """a is exponentiated, as the parameter of the module is: the rate is -e^a.

    Shows: any a. Hides: none.
    """
    given = Arrays.of(*arrays, **named)
    rates = -np.exp(float64(given.a))
    return mamba2_scan(*given._replace(a=rates), dt_softplus=dt_softplus, dt_limit=dt_limit)


@deviation("strong_decays", seen=("https://github.com/huggingface/transformers/pull/48455",))
def decays_of_the_wrong_sign(*arrays: Any, dt_softplus: bool = False, dt_limit: Any = UNLIMITED, **named: Any) -> Any:
    """the exponents of the decays have the wrong sign, so that the state grows until it overflows.

    Shows: strong decays. Hides: none.
    """
    given = Arrays.of(*arrays, **named)
    return mamba2_scan(*given._replace(a=-float64(given.a)), dt_softplus=dt_softplus, dt_limit=dt_limit)


@deviation("reference", "is_linear_attention")
def decay_after_the_write(*arrays: Any, dt_softplus: bool = False, dt_limit: Any = UNLIMITED, **named: Any) -> Any:
    """the state decays after a token is written, so that the token itself decays, too.

    Shows: any decay. Hides: steps of 0.
    """
    given = Arrays.of(*arrays, **named)
    return scan_by_token(given, dt_softplus, dt_limit, lambda t, decay, written, state: decay * (state + written))


@deviation("reference", "any_cut", "is_linear_attention", seen=("https://github.com/state-spaces/mamba/issues/716",))
def operands_of_the_scan_exchanged(*arrays: Any, dt_softplus: bool = False, dt_limit: Any = UNLIMITED, **named: Any) -> Any:
    """the two operands of the associative scan are exchanged: what is new decays by all decays before it, the state by none.

    Shows: two tokens. Hides: one.
    """
    given, product = Arrays.of(*arrays, **named), [1.0]

    def step(t: int, decay: Any, written: Any, state: Any) -> Any:
        after = (decay * state + written) if t == 0 else state + product[0] * written
        product[0] = product[0] * decay
        return after

    return scan_by_token(given, dt_softplus, dt_limit, step)


@deviation("reference", "skip")
def skip_ignored(*arrays: Any, **options: Any) -> Any:
    """d x is not added.

    Shows: d. Hides: none.
    """
    given, options = Arrays.split(*arrays, **options)
    return mamba2_scan(*given._replace(d=None), **options)


@deviation("reference", "skip")
def skip_of_the_first_head(*arrays: Any, **options: Any) -> Any:
    """every head adds x times the d of the first.

    Shows: d with two heads. Hides: one head.
    """
    given, options = Arrays.split(*arrays, **options)
    d = None if given.d is None else np.repeat(float64(given.d)[:1], given.x.shape[-3], axis=0)
    return mamba2_scan(*given._replace(d=d), **options)


@deviation("reference", "skip", "closed_gate")
def skip_after_the_gate(*arrays: Any, **options: Any) -> Any:
    """d x is added after the gate.

    Shows: d with z. Hides: either alone.
    """
    given, options = Arrays.split(*arrays, **options)
    out, state = mamba2_scan(*given._replace(d=None), **options)
    return (out if given.d is None else out + np.reshape(float64(given.d), (-1, 1, 1)) * float64(given.x)), state


@deviation("reference", "skip")
def skip_of_the_scaled_input(*arrays: Any, **options: Any) -> Any:
    """d multiplies the input that is written, s x, and not x.

    Shows: d with steps other than 1. Hides: no d.
    """
    given, options = Arrays.split(*arrays, **options)
    out, state = mamba2_scan(*given._replace(d=None), **options)
    if given.d is None:
        return out, state
    steps = step_sizes(given.dt, given.dt_bias, options.get("dt_softplus", False), options.get("dt_limit", UNLIMITED))
    added = np.reshape(float64(given.d), (-1, 1, 1)) * (np.expand_dims(steps, axis=-1) * float64(given.x))
    return out + (added if given.z is None else added * silu(float64(given.z))), state


@deviation("reference", "gate")
def gate_ignored(*arrays: Any, **options: Any) -> Any:
    """z is not used.

    Shows: z. Hides: none.
    """
    given, options = Arrays.split(*arrays, **options)
    return mamba2_scan(*given._replace(z=None), **options)


@deviation("reference", "gate", "closed_gate")
def gate_of_a_sigmoid(*arrays: Any, **options: Any) -> Any:
    """out is y σ(z), and not y silu(z).

    Shows: z. Hides: none.
    """
    given, options = Arrays.split(*arrays, **options)
    out, state = mamba2_scan(*given._replace(z=None), **options)
    return (out if given.z is None else out * logistic(float64(given.z))), state


@deviation("reference", "is_linear_attention")
def b_and_c_exchanged(*arrays: Any, **options: Any) -> Any:
    """the state is written with c and read with b.

    Shows: two tokens, or a state. Hides: equal b and c.
    """
    given, options = Arrays.split(*arrays, **options)
    return mamba2_scan(*given._replace(b=given.c, c=given.b), **options)


@deviation("reference", "heads_are_separate")
def groups_by_remainder(*arrays: Any, **options: Any) -> Any:
    """head i reads group i mod g, as a repeated array does that is tiled.

    Shows: 1 < g < h. Hides: g = 1 and g = h.
    """
    given, options = Arrays.split(*arrays, **options)
    order = np.arange(given.x.shape[-3]) % given.b.shape[-3]
    b, c = (float64(x)[..., order, :, :] for x in (given.b, given.c))
    return mamba2_scan(*given._replace(b=b, c=c), **options)


@deviation("reference", "heads_are_separate")
def first_group_for_all(*arrays: Any, **options: Any) -> Any:
    """all heads read the first group of b and c.

    Shows: g > 1. Hides: g = 1.
    """
    given, options = Arrays.split(*arrays, **options)
    b, c = (float64(x)[..., :1, :, :] for x in (given.b, given.c))
    return mamba2_scan(*given._replace(b=b, c=c), **options)


@deviation("reference", "heads_are_separate")
def rate_of_the_first_head(*arrays: Any, **options: Any) -> Any:
    """every head decays at the rate of the first.

    Shows: two heads. Hides: one.
    """
    given, options = Arrays.split(*arrays, **options)
    return mamba2_scan(*given._replace(a=np.repeat(float64(given.a)[:1], given.x.shape[-3], axis=0)), **options)


@deviation("large_arguments")
def exponential_that_overflows(*arrays: Any, dt_softplus: bool = False, dt_limit: Any = UNLIMITED, **named: Any) -> Any:
    """softplus is ln(1 + e^y), whose exponential overflows in float32 from 89 on.

    Shows: dt of 89 and more without a limit. Hides: smaller ones.
    """
    given = Arrays.of(*arrays, **named)
    steps = step_sizes(given.dt, given.dt_bias, dt_softplus, dt_limit)
    y = _biased(given.dt, given.dt_bias)
    too_large = np.asarray(getattr(y, "value", y)) > (88.7 if dt_softplus and dt_limit[1] == np.inf else np.inf)
    return scan_with(given, np.where(too_large, np.inf, steps))


@deviation("reference", "nothing_looks_ahead")
def chunks_without_a_mask(*arrays: Any, **options: Any) -> Any:
    """every token reads the state after the last one of the call, as scores without a causal mask do.

    Shows: two tokens. Hides: single tokens.
    """
    given, options = Arrays.split(*arrays, **options)
    after = mamba2_scan(*given, **options)[1]
    c = np.repeat(float64(given.c), given.x.shape[-3] // given.c.shape[-3], axis=-3)
    y = np.matmul(c, np.swapaxes(after, -1, -2))
    y = y if given.d is None else y + np.reshape(float64(given.d), (-1, 1, 1)) * float64(given.x)
    return (y if given.z is None else y * silu(float64(given.z))), after
