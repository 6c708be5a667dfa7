"""What goes wrong with the gradient of the gate of linear attention."""

from typing import Any

import numpy as np

from reference_numpy._marks import float64
from reference_numpy.linear_attention_gate import linear_attention_gate
from reference_numpy.linear_attention_gate_vjp import linear_attention_gate_vjp

from . import deviation


@deviation("reference", "gradient_of_the_rate", "rate_and_argument")
def rate_without_its_exponential(cotangent: Any, x: Any, a_log: Any, dt_bias: Any = None, *, lower_bound: Any = None) -> Any:
    """the gradient of a_log is that of the rate e^a_log: it lacks the factor e^a_log.

    Shows: any a_log but 0. Hides: a_log = 0.
    """
    dx, drate, dbias = linear_attention_gate_vjp(cotangent, x, a_log, dt_bias, lower_bound=lower_bound)
    return dx, drate * np.exp(-float64(a_log)), dbias


@deviation("reference", "gradient_of_the_rate", "rate_and_argument")
def rate_of_the_last_token(cotangent: Any, x: Any, a_log: Any, dt_bias: Any = None, *, lower_bound: Any = None) -> Any:
    """the gradient of a_log is that of the last token alone.

    Shows: two tokens and more. Hides: one.
    """
    dx, _, dbias = linear_attention_gate_vjp(cotangent, x, a_log, dt_bias, lower_bound=lower_bound)
    n = x.shape[-2]
    last = np.where(np.arange(n)[:, None] == n - 1, cotangent, 0.0)
    return dx, linear_attention_gate_vjp(last, x, a_log, dt_bias, lower_bound=lower_bound)[1], dbias


@deviation("reference", "bias_gets_the_sum")
def bias_of_the_last_token(cotangent: Any, x: Any, a_log: Any, dt_bias: Any = None, *, lower_bound: Any = None) -> Any:
    """the gradient of dt_bias is that of the last token alone.

    Shows: two tokens and more. Hides: one.
    """
    dx, drate, _ = linear_attention_gate_vjp(cotangent, x, a_log, dt_bias, lower_bound=lower_bound)
    n = x.shape[-2]
    last = np.where(np.arange(n)[:, None] == n - 1, cotangent, 0.0)
    return dx, drate, linear_attention_gate_vjp(last, x, a_log, dt_bias, lower_bound=lower_bound)[2]


@deviation("reference", "slopes_add_up", "even_slope")
def slope_of_g(cotangent: Any, x: Any, a_log: Any, dt_bias: Any = None, *, lower_bound: Any = None) -> Any:
    """dx is c g: the gate is taken for an exponential.

    Shows: every call. Hides: nothing.
    """
    _, drate, dbias = linear_attention_gate_vjp(cotangent, x, a_log, dt_bias, lower_bound=lower_bound)
    return cotangent * linear_attention_gate(x, a_log, dt_bias, lower_bound=lower_bound), drate, dbias


@deviation("reference", "slopes_add_up")
def rate_left_out(cotangent: Any, x: Any, a_log: Any, dt_bias: Any = None, *, lower_bound: Any = None) -> Any:
    """dx lacks the factor e^a_log.

    Shows: any a_log but 0. Hides: a_log = 0.
    """
    dx, drate, dbias = linear_attention_gate_vjp(cotangent, x, a_log, dt_bias, lower_bound=lower_bound)
    return dx * np.exp(-np.reshape(float64(a_log), (-1, 1, 1))), drate, dbias
