"""What goes wrong with swiglu."""

from typing import Any

import numpy as np

from reference_numpy.linear import linear
from reference_numpy.relu import relu
from reference_numpy.sigmoid import sigmoid
from reference_numpy.silu import silu
from reference_numpy.swiglu import swiglu
from spec_tests.specification.formats import FORMATS

from . import deviation
from ._steps import make_rounder


def join_biases(first: Any, second: Any, length: int) -> Any:
    """Return two biases as one, with zeros for one that is not given."""
    return np.concatenate([np.zeros(length) if b is None else b for b in (first, second)])


@deviation("reference", "shut", "gate_and_signal", seen=("https://github.com/ml-explore/mlx-lm/pull/767",))
def gate_and_signal_exchanged(x: Any, w1: Any, w2: Any, w3: Any, b1: Any = None, b2: Any = None, b3: Any = None) -> Any:
    """w3 gates and w1 goes straight through.

    Shows: weights that differ. Hides: equal ones, comparisons of mean and variance.
    """
    return swiglu(x, w3, w2, w1, b3, b2, b1)


@deviation("reference", "shut")
def no_activation(x: Any, w1: Any, w2: Any, w3: Any, b1: Any = None, b2: Any = None, b3: Any = None) -> Any:
    """the silu is missing: w2 (w1 x ⊙ w3 x).

    Shows: anything. Hides: large positive gates, whose silu is the number itself.
    """
    return linear(linear(x, w1, b1) * linear(x, w3, b3), w2, b2)


@deviation("reference", "linear_in_w3")
def silu_of_the_product(x: Any, w1: Any, w2: Any, w3: Any, b1: Any = None, b2: Any = None, b3: Any = None) -> Any:
    """the silu is taken of the product: w2 silu(w1 x ⊙ w3 x).

    Shows: anything. Hides: nothing.
    """
    return linear(silu(linear(x, w1, b1) * linear(x, w3, b3)), w2, b2)


@deviation("reference", "linear_in_w3")
def signal_activated_too(x: Any, w1: Any, w2: Any, w3: Any, b1: Any = None, b2: Any = None, b3: Any = None) -> Any:
    """the signal w3 x passes a silu of its own.

    Shows: anything. Hides: large positive signals.
    """
    return linear(silu(linear(x, w1, b1)) * silu(linear(x, w3, b3)), w2, b2)


@deviation("reference", "shut")
def added(x: Any, w1: Any, w2: Any, w3: Any, b1: Any = None, b2: Any = None, b3: Any = None) -> Any:
    """gate and signal are added, not multiplied.

    Shows: anything. Hides: nothing.
    """
    return linear(silu(linear(x, w1, b1)) + linear(x, w3, b3), w2, b2)


@deviation("reference", "gate_and_signal", kind="convention")
def relu_gate(x: Any, w1: Any, w2: Any, w3: Any, b1: Any = None, b2: Any = None, b3: Any = None) -> Any:
    """relu gates in place of silu, as in the unit called ReGLU.

    Shows: gates within ±10. Hides: those far away.
    """
    return linear(relu(linear(x, w1, b1)) * linear(x, w3, b3), w2, b2)


@deviation("reference", "linear_in_w3", kind="convention")
def clamped_and_shifted(x: Any, w1: Any, w2: Any, w3: Any, b1: Any = None, b2: Any = None, b3: Any = None) -> Any:
    """gate and signal are clamped at 7, the gate is z σ(1.702 z), and 1 is added to the signal, as in gpt-oss.

    Shows: anything. Hides: nothing.
    """
    gate, signal = -np.maximum(-linear(x, w1, b1), -7.0), -np.maximum(-np.maximum(linear(x, w3, b3), -7.0), -7.0)
    return linear(gate * sigmoid(1.702 * gate) * (signal + 1), w2, b2)


@deviation("reference", "linear_in_w2")
def result_activated(x: Any, w1: Any, w2: Any, w3: Any, b1: Any = None, b2: Any = None, b3: Any = None) -> Any:
    """the result passes one more silu.

    Shows: anything. Hides: large positive results.
    """
    return silu(swiglu(x, w1, w2, w3, b1, b2, b3))


@deviation("reference", "zero", "shut")
def residual_included(x: Any, w1: Any, w2: Any, w3: Any, b1: Any = None, b2: Any = None, b3: Any = None) -> Any:
    """x is added to the result, as the block around it does.

    Shows: anything but x = 0. Hides: x = 0.
    """
    return swiglu(x, w1, w2, w3, b1, b2, b3) + x


@deviation("reference", "shut", kind="convention")
def fused_weight_interleaved(x: Any, w1: Any, w2: Any, w3: Any, b1: Any = None, b2: Any = None, b3: Any = None) -> Any:
    """w1 and w3 are stacked into one weight, whose even rows are then taken for gates and whose odd rows for signals.

    Shows: two hidden units or more. Hides: one.
    """
    fused, bias = np.concatenate([w1, w3], axis=0), join_biases(b1, b3, w1.shape[0])
    return swiglu(x, fused[0::2], w2, fused[1::2], bias[0::2], b2, bias[1::2])


@deviation("reference", kind="convention")
def w2_and_w3_exchanged_where_square(x: Any, w1: Any, w2: Any, w3: Any, b1: Any = None, b2: Any = None, b3: Any = None) -> Any:
    """w2 and w3 are exchanged, which raises no error if the weights are square.

    Shows: as many hidden units as features. Hides: any other number of them, which raises an error elsewhere.
    """
    return swiglu(x, w1, w3, w2, b1, b2, b3) if w1.shape[0] == w1.shape[1] else swiglu(x, w1, w2, w3, b1, b2, b3)


@deviation("reference")
def last_units_dropped(x: Any, w1: Any, w2: Any, w3: Any, b1: Any = None, b2: Any = None, b3: Any = None) -> Any:
    """hidden units beyond the last multiple of eight are left out: a loop over tiles has no remainder.

    Shows: more than eight hidden units, and not a multiple of eight. Hides: multiples of eight.
    """
    whole = w1.shape[0] // 8 * 8 or w1.shape[0]
    b1, b3 = (b if b is None else b[:whole] for b in (b1, b3))
    return swiglu(x, w1[:whole], w2[:, :whole], w3[:whole], b1, b2, b3)


@deviation("reference", kind="arithmetic", dtypes=("float64", "float32"))
def hidden_in_bfloat16(x: Any, w1: Any, w2: Any, w3: Any, b1: Any = None, b2: Any = None, b3: Any = None, *, held: Any) -> Any:
    """the hidden units are kept in bfloat16.

    Shows: float32. Hides: bfloat16, where they may be.
    """
    return linear(make_rounder(FORMATS["bfloat16"])(silu(linear(x, w1, b1)) * linear(x, w3, b3)), w2, b2)


# --- biases ---------------------------------------------------------------------------------------------------------


@deviation("reference", "biases_are_a_constant_feature")
def bias_of_the_gate_after_the_activation(
    x: Any, w1: Any, w2: Any, w3: Any, b1: Any = None, b2: Any = None, b3: Any = None
) -> Any:
    """b1 is added to silu(w1 x), not inside it.

    Shows: b1. Hides: no b1; gates far above 0, whose silu is the number itself.
    """
    gate = silu(linear(x, w1))
    return linear((gate if b1 is None else gate + b1) * linear(x, w3, b3), w2, b2)


@deviation("reference", "biases_are_a_constant_feature")
def biases_of_gate_and_signal_exchanged(x: Any, w1: Any, w2: Any, w3: Any, b1: Any = None, b2: Any = None, b3: Any = None) -> Any:
    """the gate has b3 and the signal b1.

    Shows: b1 and b3 that differ, or one of them alone. Hides: equal ones, or none.
    """
    return swiglu(x, w1, w2, w3, b3, b2, b1)


@deviation("reference", "biases_are_a_constant_feature")
def bias_of_the_signal_added_to_the_product(
    x: Any, w1: Any, w2: Any, w3: Any, b1: Any = None, b2: Any = None, b3: Any = None
) -> Any:
    """b3 is added to the gated signal, so that a shut gate lets it pass.

    Shows: b3. Hides: no b3; gates of 1.
    """
    hidden = silu(linear(x, w1, b1)) * linear(x, w3)
    return linear(hidden if b3 is None else hidden + b3, w2, b2)


@deviation("reference", "last_bias_is_added")
def last_bias_missing(x: Any, w1: Any, w2: Any, w3: Any, b1: Any = None, b2: Any = None, b3: Any = None) -> Any:
    """b2 is not added.

    Shows: b2. Hides: no b2.
    """
    return swiglu(x, w1, w2, w3, b1, None, b3)
