from typing import Any

import numpy as np

from ._marks import eager, float64, wide


def rope(x: Any, positions: Any, *, theta: float = 10000.0, layout: str = "interleaved") -> Any:
    """Rotary position embedding: each pair of features is turned by an angle that grows with the position.

        (a, b)  ->  (a cos(phi) - b sin(phi),  a sin(phi) + b cos(phi)),   phi = p * theta^(-2k / d_k)

    for the pair number k = 0, ..., d_k/2 - 1 of the token at position p.

    Shapes
        x (..., n, d_k),  positions (n) or broadcastable to (..., n)  ->  as x
    Units
        Angles in radians.
    Domain
        x finite; positions any integers in any order; theta > 0; d_k even.
    Edges
        Position 0 changes nothing. Lengths are kept. The product of a turned query and a turned key depends on
        the difference of their positions alone.

    Raises
        ValueError where d_k is odd, or layout is neither "interleaved" nor "half".
    Choices
        interleaved pairs the features (2k, 2k+1): the paper, CS336, Llama's own code. half pairs
        (k, k + d_k/2): the exercise, Hugging Face transformers, GPT-NeoX. They differ by a fixed order of the
        features. The hand-out counts k from 1, hence its exponent (2k - 2) / d.
    Source
        Su et al. 2021, arXiv:2104.09864, eqs. 14, 15 and 34. CS336 assignment 1, eqs. (8) and (9).

    The first pair turns by one radian a position, the second a hundred times slower:

    >>> rope([[1.0, 0.0, 1.0, 0.0]], [1]).round(4)
    array([[0.5403, 0.8415, 1.    , 0.01  ]])
    >>> rope([[1.0, 1.0, 0.0, 0.0]], [1], layout="half").round(4)
    array([[0.5403, 1.    , 0.8415, 0.01  ]])

    """
    x = float64(x)
    d_k = x.shape[-1]
    if d_k % 2:
        raise ValueError(f"rope: d_k = {d_k} is odd; features are turned in pairs.")
    angle = wide(float64(positions))[..., None] * np.power(wide(theta), -np.arange(0, d_k, 2) / d_k)
    cos, sin = eager(np.cos(angle)), eager(np.sin(angle))
    if layout == "interleaved":
        a, b = x[..., 0::2], x[..., 1::2]
        return np.reshape(np.stack([a * cos - b * sin, a * sin + b * cos], axis=-1), x.shape)
    if layout == "half":
        a, b = x[..., : d_k // 2], x[..., d_k // 2 :]
        return np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)
    raise ValueError(f"rope: layout={layout!r} is unknown; there are 'interleaved' and 'half'.")
