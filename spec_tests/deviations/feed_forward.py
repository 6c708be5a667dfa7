"""What goes wrong with feed_forward."""

from types import MappingProxyType
from typing import Any

from reference_numpy.feed_forward import feed_forward
from reference_numpy.gelu import gelu
from reference_numpy.linear import linear
from reference_numpy.relu import relu
from reference_numpy.silu import silu

from . import deviation

ACTIVATIONS = MappingProxyType({"relu": relu, "gelu": gelu})


@deviation("reference")
def activation_ignored(x: Any, w1: Any, w2: Any, b1: Any = None, b2: Any = None, *, activation: str = "relu") -> Any:
    """relu is used where gelu was asked for.

    Shows: activation="gelu". Hides: the default.
    """
    return feed_forward(x, w1, w2, b1, b2)


@deviation("reference", "dead_units", "relu_is_homogeneous")
def gelu_for_relu(x: Any, w1: Any, w2: Any, b1: Any = None, b2: Any = None, *, activation: str = "relu") -> Any:
    """gelu is used where relu was asked for.

    Shows: activation="relu", numbers of size 1. Hides: those far from 0.
    """
    return feed_forward(x, w1, w2, b1, b2, activation="gelu")


@deviation("reference", "gelu")
def silu_for_gelu(x: Any, w1: Any, w2: Any, b1: Any = None, b2: Any = None, *, activation: str = "relu") -> Any:
    """silu is used where gelu was asked for.

    Shows: activation="gelu". Hides: the default.
    """
    if activation == "relu":
        return feed_forward(x, w1, w2, b1, b2)
    return linear(silu(linear(x, w1, b1)), w2, b2)


@deviation("reference", "absolute_value")
def no_activation(x: Any, w1: Any, w2: Any, b1: Any = None, b2: Any = None, *, activation: str = "relu") -> Any:
    """the activation is missing, which leaves one linear map.

    Shows: negative numbers before it. Hides: large positive ones.
    """
    return linear(linear(x, w1, b1), w2, b2)


@deviation("reference", "linear_in_w2")
def result_activated(x: Any, w1: Any, w2: Any, b1: Any = None, b2: Any = None, *, activation: str = "relu") -> Any:
    """the result passes the activation once more.

    Shows: negative results. Hides: large positive ones.
    """
    return ACTIVATIONS[activation](feed_forward(x, w1, w2, b1, b2, activation=activation))


@deviation("reference", "b1_weighs_a_constant")
def b1_behind_the_activation(x: Any, w1: Any, w2: Any, b1: Any = None, b2: Any = None, *, activation: str = "relu") -> Any:
    """b1 is added after the activation.

    Shows: b1. Hides: b1 = 0, or none.
    """
    hidden = ACTIVATIONS[activation](linear(x, w1))
    return linear(hidden if b1 is None else hidden + b1, w2, b2)


@deviation("reference", "b2_is_added", "zero")
def b2_twice(x: Any, w1: Any, w2: Any, b1: Any = None, b2: Any = None, *, activation: str = "relu") -> Any:
    """b2 is added twice, as if each of two parallel halves added it.

    Shows: b2. Hides: b2 = 0, or none.
    """
    y = feed_forward(x, w1, w2, b1, b2, activation=activation)
    return y if b2 is None else y + b2


@deviation("reference", "b2_is_added")
def b2_only_with_b1(x: Any, w1: Any, w2: Any, b1: Any = None, b2: Any = None, *, activation: str = "relu") -> Any:
    """b2 is left out where there is no b1.

    Shows: b2 alone. Hides: both biases, or none.
    """
    return feed_forward(x, w1, w2, b1, None if b1 is None else b2, activation=activation)


@deviation("reference", "zero")
def residual_included(x: Any, w1: Any, w2: Any, b1: Any = None, b2: Any = None, *, activation: str = "relu") -> Any:
    """x is added to the result, as the block around it does.

    Shows: anything but x = 0. Hides: x = 0.
    """
    return feed_forward(x, w1, w2, b1, b2, activation=activation) + x


@deviation("reference")
def last_units_dropped(x: Any, w1: Any, w2: Any, b1: Any = None, b2: Any = None, *, activation: str = "relu") -> Any:
    """hidden units beyond the last multiple of eight are left out: a loop over tiles has no remainder.

    Shows: more than eight hidden units, and not a multiple of eight. Hides: multiples of eight.
    """
    whole = w1.shape[0] // 8 * 8 or w1.shape[0]
    return feed_forward(x, w1[:whole], w2[:, :whole], None if b1 is None else b1[:whole], b2, activation=activation)
