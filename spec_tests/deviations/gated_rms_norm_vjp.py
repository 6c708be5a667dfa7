"""What goes wrong with the gradients of gated_rms_norm."""

from typing import Any

import numpy as np

from reference_numpy._marks import float64
from reference_numpy.gated_rms_norm_vjp import gated_rms_norm_vjp

from . import deviation
from .gated_rms_norm import open_gate


@deviation("reference", "orthogonal")
def statistic_detached(
    cotangent: Any,
    x: Any,
    gate: Any,
    weight: Any,
    *,
    eps: Any,
    norm_before_gate: Any = True,
    group_size: Any = None,
    activation: Any = "silu",
) -> Any:
    """the root of the mean square counts as a constant: dx lacks its second term.

    Shows: every call. Hides: cotangents that are orthogonal to x.
    """
    options = {"norm_before_gate": norm_before_gate, "group_size": group_size, "activation": activation}
    _, dgate, dweight = gated_rms_norm_vjp(cotangent, x, gate, weight, eps=eps, **options)
    opened = open_gate(gate, activation)
    z = float64(x) if norm_before_gate else float64(x) * opened
    d = x.shape[-1]
    size = d if group_size is None else group_size
    groups = np.reshape(z, (*x.shape[:-1], d // size, size))
    root = np.sqrt(np.mean(np.square(groups), axis=-1, keepdims=True) + eps)
    terms = np.reshape(float64(cotangent) * weight * opened, groups.shape)
    return np.reshape(terms / root, x.shape), dgate, dweight


@deviation("reference", "gates_that_close")
def gate_without_gradient(cotangent: Any, x: Any, gate: Any, weight: Any, **options: Any) -> Any:
    """nothing flows back to the gate.

    Shows: every call. Hides: nothing.
    """
    dx, dgate, dweight = gated_rms_norm_vjp(cotangent, x, gate, weight, **options)
    return dx, 0 * dgate, dweight


@deviation("reference", "closed_gates")
def gate_left_out_of_dx(cotangent: Any, x: Any, gate: Any, weight: Any, *, norm_before_gate: Any = True, **options: Any) -> Any:
    """the gradient of x does not see the gate, with norm_before_gate.

    Shows: norm_before_gate=True. Hides: False.
    """
    dx, dgate, dweight = gated_rms_norm_vjp(cotangent, x, gate, weight, norm_before_gate=norm_before_gate, **options)
    if norm_before_gate:
        ungated = {**options, "activation": "sigmoid"}
        dx = 2 * gated_rms_norm_vjp(cotangent, x, 0 * gate, weight, **ungated)[0]
    return dx, dgate, dweight


@deviation("reference", "gain_s_gradient_ignores_the_gain")
def gain_s_gradient_from_the_result(cotangent: Any, x: Any, gate: Any, weight: Any, **options: Any) -> Any:
    """the weight's gradient is the sum of c y, which has the weight in it once more.

    Shows: any weight but 1. Hides: weights of 1.
    """
    dx, dgate, dweight = gated_rms_norm_vjp(cotangent, x, gate, weight, **options)
    return dx, dgate, dweight * weight


@deviation("reference", "orthogonal")
def one_group(cotangent: Any, x: Any, gate: Any, weight: Any, *, group_size: Any = None, **options: Any) -> Any:
    """the backward pass takes all features for one group.

    Shows: two groups and more. Hides: one group.
    """
    return gated_rms_norm_vjp(cotangent, x, gate, weight, **options)
