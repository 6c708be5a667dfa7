"""What goes wrong with the angles of rope: the frequencies, theta, and the precision that they are kept in."""

from typing import Any

import numpy as np

from reference_numpy._marks import wide
from reference_numpy.rope import rope
from spec_tests.specification.formats import FORMATS

from . import HALF, deviation
from ._steps import make_rounder
from .rope import compute_angles, compute_frequencies, cos_and_sin, join_pairs, split_pairs, with_frequencies


def rotate(x: Any, angle: Any, layout: str) -> Any:
    (a, b), (cos, sin) = split_pairs(x, layout), cos_and_sin(angle)
    return join_pairs(a * cos - b * sin, a * sin + b * cos, layout)


@deviation("reference", "frequencies", "theta")
def theta_ignored(x: Any, positions: Any, *, theta: float = 10000.0, layout: str = "interleaved") -> Any:
    """theta is 10000 whatever was given.

    Shows: another theta. Hides: the default.
    """
    return rope(x, positions, layout=layout)


@deviation("reference", "frequencies")
def exponent_halved(x: Any, positions: Any, *, theta: float = 10000.0, layout: str = "interleaved") -> Any:
    """the exponent is −k/d_k, without its 2.

    Shows: the second pair and later ones. Hides: d_k = 2.
    """
    return rope(x, positions, theta=np.sqrt(wide(theta)), layout=layout)


@deviation("reference", "frequencies")
def exponent_doubled(x: Any, positions: Any, *, theta: float = 10000.0, layout: str = "interleaved") -> Any:
    """the exponent is −4k/d_k: doubled once more where k counts features already.

    Shows: the second pair and later ones. Hides: d_k = 2.
    """
    return rope(x, positions, theta=np.square(wide(theta)), layout=layout)


@deviation("reference", "frequencies")
def exponent_of_one_pair_less(x: Any, positions: Any, *, theta: float = 10000.0, layout: str = "interleaved") -> Any:
    """the exponent is −2k/(d_k − 2), so that the last frequency is 1/theta.

    Shows: the second pair and later ones. Hides: d_k = 2.
    """
    d_k = x.shape[-1]
    return rope(x, positions, theta=np.power(wide(theta), d_k / (d_k - 2)) if d_k > 2 else theta, layout=layout)


@deviation("reference", "frequencies", "theta")
def pairs_counted_from_one(x: Any, positions: Any, *, theta: float = 10000.0, layout: str = "interleaved") -> Any:
    """the exponent is −2(k + 1)/d_k: k is counted from 1.

    Shows: every pair. Hides: position 0.
    """
    frequencies = compute_frequencies(x.shape[-1], theta) * np.power(wide(theta), -2 / x.shape[-1])
    return rotate(x, compute_angles(positions, frequencies), layout)


@deviation("reference", "frequencies")
def theta_multiplies(x: Any, positions: Any, *, theta: float = 10000.0, layout: str = "interleaved") -> Any:
    """the exponent is +2k/d_k: later pairs turn faster.

    Shows: the second pair and later ones. Hides: d_k = 2.
    """
    return rope(x, positions, theta=1 / wide(theta), layout=layout)


@deviation("reference", "frequencies")
def every_pair_alike(x: Any, positions: Any, *, theta: float = 10000.0, layout: str = "interleaved") -> Any:
    """every pair turns by one radian a position, as where 2k // d_k is an integer division.

    Shows: the second pair and later ones. Hides: d_k = 2.
    """
    return rotate(x, wide(positions)[..., None] * np.ones(x.shape[-1] // 2), layout)


@deviation("reference", "frequencies", "theta")
def slowest_pair_first(x: Any, positions: Any, *, theta: float = 10000.0, layout: str = "interleaved") -> Any:
    """the frequencies are in the opposite order.

    Shows: two pairs or more. Hides: d_k = 2.
    """
    return rotate(x, compute_angles(positions, compute_frequencies(x.shape[-1], theta))[..., ::-1], layout)


@deviation(
    "reference", "frequencies", kind="arithmetic", dtypes=HALF,
    seen=("https://github.com/huggingface/transformers/issues/29496", "https://github.com/sgl-project/sglang-jax/pull/1473",
          "https://github.com/Modalities/modalities/pull/462"),
)  # fmt: skip
@with_frequencies
def frequencies_in_half(x: Any, positions: Any, frequencies: Any, *, layout: str = "interleaved", held: Any) -> Any:
    """the frequencies are rounded to the dtype of x, as where a model's buffers are cast with it.

    Shows: positions beyond a hundred. Hides: the first positions.
    """
    return rotate(x, compute_angles(positions, held(frequencies)), layout)


@deviation(
    "reference", "frequencies", kind="arithmetic", dtypes=HALF,
    seen=("https://github.com/EleutherAI/gpt-neox/issues/1003",),
)  # fmt: skip
@with_frequencies
def angles_in_half(x: Any, positions: Any, frequencies: Any, *, layout: str = "interleaved", held: Any) -> Any:
    """the angles are rounded to the dtype of x before their sines and cosines are taken.

    Shows: angles of more than a few radians. Hides: the first positions, and the slow pairs.
    """
    return rotate(x, held(compute_angles(positions, frequencies)), layout)


@deviation("reference", kind="arithmetic", dtypes=("float64", "float32"),
           seen=("https://github.com/KellerJordan/modded-nanogpt/issues/39",))  # fmt: skip
@with_frequencies
def table_in_bfloat16(x: Any, positions: Any, frequencies: Any, *, layout: str = "interleaved", held: Any) -> Any:
    """sines and cosines are kept in bfloat16, whatever the dtype of x.

    Shows: float32. Hides: bfloat16, where they may be.
    """
    narrow = make_rounder(FORMATS["bfloat16"])
    (a, b), (cos, sin) = split_pairs(x, layout), map(narrow, cos_and_sin(compute_angles(positions, frequencies)))
    return join_pairs(a * cos - b * sin, a * sin + b * cos, layout)


@deviation("reference", "isometry", kind="arithmetic", dtypes=("float64",))
@with_frequencies
def table_in_float32(x: Any, positions: Any, frequencies: Any, *, layout: str = "interleaved", held: Any) -> Any:
    """sines and cosines are kept in float32 for a float64 x.

    Shows: float64. Hides: every other dtype.
    """
    narrow = make_rounder(FORMATS["float32"])
    (a, b), (cos, sin) = split_pairs(x, layout), map(narrow, cos_and_sin(compute_angles(positions, frequencies)))
    return join_pairs(a * cos - b * sin, a * sin + b * cos, layout)


@deviation("calls_are_independent", kind="fault")
def table_of_another_theta(function: Any, x: Any, positions: Any, *, memory: dict[Any, Any], **keywords: Any) -> Any:
    """the table is remembered by its positions and width, and not made anew for another theta.

    Shows: two calls that differ in theta alone. Hides: a single call, one model.
    """
    theta = memory.setdefault((positions.tobytes(), x.shape[-1]), keywords["theta"])
    return function(x, positions, **{**keywords, "theta": theta})
