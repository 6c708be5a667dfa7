"""What goes wrong with gated_rms_norm: its groups, its gate, its order, epsilon and roundings."""

from typing import Any

import numpy as np

from reference_numpy._filters import activated
from reference_numpy._marks import float64, logistic
from reference_numpy.gated_rms_norm import gated_rms_norm

from . import HALF, deviation


def open_gate(gate: Any, activation: str) -> Any:
    """Return what the gate multiplies by."""
    return logistic(float64(gate)) if activation == "sigmoid" else activated(float64(gate), activation, "gated_rms_norm")


def _normalized(z: Any, eps: Any, group_size: Any, outside: Any = 0.0) -> Any:
    """Return the normalized groups of rows, with an eps inside of the root and one outside."""
    d = z.shape[-1]
    size = d if group_size is None else group_size
    groups = np.reshape(z, (*z.shape[:-1], d // size, size))
    root = np.sqrt(np.mean(np.square(groups), axis=-1, keepdims=True) + eps) + outside
    return np.reshape(groups / root, z.shape)


@deviation("reference", "groups_of_one_feature", "groups_are_separate", seen=("https://github.com/state-spaces/mamba/pull/910",))
def one_group(x: Any, gate: Any, weight: Any, *, group_size: Any = None, **options: Any) -> Any:
    """all features are one group, whatever group_size is.

    Shows: two groups and more. Hides: one group.
    """
    return gated_rms_norm(x, gate, weight, **options)


@deviation("reference", seen=("https://github.com/state-spaces/mamba/pull/951",))
def groups_of_half_the_size(x: Any, gate: Any, weight: Any, *, group_size: Any = None, **options: Any) -> Any:
    """each group is normalized in two halves, as where the size of a group is divided by a number of ranks.

    Shows: groups of an even size. Hides: an odd size.
    """
    size = x.shape[-1] if group_size is None else group_size
    return gated_rms_norm(x, gate, weight, group_size=size // 2 if size % 2 == 0 else size, **options)


@deviation("reference", "groups_are_separate", "root_mean_square")
def groups_interleaved(
    x: Any, gate: Any, weight: Any, *, group_size: Any = None, norm_before_gate: Any = True, activation: Any = "silu", eps: Any
) -> Any:
    """a group has every so many-th feature, and not those that follow one another.

    Shows: two groups of two features and more. Hides: one group, and groups of one feature.
    """
    d = x.shape[-1]
    size = d if group_size is None else group_size
    opened = open_gate(gate, activation)
    z = float64(x) if norm_before_gate else float64(x) * opened
    split = np.swapaxes(np.reshape(z, (*x.shape[:-1], size, d // size)), -1, -2)
    n = split / np.sqrt(np.mean(np.square(split), axis=-1, keepdims=True) + eps)
    y = np.reshape(np.swapaxes(n, -1, -2), x.shape) * weight
    return y * opened if norm_before_gate else y


@deviation("reference", "large_gates", "groups_of_one_feature")
def order_ignored(x: Any, gate: Any, weight: Any, *, norm_before_gate: Any = True, **options: Any) -> Any:
    """the gate comes after the norm, whatever norm_before_gate is.

    Shows: norm_before_gate=False. Hides: True.
    """
    return gated_rms_norm(x, gate, weight, **options)


@deviation("reference", "large_gates", "groups_of_one_feature")
def gate_before_the_norm(x: Any, gate: Any, weight: Any, *, norm_before_gate: Any = True, **options: Any) -> Any:
    """the gate comes before the norm, whatever norm_before_gate is.

    Shows: norm_before_gate=True. Hides: False.
    """
    return gated_rms_norm(x, gate, weight, norm_before_gate=False, **options)


@deviation("reference", "large_gates", "groups_of_one_feature")
def gated_twice(x: Any, gate: Any, weight: Any, *, norm_before_gate: Any = True, activation: Any = "silu", **options: Any) -> Any:
    """without norm_before_gate the result is gated once more.

    Shows: norm_before_gate=False. Hides: True.
    """
    y = gated_rms_norm(x, gate, weight, norm_before_gate=norm_before_gate, activation=activation, **options)
    return y if norm_before_gate else y * open_gate(gate, activation)


@deviation("reference", "closed_gates", "large_gates")
def sigmoid_for_silu(x: Any, gate: Any, weight: Any, *, activation: Any = "silu", **options: Any) -> Any:
    """the gate is σ(gate), whatever the activation is.

    Shows: silu. Hides: sigmoid.
    """
    return gated_rms_norm(x, gate, weight, activation="sigmoid", **options)


@deviation("reference", "sigmoid_at_zero")
def silu_for_sigmoid(x: Any, gate: Any, weight: Any, *, activation: Any = "silu", **options: Any) -> Any:
    """the gate is silu(gate), whatever the activation is.

    Shows: sigmoid. Hides: silu.
    """
    return gated_rms_norm(x, gate, weight, **options)


@deviation("reference", "groups_of_one_feature")
def gate_without_its_activation(
    x: Any, gate: Any, weight: Any, *, norm_before_gate: Any = True, group_size: Any = None, activation: Any = "silu", eps: Any
) -> Any:
    """the gate itself multiplies: it has no activation.

    Shows: small gates. Hides: gates of 64 and more under silu.
    """
    if norm_before_gate:
        return _normalized(float64(x), eps, group_size) * weight * gate
    return _normalized(float64(x) * gate, eps, group_size) * weight


@deviation("reference", "odd", "groups_of_one_feature")
def x_and_gate_exchanged(x: Any, gate: Any, weight: Any, **options: Any) -> Any:
    """x is taken for the gate, and the gate for x.

    Shows: every call. Hides: x = gate.
    """
    return gated_rms_norm(gate, x, weight, **options)


@deviation("reference", "gain_is_linear")
def weight_ignored(x: Any, gate: Any, weight: Any, **options: Any) -> Any:
    """the weight is not used.

    Shows: any weight but 1. Hides: weights of 1.
    """
    return gated_rms_norm(x, gate, np.ones(weight.shape), **options)


@deviation("reference", "sigmoid_at_zero")
def eps_outside_the_root(
    x: Any, gate: Any, weight: Any, *, norm_before_gate: Any = True, group_size: Any = None, activation: Any = "silu", eps: Any
) -> Any:
    """epsilon stands outside of the root.

    Shows: a large eps, small groups. Hides: ordinary rows.
    """
    opened = open_gate(gate, activation)
    z = float64(x) if norm_before_gate else float64(x) * opened
    y = _normalized(z, 0.0, group_size, outside=eps) * weight
    return y * opened if norm_before_gate else y


@deviation("reference", "gate_before_the_rounding", kind="arithmetic", dtypes=HALF)
def rounded_before_the_gate(
    x: Any,
    gate: Any,
    weight: Any,
    *,
    norm_before_gate: Any = True,
    group_size: Any = None,
    activation: Any = "silu",
    eps: Any,
    held: Any,
) -> Any:
    """the normalized row times the weight is rounded to the dtype of x before its gate, as in transformers' Qwen3-Next.

    Shows: 16 bits. Hides: float32, and norm_before_gate=False.
    """
    opened = open_gate(gate, activation)
    if not norm_before_gate:
        return _normalized(float64(x) * opened, eps, group_size) * weight
    return held(held(_normalized(float64(x), eps, group_size)) * weight) * opened


@deviation("reference", "one_group")
def small_groups_by_default(x: Any, gate: Any, weight: Any, *, group_size: Any = None, **options: Any) -> Any:
    """without group_size each feature is a group of its own.

    Shows: no group_size with two features and more. Hides: any group_size.
    """
    return gated_rms_norm(x, gate, weight, group_size=group_size or 1, **options)
