from typing import Any

import numpy as np

from ._marks import eager, float64, scaled, wide
from ._sections import axis_of_each_pair


def rope(
    x: Any,
    positions: Any,
    inverse_frequencies: Any = None,
    *,
    theta: float = 10000.0,
    layout: str = "interleaved",
    rotary_dim: int | None = None,
    attention_factor: float = 1.0,
    sections: tuple[int, int, int] | None = None,
    section_layout: str = "chunked",
) -> Any:
    """Rotary position embedding: each pair of features is turned by an angle that grows with the position.

        (a, b)  ->  f (a cos(phi) - b sin(phi),  a sin(phi) + b cos(phi)),   phi = p * theta^(-2k / r)

    for the pair number k = 0, ..., r/2 - 1 of the token at position p. r is rotary_dim, or d_k without one, and f
    is attention_factor. Only the first r features are turned; the others are returned as they are. With
    inverse_frequencies phi = p * inverse_frequencies[k], and theta is not used.

    With sections (s_t, s_h, s_w) a token has three positions, of time, height and width, which are the first axis of
    positions. Each pair turns by one of them. "chunked": the first s_t pairs turn by time, the next s_h by height, the
    last s_w by width. "interleaved": pair k turns by the axis k mod 3 if k is less than 3 times the section of that
    axis, else by time.

    Shapes
        x (..., n, d_k),  positions (n) or broadcastable to (..., n),  inverse_frequencies (r/2)  ->  as x
        (with sections: one such array of positions for each of the three axes)
    Dtypes
        as the arguments
    Units
        Angles in radians, inverse_frequencies in radians for each position.
    Domain
        x finite; positions any integers in any order; theta > 0; r even, 0 <= r <= d_k. inverse_frequencies finite,
        in float32 where x has 16 bits, else in the dtype of x. sections are three numbers of at least 0, whose sum is
        r/2. Where they are interleaved, 3 s_h <= r/2 + 1 and 3 s_w <= r/2, so that each has the size that it states.
    Edges
        Position 0 changes nothing, and lengths are kept, with an attention_factor of 1. The product of a turned
        query and a turned key depends on the difference of their positions alone. r = 0 turns nothing. Three equal
        positions turn a token as one position does, so that text does not show how sections are taken.

    Raises
        ValueError where r is odd or above d_k, where layout is neither "interleaved" nor "half", where
        inverse_frequencies is not of length r/2, where section_layout is neither "chunked" nor "interleaved", or
        where sections are not three numbers whose sum is r/2.
    Choices
        interleaved pairs the features (2k, 2k+1): the paper, CS336, Llama's own code. half pairs
        (k, k + r/2): the exercise, Hugging Face transformers, GPT-NeoX. They differ by a fixed order of the
        features. The hand-out counts k from 1, hence its exponent (2k - 2) / d. With rotary_dim both the exponent
        and the pairs are those of r features, as in GPT-NeoX and ONNX; some models divide by d_k instead.
        attention_factor multiplies the cosine and the sine, hence scores by its square, as in YaRN. The
        frequencies of scaled contexts are those of rope_frequencies; transformers calls them inv_freq. Which
        features form a pair is the affair of layout alone: section_layout distributes the pairs over the axes.
        Qwen2-VL has chunked sections, Qwen3-VL interleaved ones.
    Source
        Su et al. 2021, arXiv:2104.09864, eqs. 14, 15 and 34. CS336 assignment 1, eqs. (8) and (9). Wang et al. 2024,
        arXiv:2409.12191, section 2.1, for sections.

    The first pair turns by one radian a position, the second a hundred times slower:

    >>> rope([[1.0, 0.0, 1.0, 0.0]], [1]).round(4)
    array([[0.5403, 0.8415, 1.    , 0.01  ]])
    >>> rope([[1.0, 0.0, 1.0, 0.0]], [1], rotary_dim=2, attention_factor=2.0).round(4)
    array([[1.0806, 1.6829, 1.    , 0.    ]])
    >>> rope([[1.0, 1.0, 0.0, 0.0]], [1], layout="half").round(4)
    array([[0.5403, 1.    , 0.8415, 0.01  ]])
    >>> rope([[1.0, 0.0, 1.0, 0.0]], [2], [0.5, 0.0]).round(4)
    array([[0.5403, 0.8415, 1.    , 0.    ]])
    >>> rope([[1.0, 0.0, 1.0, 0.0]], [[0], [1], [2]], [0.5, 0.5], sections=(0, 1, 1)).round(4)
    array([[0.8776, 0.4794, 0.5403, 0.8415]])

    """
    x = float64(x)
    d_k = x.shape[-1]
    r = d_k if rotary_dim is None else rotary_dim
    if r % 2 or not 0 <= r <= d_k:
        raise ValueError(
            f"rope: d_k = {d_k} is odd; features are turned in pairs."
            if rotary_dim is None
            else f"rope: rotary_dim = {r} is not an even number from 0 to d_k = {d_k}."
        )
    if inverse_frequencies is None:
        frequencies = np.power(wide(theta), -np.arange(0, r, 2) / max(r, 1))
    else:
        frequencies = wide(float64(inverse_frequencies))
        if frequencies.shape != (r // 2,):
            raise ValueError(f"rope: inverse_frequencies has shape {frequencies.shape}; {r} features need ({r // 2},).")
    place = wide(float64(positions))[..., None]
    if sections is not None:
        if place.shape[0] != 3:
            raise ValueError(f"rope: positions has shape {place.shape[:-1]}; with sections its first axis has 3 entries.")
        axes = axis_of_each_pair(sections, section_layout=section_layout, pairs=r // 2)
        place = np.take(np.moveaxis(place[..., 0], 0, -1), axes, axis=-1)
    angle = place * frequencies
    cos, sin = (eager(scaled(f(angle), attention_factor)) for f in (np.cos, np.sin))
    x, passed = x[..., :r], x[..., r:]
    if layout == "interleaved":
        a, b = x[..., 0::2], x[..., 1::2]
        turned = np.reshape(np.stack([a * cos - b * sin, a * sin + b * cos], axis=-1), x.shape)
    elif layout == "half":
        a, b = x[..., : r // 2], x[..., r // 2 :]
        turned = np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)
    else:
        raise ValueError(f"rope: layout={layout!r} is unknown; there are 'interleaved' and 'half'.")
    return turned if r == d_k else np.concatenate([turned, passed], axis=-1)
