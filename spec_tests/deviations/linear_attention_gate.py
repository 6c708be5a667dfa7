"""What goes wrong with the gate of linear attention: its rate, its bias, its lower bound."""

from collections.abc import Callable
from typing import Any

import numpy as np

from reference_numpy._marks import float64, logistic
from reference_numpy._softplus import softplus
from reference_numpy.linear_attention_gate import linear_attention_gate

from . import deviation


def _biased(x: Any, dt_bias: Any) -> Any:
    return float64(x) if dt_bias is None else float64(x) + np.expand_dims(float64(dt_bias), axis=-2)


def _of_heads(a: Any) -> Any:
    return np.reshape(a, (-1, 1, 1))


def _gate(y: Any, rate: Any, lower_bound: Any, soft: Callable[[Any], Any] = softplus) -> Any:
    """Return the gate of an argument at a rate."""
    return -(rate * soft(y)) if lower_bound is None else lower_bound * logistic(rate * y)


@deviation("reference", "rate_is_a_factor", "rate_stretches", "at_zero")
def rate_not_exponentiated(x: Any, a_log: Any, dt_bias: Any = None, *, lower_bound: Any = None) -> Any:
    """a_log itself is the rate.

    Shows: any a_log. Hides: none.
    """
    return _gate(_biased(x, dt_bias), _of_heads(float64(a_log)), lower_bound)


@deviation("reference", "rate_is_a_factor", "rate_stretches", "at_zero")
def rate_of_the_opposite(x: Any, a_log: Any, dt_bias: Any = None, *, lower_bound: Any = None) -> Any:
    """the rate is e^-a_log.

    Shows: any a_log but 0. Hides: a_log = 0.
    """
    return linear_attention_gate(x, -float64(a_log), dt_bias, lower_bound=lower_bound)


@deviation("reference", "rate_is_a_factor", "rate_stretches")
def rate_of_the_first_head(x: Any, a_log: Any, dt_bias: Any = None, *, lower_bound: Any = None) -> Any:
    """every head decays at the rate of the first.

    Shows: two heads and more. Hides: one head.
    """
    return linear_attention_gate(x, np.repeat(float64(a_log)[:1], a_log.shape[0], axis=0), dt_bias, lower_bound=lower_bound)


@deviation("reference", "rate_is_a_factor", "at_zero")
def rate_inside_softplus(x: Any, a_log: Any, dt_bias: Any = None, *, lower_bound: Any = None) -> Any:
    """the rate multiplies the argument of softplus, as it does with lower_bound.

    Shows: any a_log but 0, without lower_bound. Hides: lower_bound.
    """
    rate = np.exp(_of_heads(float64(a_log)))
    if lower_bound is None:
        return -softplus(rate * _biased(x, dt_bias))
    return linear_attention_gate(x, a_log, dt_bias, lower_bound=lower_bound)


@deviation("reference", "bias_is_added")
def bias_after_softplus(x: Any, a_log: Any, dt_bias: Any = None, *, lower_bound: Any = None) -> Any:
    """dt_bias is added after softplus, or after the sigmoid.

    Shows: a bias. Hides: none.
    """
    rate, y = np.exp(_of_heads(float64(a_log))), float64(x)
    soft = softplus(y) if lower_bound is None else logistic(rate * y)
    soft = _biased(soft, dt_bias)
    return -(rate * soft) if lower_bound is None else lower_bound * soft


@deviation("reference", "bias_is_added")
def bias_ignored(x: Any, a_log: Any, dt_bias: Any = None, *, lower_bound: Any = None) -> Any:
    """dt_bias is not added.

    Shows: a bias. Hides: none.
    """
    return linear_attention_gate(x, a_log, lower_bound=lower_bound)


@deviation("reference", "bias_is_added")
def bias_of_the_first_channel(x: Any, a_log: Any, dt_bias: Any = None, *, lower_bound: Any = None) -> Any:
    """each head has one bias, that of its first channel.

    Shows: a bias of two channels and more. Hides: d = 1.
    """
    bias = None if dt_bias is None else np.repeat(float64(dt_bias)[:, :1], x.shape[-1], axis=-1)
    return linear_attention_gate(x, a_log, bias, lower_bound=lower_bound)


@deviation("reference", "rate_stretches", "symmetric")
def lower_bound_as_a_clamp(x: Any, a_log: Any, dt_bias: Any = None, *, lower_bound: Any = None) -> Any:
    """the gate without a lower bound is cut off at it.

    Shows: lower_bound. Hides: none.
    """
    g = linear_attention_gate(x, a_log, dt_bias)
    return g if lower_bound is None else np.maximum(g, lower_bound)


@deviation("reference", "within_the_bounds", "at_zero")
def lower_bound_ignored(x: Any, a_log: Any, dt_bias: Any = None, *, lower_bound: Any = None) -> Any:
    """lower_bound is not used.

    Shows: lower_bound. Hides: none.
    """
    return linear_attention_gate(x, a_log, dt_bias)


@deviation("reference", "rate_stretches")
def lower_bound_without_the_rate(x: Any, a_log: Any, dt_bias: Any = None, *, lower_bound: Any = None) -> Any:
    """with lower_bound the rate is not used: lower_bound σ(y).

    Shows: lower_bound with any a_log but 0. Hides: no lower_bound.
    """
    rates = float64(a_log) if lower_bound is None else 0 * float64(a_log)
    return linear_attention_gate(x, rates, dt_bias, lower_bound=lower_bound)


@deviation("reference", "within_the_bounds", "falling")
def sign_forgotten(x: Any, a_log: Any, dt_bias: Any = None, *, lower_bound: Any = None) -> Any:
    """g is above 0: what decays would grow.

    Shows: every call. Hides: nothing.
    """
    return -linear_attention_gate(x, a_log, dt_bias, lower_bound=lower_bound)


@deviation("reference", "at_zero")
def rectified(x: Any, a_log: Any, dt_bias: Any = None, *, lower_bound: Any = None) -> Any:
    """softplus is taken for relu.

    Shows: arguments near 0. Hides: large ones, and lower_bound.
    """
    rate = np.exp(_of_heads(float64(a_log)))
    return _gate(_biased(x, dt_bias), rate, lower_bound, lambda y: np.maximum(y, 0.0))


@deviation("reference", "where_it_is_straight")
def straight_too_soon(x: Any, a_log: Any, dt_bias: Any = None, *, lower_bound: Any = None) -> Any:
    """softplus is the identity from 4 on, and not from 20.

    Shows: arguments from 4 to 10. Hides: smaller ones, and lower_bound.
    """
    rate = np.exp(_of_heads(float64(a_log)))
    return _gate(_biased(x, dt_bias), rate, lower_bound, lambda y: np.where(_value(y) > 4.0, y, softplus(y)))


def _value(y: Any) -> Any:
    return getattr(y, "value", y)


@deviation("reference", "large_arguments")
def exponential_that_overflows(x: Any, a_log: Any, dt_bias: Any = None, *, lower_bound: Any = None) -> Any:
    """softplus is ln(1 + e^y), whose exponential overflows in float32 from 89 on.

    Shows: y of 89 and more. Hides: smaller y, and lower_bound.
    """
    rate = np.exp(_of_heads(float64(a_log)))
    return _gate(_biased(x, dt_bias), rate, lower_bound, lambda y: np.where(_value(y) > 88.7, np.inf, softplus(y)))
