"""What goes wrong with glu."""

from typing import Any

import numpy as np

from reference_numpy.linear import linear
from reference_numpy.sigmoid import sigmoid
from reference_numpy.silu import silu

from . import deviation
from .swiglu import join_biases


@deviation("reference", "half_open", "linear_in_w2")
def gate_and_signal_exchanged(x: Any, w1: Any, w2: Any, b1: Any = None, b2: Any = None) -> Any:
    """w2 gates and w1 goes straight through.

    Shows: weights that differ. Hides: equal ones, comparisons of mean and variance.
    """
    return linear(x, w1, b1) * sigmoid(linear(x, w2, b2))


@deviation("reference", "opposite_gates")
def no_gate(x: Any, w1: Any, w2: Any, b1: Any = None, b2: Any = None) -> Any:
    """the sigmoid is missing: w1 x ⊙ w2 x.

    Shows: anything. Hides: gates of 1.
    """
    return linear(x, w1, b1) * linear(x, w2, b2)


@deviation("reference", "between_nothing_and_all", kind="convention")
def silu_gate(x: Any, w1: Any, w2: Any, b1: Any = None, b2: Any = None) -> Any:
    """silu gates in place of the sigmoid, as in swiglu.

    Shows: anything. Hides: gates near 1.
    """
    return silu(linear(x, w1, b1)) * linear(x, w2, b2)


@deviation("reference", "linear_in_w2", kind="convention")
def tanh_of_the_signal(x: Any, w1: Any, w2: Any, b1: Any = None, b2: Any = None) -> Any:
    """the gated signal is tanh(w2 x), as in WaveNet.

    Shows: signals of size 1 and more. Hides: small ones.
    """
    return sigmoid(linear(x, w1, b1)) * np.tanh(linear(x, w2, b2))


@deviation("reference", "linear_in_w2")
def sigmoid_of_the_product(x: Any, w1: Any, w2: Any, b1: Any = None, b2: Any = None) -> Any:
    """the sigmoid is taken of the product: σ(w1 x ⊙ w2 x).

    Shows: anything. Hides: nothing.
    """
    return sigmoid(linear(x, w1, b1) * linear(x, w2, b2))


@deviation("reference", "half_open")
def added(x: Any, w1: Any, w2: Any, b1: Any = None, b2: Any = None) -> Any:
    """gate and signal are added, not multiplied.

    Shows: anything. Hides: nothing.
    """
    return sigmoid(linear(x, w1, b1)) + linear(x, w2, b2)


@deviation("reference", "half_open", kind="convention")
def fused_weight_interleaved(x: Any, w1: Any, w2: Any, b1: Any = None, b2: Any = None) -> Any:
    """w1 and w2 are stacked into one weight, whose even rows are then taken for gates and whose odd rows for signals.

    Shows: two outputs or more. Hides: one output.
    """
    fused, bias = np.concatenate([w1, w2], axis=0), join_biases(b1, b2, w1.shape[0])
    return sigmoid(linear(x, fused[0::2], bias[0::2])) * linear(x, fused[1::2], bias[1::2])


@deviation("reference", "outputs_are_independent")
def gates_share_one_softmax(x: Any, w1: Any, w2: Any, b1: Any = None, b2: Any = None) -> Any:
    """the gates of a token are a softmax, not a sigmoid of each.

    Shows: anything. Hides: nothing.
    """
    z = linear(x, w1, b1)
    e = np.exp(z - np.max(z, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True) * linear(x, w2, b2)


@deviation("reference")
def last_outputs_ungated(x: Any, w1: Any, w2: Any, b1: Any = None, b2: Any = None) -> Any:
    """outputs beyond the last multiple of eight are not gated: a vector loop has no remainder.

    Shows: more than eight outputs, and not a multiple of eight. Hides: multiples of eight.
    """
    whole = w1.shape[0] // 8 * 8
    gate, signal = sigmoid(linear(x, w1, b1)), linear(x, w2, b2)
    if whole == 0:
        return gate * signal
    return np.concatenate([gate[..., :whole] * signal[..., :whole], signal[..., whole:]], axis=-1)


# --- biases ---------------------------------------------------------------------------------------------------------


@deviation("reference", "biases_are_a_constant_feature")
def bias_of_the_gate_after_the_sigmoid(x: Any, w1: Any, w2: Any, b1: Any = None, b2: Any = None) -> Any:
    """b1 is added to σ(w1 x), not inside it.

    Shows: b1. Hides: no b1.
    """
    gate = sigmoid(linear(x, w1))
    return (gate if b1 is None else gate + b1) * linear(x, w2, b2)


@deviation("reference", "biases_are_a_constant_feature")
def bias_of_the_signal_not_gated(x: Any, w1: Any, w2: Any, b1: Any = None, b2: Any = None) -> Any:
    """b2 is added to the gated signal, so that a shut gate lets it pass.

    Shows: b2. Hides: no b2; gates of 1.
    """
    y = sigmoid(linear(x, w1, b1)) * linear(x, w2)
    return y if b2 is None else y + b2


@deviation("reference", "biases_are_a_constant_feature")
def biases_exchanged(x: Any, w1: Any, w2: Any, b1: Any = None, b2: Any = None) -> Any:
    """the gate has b2 and the signal b1.

    Shows: biases that differ, or one of them alone. Hides: equal ones, or none.
    """
    return sigmoid(linear(x, w1, b2)) * linear(x, w2, b1)
