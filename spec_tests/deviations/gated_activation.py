"""What goes wrong with gated_activation: which half gates, where the limits apply, and what alpha scales."""

from typing import Any

import numpy as np

from reference_numpy._halves import split_halves
from reference_numpy.gated_activation import ACTIVATIONS, gated_activation

from . import deviation


def _split(x: Any, layout: str = "concatenated", gate: str = "first", **options: Any) -> tuple[Any, Any]:
    return split_halves(x, layout=layout, gate=gate)


def _gate(g: Any, activation: str = "silu", alpha: float = 1.0, **options: Any) -> Any:
    """Return the activated gate, not clipped."""
    return ACTIVATIONS[activation](g * alpha) / alpha


def _clip(x: Any, limit: float | None) -> Any:
    return x if limit is None else np.maximum(np.minimum(x, limit), -limit)


@deviation("reference", "linear_in_what_is_gated", seen=("https://github.com/ROCm/ATOM/pull/885",))
def gate_exchanged(x: Any, *, gate: str = "first", **options: Any) -> Any:
    """the other half gates.

    Shows: halves that differ. Hides: equal halves.
    """
    return gated_activation(x, gate={"first": "second", "second": "first"}[gate], **options)


@deviation("reference", "layouts", kind="convention")
def layout_exchanged(x: Any, *, layout: str = "concatenated", **options: Any) -> Any:
    """concatenated halves are read as interleaved, and interleaved halves as concatenated.

    Shows: two features or more in each half. Hides: one feature.
    """
    return gated_activation(x, layout={"concatenated": "interleaved", "interleaved": "concatenated"}[layout], **options)


@deviation("reference", "layouts", seen=("https://github.com/vllm-project/vllm/pull/29273",))
def layout_ignored(x: Any, *, layout: str = "concatenated", **options: Any) -> Any:
    """the halves are concatenated whatever layout says.

    Shows: interleaved halves of two features or more. Hides: the default.
    """
    return gated_activation(x, **options)


@deviation("reference", "limit", seen=("https://github.com/AtomicBot-ai/atomic-llama-cpp-turboquant/pull/68",))
def limit_ignored(x: Any, *, limit: float | None = None, **options: Any) -> Any:
    """nothing is clipped.

    Shows: values beyond the limit. Hides: values within it.
    """
    return gated_activation(x, **options)


@deviation("reference", "limit")
def gate_clipped_on_both_sides(x: Any, *, limit: float | None = None, **options: Any) -> Any:
    """the gate is clipped from below as well.

    Shows: gates below −limit with small limits. Hides: limits at which the activation is 0.
    """
    g, u = _split(x, **options)
    return _gate(_clip(g, limit), **options) * (_clip(u, limit) + options.get("offset", 0.0))


@deviation("reference", "limit")
def signal_clipped_from_above_alone(x: Any, *, limit: float | None = None, **options: Any) -> Any:
    """what is gated is clipped from above alone, as the gate is.

    Shows: values below −limit. Hides: the others.
    """
    g, u = _split(x, **options)
    g, u = (v if limit is None else np.minimum(v, limit) for v in (g, u))
    return _gate(g, **options) * (u + options.get("offset", 0.0))


@deviation("reference", "limit", seen=("https://github.com/vllm-project/vllm-ascend/pull/9897",))
def clipped_gate_never_used(x: Any, *, limit: float | None = None, **options: Any) -> Any:
    """the gate is clipped, but the activation gets the values from before.

    Shows: gates above the limit. Hides: the others.
    """
    g, u = _split(x, **options)
    return _gate(g, **options) * (_clip(u, limit) + options.get("offset", 0.0))


@deviation("reference", "limit")
def clipped_after_the_activation(x: Any, *, limit: float | None = None, **options: Any) -> Any:
    """the activated gate is clipped, not the gate.

    Shows: gates above the limit. Hides: limits that nothing exceeds.
    """
    g, u = _split(x, **options)
    gate = _gate(g, **options)
    return (gate if limit is None else np.minimum(gate, limit)) * (_clip(u, limit) + options.get("offset", 0.0))


@deviation("reference", "limit")
def limit_of_zero_is_none(x: Any, *, limit: float | None = None, **options: Any) -> Any:
    """a limit of 0 is treated as no limit, as `if limit:` does.

    Shows: a limit of 0. Hides: every other limit.
    """
    zero = limit is not None and np.all(getattr(limit, "value", limit) == 0)
    return gated_activation(x, limit=None if zero else limit, **options)


@deviation("reference", "offset")
def offset_ignored(x: Any, *, offset: float = 0.0, **options: Any) -> Any:
    """nothing is added to what is gated.

    Shows: an offset. Hides: the default of 0.
    """
    return gated_activation(x, **options)


@deviation("reference", "limit")
def offset_before_the_limit(x: Any, *, limit: float | None = None, offset: float = 0.0, **options: Any) -> Any:
    """the offset is added before the clipping.

    Shows: an offset and values near the limit. Hides: either alone.
    """
    g, u = _split(x, **options)
    return _gate(g if limit is None else np.minimum(g, limit), **options) * _clip(u + offset, limit)


@deviation("reference", "offset")
def offset_added_to_the_result(x: Any, *, offset: float = 0.0, **options: Any) -> Any:
    """the offset is added to the product.

    Shows: an offset. Hides: the default of 0.
    """
    return gated_activation(x, **options) + offset


@deviation("reference", "opposite_gates")
def not_divided_by_alpha(x: Any, *, alpha: float = 1.0, **options: Any) -> Any:
    """the gate is act(αg), not divided by α: gpt-oss multiplies g by σ(αg).

    Shows: alpha other than 1. Hides: alpha = 1.
    """
    return gated_activation(x, alpha=alpha, **options) * alpha


@deviation("reference", "composition")
def alpha_ignored(x: Any, *, alpha: float = 1.0, **options: Any) -> Any:
    """alpha is treated as 1.

    Shows: alpha other than 1. Hides: alpha = 1.
    """
    return gated_activation(x, **options)


@deviation("reference", "opposite_gates")
def sigmoid_for_silu(x: Any, *, activation: str = "silu", **options: Any) -> Any:
    """the gate is a sigmoid, without the factor g.

    Shows: silu. Hides: the other activations.
    """
    g, u = _split(x, **options)
    if activation != "silu" or options.get("limit") is not None:
        return gated_activation(x, activation=activation, **options)
    return ACTIVATIONS["sigmoid"](g * options.get("alpha", 1.0)) * (u + options.get("offset", 0.0))


@deviation("reference", kind="convention")
def erf_for_tanh(x: Any, *, activation: str = "silu", **options: Any) -> Any:
    """gelu_tanh is computed as the exact gelu.

    Shows: gelu_tanh at gates near ±2.7, in float32 and float64. Hides: 16 bits, and the other activations.
    """
    return gated_activation(x, activation={"gelu_tanh": "gelu"}.get(activation, activation), **options)
