from typing import Any

import numpy as np

from ._filters import activated
from ._marks import float64, logistic


def gated_rms_norm(
    x: Any,
    gate: Any,
    weight: Any,
    *,
    eps: float,
    norm_before_gate: bool = True,
    group_size: int | None = None,
    activation: str = "silu",
) -> Any:
    """Root-mean-square normalization with a gate, behind linear attention and state-space models.

        y = norm(x) * weight * act(gate),   or without norm_before_gate   y = norm(x * act(gate)) * weight
        norm(z)_i = z_i / sqrt(mean_j(z_j^2) + eps),   where the mean is over the group of feature i

    Shapes
        x (..., d),  gate (..., d),  weight (d)  ->  (..., d)
    Dtypes
        as the arguments
    Units
        A group has group_size features that follow one another; without it, all d.
    Domain
        All finite; eps >= 0. group_size divides d.
    Edges
        A gate of 0 gives 0 under silu. A weight of 0 gives exactly 0.

    Raises
        ValueError where group_size does not divide d, or the activation is unknown.
    Choices
        Qwen3-Next and Kimi gate after the norm, Mamba-2 before it (norm_before_gate=False). eps stands inside the root. The
        product is rounded once; Qwen3-Next's module in Hugging Face transformers rounds the normalized row before its gate.
    Source
        RMSNormGated of state-spaces/mamba. FusedRMSNormGated of fla-org/flash-linear-attention. Dao and Gu 2024,
        arXiv:2405.21060, section 7.1.

    >>> gated_rms_norm([[3.0, 4.0]], [[0.0, 100.0]], [1.0, 1.0], eps=0.0).round(4)
    array([[  0.    , 113.1371]])
    >>> gated_rms_norm([[3.0, 4.0]], [[0.0, 100.0]], [1.0, 1.0], eps=0.0, norm_before_gate=False).round(4)
    array([[0.    , 1.4142]])
    """
    x, gate, weight = float64(x), float64(gate), float64(weight)
    d = weight.shape[-1]
    size = d if group_size is None else group_size
    if size < 1 or d % size:
        raise ValueError(f"gated_rms_norm: group_size={size} does not divide the {d} features.")
    opened = logistic(gate) if activation == "sigmoid" else activated(gate, activation, "gated_rms_norm")
    z = x if norm_before_gate else x * opened
    groups = np.reshape(z, (*x.shape[:-1], d // size, size))
    squares = np.mean(np.square(groups), axis=-1, keepdims=True)
    y = np.reshape(groups / np.sqrt(squares + eps), x.shape) * weight
    return y * opened if norm_before_gate else y
