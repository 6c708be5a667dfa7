from typing import Any

import numpy as np

from ._marks import float64, logistic
from ._softplus import softplus


def linear_attention_gate(x: Any, a_log: Any, dt_bias: Any = None, *, lower_bound: float | None = None) -> Any:
    """Logarithms of decays for linear attention, from a projection of the input: never above 0.

        y = x + dt_bias,   g = -e^a_log softplus(y),   or where lower_bound is given:   g = lower_bound σ(e^a_log y)

    Shapes
        x (..., h, n, d),  a_log (h),  dt_bias (h, d)  ->  (..., h, n, d)
    Dtypes
        as the arguments, or float32 or wider
        a_log and dt_bias are float32 or wider.
    Units
        g is the logarithm of a decay. n in tokens. d is 1 for a gate of each head, or d_k for one of each channel.
    Domain
        All finite; lower_bound < 0. In float64 y <= 20, beyond which torch's softplus is y itself.
    Edges
        Where y is very negative, g is 0, or without lower_bound nearly 0: nothing decays.
    Choices
        The two gates of Kimi delta attention in flash-linear-attention; that of Qwen3-Next is the first with d = 1. Heads stand
        before tokens; a backend may state the other order, with its convention token_axis.
    Source
        Kimi Linear, arXiv:2510.26692, section 4. fused_kda_gate of fla-org/flash-linear-attention. Yang, Kautz and
        Hatamizadeh 2024, arXiv:2412.06464, section 3.4 (by head).

    >>> linear_attention_gate([[[0.0, -100.0]]], np.log([2.0])).round(4) + 0.0
    array([[[-1.3863,  0.    ]]])
    >>> linear_attention_gate([[[0.0, 100.0]]], [0.0], lower_bound=-5.0)
    array([[[-2.5, -5. ]]])
    """
    y = float64(x)
    if dt_bias is not None:
        y = y + np.expand_dims(float64(dt_bias), axis=-2)
    rate = np.exp(np.reshape(float64(a_log), (-1, 1, 1)))
    return -(rate * softplus(y)) if lower_bound is None else lower_bound * logistic(rate * y)
