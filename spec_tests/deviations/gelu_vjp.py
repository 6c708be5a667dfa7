"""What goes wrong with the gradient of gelu: the terms of the product rule, and the other form."""

from typing import Any

import numpy as np

from reference_numpy._marks import logistic, normal_cdf
from reference_numpy.gelu_vjp import gelu_vjp

from . import deviation


@deviation("reference")
def density_missing(cotangent: Any, x: Any, *, approximate: str = "none") -> Any:
    """the gate is treated as a constant: c Φ(x), in the exact form.

    Shows: ordinary x but 0. Hides: both tails.
    """
    return (cotangent * normal_cdf(x),) if approximate == "none" else gelu_vjp(cotangent, x, approximate=approximate)


@deviation("reference")
def tanh_s_slope_for_both(cotangent: Any, x: Any, *, approximate: str = "none") -> Any:
    """the slope is that of the tanh form, whichever is asked for.

    Shows: the exact form, to 1e-3. Hides: the tanh form, and 16 bits with few elements.
    """
    return gelu_vjp(cotangent, x, approximate="tanh")


@deviation("reference")
def exact_slope_for_both(cotangent: Any, x: Any, *, approximate: str = "none") -> Any:
    """the slope is that of the exact form, whichever is asked for.

    Shows: the tanh form, to 1e-3. Hides: the exact form.
    """
    return gelu_vjp(cotangent, x, approximate="none")


@deviation("reference")
def cubic_term_not_differentiated(cotangent: Any, x: Any, *, approximate: str = "none") -> Any:
    """the derivative of 0.044715 x³ is taken without the factor 3, in the tanh form.

    Shows: |x| from 0.5 to 3. Hides: the exact form, both tails.
    """
    if approximate == "none":
        return gelu_vjp(cotangent, x, approximate=approximate)
    factor = np.sqrt(2 / np.pi)
    t = np.tanh(factor * (x + 0.044715 * (x * x * x)))
    inner = factor * (1 + 0.044715 * np.square(x))
    return (cotangent * (0.5 * (1 + t) + 0.5 * x * (1 - np.square(t)) * inner),)


@deviation("reference", seen=("https://github.com/tinygrad/tinygrad/pull/526",))
def slope_of_the_quick_form(cotangent: Any, x: Any, *, approximate: str = "none") -> Any:
    """the slope is that of x σ(1.702 x).

    Shows: ordinary x. Hides: both tails.
    """
    s = logistic(1.702 * x)
    return (cotangent * (s + 1.702 * x * (s * (1 - s))),)


@deviation("reference", "half_at_zero", "opposite_slopes")
def gate_s_slope_alone(cotangent: Any, x: Any, *, approximate: str = "none") -> Any:
    """only the gate is differentiated: c (y' − y / x), which is c x φ(x) in the exact form.

    Shows: x ≥ 0. Hides: the lower tail.
    """
    if approximate == "none":
        return (cotangent * (x * (np.exp(-np.square(x) / 2) / np.sqrt(2 * np.pi))),)
    factor = np.sqrt(2 / np.pi)
    t = np.tanh(factor * (x + 0.044715 * (x * x * x)))
    return (cotangent * (0.5 * x * (1 - np.square(t)) * (factor * (1 + (3 * 0.044715) * np.square(x)))),)


@deviation("reference", kind="arithmetic", dtypes=("float16",), seen=("https://github.com/facebookresearch/fairseq/issues/2235",))
def slope_of_the_cube_overflows(cotangent: Any, x: Any, *, approximate: str = "none", held: Any) -> Any:
    """in the tanh form 1 − tanh², which is 0, is multiplied by 3 x², which has overflowed: NaN.

    Shows: float16 from 148 on. Hides: smaller numbers, the exact form, dtypes of more range.
    """
    if approximate == "none":
        return gelu_vjp(cotangent, x, approximate=approximate)
    factor = np.sqrt(2 / np.pi)
    t = np.tanh(factor * (x + 0.044715 * (x * x * x)))
    inner = factor * (0.5 * (cotangent * x) * (1 - np.square(t)))
    return (cotangent * (0.5 * (1 + t)) + inner + 0.044715 * inner * held(3 * np.square(x)),)
