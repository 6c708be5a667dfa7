"""What goes wrong with the gradient of causal_conv1d: the state's part, sums over tokens and batch, and the activation."""

from typing import Any

import numpy as np

from reference_numpy._filters import filtered, with_past
from reference_numpy._marks import float64, logistic
from reference_numpy.causal_conv1d_vjp import causal_conv1d_vjp
from reference_numpy.silu_vjp import silu_vjp

from . import deviation


def _cotangent_of_the_sum(c: Any, x: Any, weight: Any, bias: Any, state: Any) -> Any:
    """Return the cotangent of what silu is applied to."""
    y = filtered(with_past(float64(x), weight.shape[-1] - 1, state), float64(weight), bias)
    (dy,) = silu_vjp(c, y)
    return dy


def _silu_cotangent(c: Any, x: Any, weight: Any, bias: Any, state: Any) -> Any:
    """Return a cotangent of the sum in which the gate of the activation counts as a constant."""
    y = filtered(with_past(float64(x), weight.shape[-1] - 1, state), float64(weight), bias)
    return float64(c) * logistic(y)


@deviation("reference", "state_alone")
def cotangent_of_the_state_lost(cotangent: Any, x: Any, weight: Any, bias: Any = None, state: Any = None, **options: Any) -> Any:
    """the cotangent of the new state is not used: nothing flows back from the next chunk.

    Shows: a cotangent of the state. Hides: a loss of out alone.
    """
    c, g = cotangent
    return causal_conv1d_vjp((c, None if g is None else 0 * float64(g)), x, weight, bias, state, **options)


@deviation("reference", "one_cotangent")
def state_without_gradient(cotangent: Any, x: Any, weight: Any, bias: Any = None, state: Any = None, **options: Any) -> Any:
    """the gradient of the given state is 0, so that nothing flows back to the chunk before.

    Shows: a state. Hides: none.
    """
    dx, dweight, dbias, dstate, none = causal_conv1d_vjp(cotangent, x, weight, bias, state, **options)
    return dx, dweight, dbias, None if dstate is None else 0 * dstate, none


@deviation("reference", "one_cotangent", "tokens_and_taps")
def taps_do_not_see_the_state(
    cotangent: Any, x: Any, weight: Any, bias: Any = None, state: Any = None, *, activation: str | None = None
) -> Any:
    """the gradient of the taps takes the columns before the first token for zeros.

    Shows: a state. Hides: none.
    """
    dx, dweight, dbias, dstate, none = causal_conv1d_vjp(cotangent, x, weight, bias, state, activation=activation)
    if state is None or cotangent[0] is None:
        return dx, dweight, dbias, dstate, none
    c = float64(cotangent[0])
    b = c if activation is None else _cotangent_of_the_sum(c, x, weight, bias, state)
    return dx, dweight - causal_conv1d_vjp((b, None), 0 * float64(x), weight, bias, state)[1], dbias, dstate, none


@deviation("reference", "bias_gets_the_sum")
def bias_of_the_last_token(cotangent: Any, x: Any, weight: Any, bias: Any = None, state: Any = None, **options: Any) -> Any:
    """the gradient of the bias is that of the last token alone, as if each step wrote it anew.

    Shows: two tokens. Hides: one.
    """
    dx, dweight, dbias, dstate, none = causal_conv1d_vjp(cotangent, x, weight, bias, state, **options)
    c, n = cotangent[0], x.shape[-1]
    if bias is None or c is None or not n:
        return dx, dweight, dbias, dstate, none
    last = np.where(np.arange(n) == n - 1, float64(c), 0.0)
    return dx, dweight, causal_conv1d_vjp((last, None), x, weight, bias, state, **options)[2], dstate, none


@deviation("reference", "one_cotangent")
def filter_flipped_once_more(cotangent: Any, x: Any, weight: Any, bias: Any = None, state: Any = None, **options: Any) -> Any:
    """the gradient of the taps is in reverse order.

    Shows: filters of two taps and more. Hides: one tap.
    """
    dx, dweight, dbias, dstate, none = causal_conv1d_vjp(cotangent, x, weight, bias, state, **options)
    return dx, dweight[:, ::-1], dbias, dstate, none


@deviation("reference")
def gate_detached(
    cotangent: Any, x: Any, weight: Any, bias: Any = None, state: Any = None, *, activation: str | None = None
) -> Any:
    """the gate of silu counts as a constant: its slope is σ(y) instead of σ(y) (1 + y (1 - σ(y))).

    Shows: an activation. Hides: none.
    """
    c, g = cotangent
    if activation is None or c is None:
        return causal_conv1d_vjp(cotangent, x, weight, bias, state, activation=activation)
    return causal_conv1d_vjp((_silu_cotangent(c, x, weight, bias, state), g), x, weight, bias, state)


@deviation("reference")
def activation_not_differentiated(
    cotangent: Any, x: Any, weight: Any, bias: Any = None, state: Any = None, *, activation: str | None = None
) -> Any:
    """the gradient is that without an activation.

    Shows: an activation. Hides: none.
    """
    return causal_conv1d_vjp(cotangent, x, weight, bias, state)


@deviation("reference", "packed_is_one_by_one")
def gradient_across_the_ends(
    cotangent: Any, x: Any, weight: Any, bias: Any = None, state: Any = None, cu_seqlens: Any = None, **options: Any
) -> Any:
    """the gradient of out flows back across the ends of packed sequences, as if they were one.

    Shows: two members, two taps. Hides: one member; one tap; no cu_seqlens.
    """
    dx, *others = causal_conv1d_vjp(cotangent, x, weight, bias, state, cu_seqlens, **options)
    if cu_seqlens is None or cotangent[0] is None:
        return dx, *others
    alone = cotangent[0], None
    within = causal_conv1d_vjp(alone, x, weight, bias, state, cu_seqlens, **options)[0]
    across = causal_conv1d_vjp(alone, x, weight, bias, None if state is None else float64(state)[0], **options)[0]
    return dx + (across - within), *others
