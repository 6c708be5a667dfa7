"""What goes wrong with gelu."""

import math
from typing import Any

import numpy as np

from reference_numpy._marks import normal_cdf
from reference_numpy.gelu import gelu
from reference_numpy.sigmoid import sigmoid

from . import deviation

WIDE = ("float64", "float32")
ROOT = math.sqrt(2 / math.pi)


def by_tanh(x: Any, inner: Any) -> Any:
    """Return the tanh form with another argument."""
    return x * (0.5 * (1 + np.tanh(inner)))


@deviation(
    "reference", "two_forms", kind="convention", dtypes=WIDE, meant='domain = {"gelu": {"approximate": ("tanh",)}}',
    seen=("https://github.com/AlexanderLutsenko/nobuco/pull/9", "https://github.com/apache/tvm/pull/14814",
          "https://github.com/huggingface/candle/pull/900"),
)  # fmt: skip
def tanh_for_erf(x: Any, *, approximate: str = "none") -> Any:
    """the tanh form is computed where the exact one was asked for.

    Shows: |x| between 1 and 5 in float32. Hides: 16-bit dtypes, tolerances of 1e-3.
    """
    return gelu(x, approximate="tanh")


@deviation(
    "reference", "two_forms", kind="convention", dtypes=WIDE, meant='domain = {"gelu": {"approximate": ("none",)}}',
)  # fmt: skip
def erf_for_tanh(x: Any, *, approximate: str = "none") -> Any:
    """the exact form is computed where the tanh form was asked for.

    Shows: |x| between 1 and 5 in float32. Hides: 16-bit dtypes, tolerances of 1e-3.
    """
    return gelu(x)


@deviation("reference", "minimum", kind="convention")
def quick(x: Any, *, approximate: str = "none") -> Any:
    """the gate is σ(1.702 x), the cheapest of the approximations.

    Shows: |x| between ½ and 5, by up to 0.02. Hides: the rest.
    """
    return x * sigmoid(1.702 * x)


@deviation("reference", "even_part", seen=("https://github.com/tensorflow/tfjs/pull/8224",))
def square_for_cube(x: Any, *, approximate: str = "none") -> Any:
    """the tanh form has 0.044715 x² in place of 0.044715 x³.

    Shows: |x| > 1. Hides: 0 and 1, where square and cube agree.
    """
    return gelu(x) if approximate == "none" else by_tanh(x, ROOT * (x + 0.044715 * (x * x)))


@deviation("reference", "even_part")
def linear_term_alone(x: Any, *, approximate: str = "none") -> Any:
    """the tanh form lacks its cubic term.

    Shows: |x| > 1. Hides: small numbers, and those far away.
    """
    return gelu(x) if approximate == "none" else by_tanh(x, ROOT * x)


@deviation("reference", "even_part", seen=("https://github.com/huggingface/transformers/pull/11514",))
def coefficients_exchanged(x: Any, *, approximate: str = "none") -> Any:
    """the tanh form exchanges 0.044715 and √(2/π).

    Shows: numbers of size 1. Hides: those far away.
    """
    return gelu(x) if approximate == "none" else by_tanh(x, 0.044715 * (x + ROOT * (x * x * x)))


@deviation("reference", "even_part", dtypes=WIDE)
def constant_of_four_digits(x: Any, *, approximate: str = "none") -> Any:
    """the tanh form has 0.7978 in place of √(2/π).

    Shows: |x| about 1 in float32. Hides: 16-bit dtypes, tolerances of 1e-4.
    """
    return gelu(x) if approximate == "none" else by_tanh(x, 0.7978 * (x + 0.044715 * (x * x * x)))


@deviation("reference", "slope_at_zero")
def root_of_two_alone(x: Any, *, approximate: str = "none") -> Any:
    """the tanh form has √2/π in place of √(2/π).

    Shows: numbers of size 1. Hides: those far away.
    """
    return gelu(x) if approximate == "none" else by_tanh(x, math.sqrt(2) / math.pi * (x + 0.044715 * (x * x * x)))


@deviation("reference", "even_part")
def erf_of_x(x: Any, *, approximate: str = "none") -> Any:
    """the exact form has erf(x) in place of erf(x/√2).

    Shows: numbers of size 1. Hides: those far away.
    """
    return x * normal_cdf(math.sqrt(2) * x) if approximate == "none" else gelu(x, approximate=approximate)


@deviation("reference", "far_away")
def not_halved(x: Any, *, approximate: str = "none") -> Any:
    """the half is missing: x (1 + erf(x/√2)).

    Shows: anything but 0 and the far left. Hides: these.
    """
    return 2 * gelu(x, approximate=approximate)


@deviation("reference", "zero")
def gate_alone(x: Any, *, approximate: str = "none") -> Any:
    """the factor x is missing: Φ(x).

    Shows: anything but 1. Hides: nothing.
    """
    return normal_cdf(x) if approximate == "none" else 0.5 * (1 + np.tanh(ROOT * (x + 0.044715 * (x * x * x))))


@deviation(
    "reference", "no_overflow", kind="arithmetic",
    seen=("https://github.com/ooples/AiDotNet.Tensors/pull/594", "https://github.com/intel/llm-scaler/pull/484",
          "https://github.com/pytorch/pytorch/issues/186278"),
)  # fmt: skip
def tanh_overflows(x: Any, *, approximate: str = "none", held: Any) -> Any:
    """the tanh form has (e^2z − 1) / (e^2z + 1) in place of tanh(z), which is ∞/∞ where e^2z overflows.

    Shows: x > 10 in float32, 4 in float16, 20 in float64. Hides: standard normal numbers.
    """
    if approximate == "none":
        return gelu(x)
    e = held(np.exp(2 * held(ROOT * held(x + 0.044715 * (x * x * x)))))
    return held(x * held(0.5 * held(1 + held(held(e - 1) / held(e + 1)))))


@deviation("no_overflow", kind="arithmetic")
def halved_last(x: Any, *, approximate: str = "none", held: Any) -> Any:
    """x (1 + erf(x/√2)) overflows before it is halved.

    Shows: numbers beyond half the dtype's largest. Hides: everything smaller.
    """
    return held(held(2 * gelu(x, approximate=approximate)) / 2)


@deviation("reference", "even_part", dtypes=("float64",))
def constant_in_float32(x: Any, *, approximate: str = "none") -> Any:
    """1/√2, or 0.044715 in the tanh form, has the digits of float32.

    Shows: float64. Hides: float32, where it has to.
    """
    inverse_root, cubic = (float(np.float32(constant)) for constant in (math.sqrt(0.5), 0.044715))
    if approximate == "none":
        return x * normal_cdf(math.sqrt(2) * (x * inverse_root))
    return by_tanh(x, ROOT * (x + cubic * (x * x * x)))


@deviation("reference", dtypes=("float64",))
def erf_of_seven_digits(x: Any, *, approximate: str = "none") -> Any:
    """erf is the five-term approximation of Abramowitz and Stegun, 7.1.26, good to 1.5e-7.

    Shows: float64. Hides: float32, whose own erf may err as much.
    """
    if approximate != "none":
        return gelu(x, approximate=approximate)
    z = np.abs(x) / math.sqrt(2)
    t = 1 / (1 + 0.3275911 * z)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return np.maximum(x, 0.0) - np.abs(x) * (series * np.exp(-np.square(z)) / 2)


@deviation("elementwise", kind="arithmetic")
def quantized_by_row(x: Any, *, approximate: str = "none", held: Any) -> Any:
    """x is first quantized to eight bits, with a scale of each row's own.

    Shows: small numbers beside a large one. Hides: rows of one magnitude, coarse comparisons.
    """
    largest = np.max(np.abs(x), axis=-1, keepdims=True) if x.ndim else np.abs(x)
    scale = np.maximum(largest, 1e-30) / 127
    return gelu(held(np.rint(x / scale) * scale), approximate=approximate)
