"""The feed-forward network of a layer or of an expert, swiglu or the same with another gate, and its gradients."""

from typing import Any

import numpy as np

from ._marks import float64, is_one, rounded
from .gated_activation import gated_activation
from .gated_activation_vjp import gated_activation_vjp
from .linear import linear
from .linear_vjp import linear_vjp
from .swiglu import swiglu
from .swiglu_vjp import swiglu_vjp


def gating(activation: str, limit: Any, alpha: Any, offset: Any) -> dict[str, Any]:
    """Return the keywords of gated_activation, {} if the gate is that of swiglu."""
    is_plain = activation == "silu" and limit is None and is_one(alpha) and is_one(offset + 1.0)
    return {} if is_plain else {"activation": activation, "limit": limit, "alpha": alpha, "offset": offset}


def gated_network(x: Any, w1: Any, w2: Any, w3: Any, b1: Any = None, b2: Any = None, b3: Any = None, **gate: Any) -> Any:
    """Return w2 gated_activation of (w1 x + b1, w3 x + b3), + b2. Without keywords it is swiglu."""
    if not gate:
        return swiglu(x, w1, w2, w3, b1, b2, b3)
    return linear(rounded(gated_activation(_packed(x, w1, w3, b1, b3), **gate)), w2, b2)


def gated_network_vjp(
    cotangent: Any, x: Any, w1: Any, w2: Any, w3: Any, b1: Any = None, b2: Any = None, b3: Any = None, **gate: Any
) -> Any:
    """Return the gradients of all arguments, as swiglu_vjp does."""
    if not gate:
        return swiglu_vjp(cotangent, x, w1, w2, w3, b1, b2, b3)
    packed = _packed(x, w1, w3, b1, b3)
    dhidden, dw2, db2 = linear_vjp(cotangent, rounded(gated_activation(packed, **gate)), w2, b2)
    (dpacked,) = gated_activation_vjp(rounded(dhidden), packed, **gate)
    dpacked, h = rounded(dpacked), packed.shape[-1] // 2
    through_gate, dw1, db1 = linear_vjp(dpacked[..., :h], x, w1, b1)
    through_signal, dw3, db3 = linear_vjp(dpacked[..., h:], x, w3, b3)
    return rounded(through_gate) + rounded(through_signal), dw1, dw2, dw3, db1, db2, db3


def _packed(x: Any, w1: Any, w3: Any, b1: Any, b3: Any) -> Any:
    """Return what gates, beside what is gated."""
    x = float64(x)
    return np.concatenate([rounded(linear(x, w1, b1)), rounded(linear(x, w3, b3))], axis=-1)
