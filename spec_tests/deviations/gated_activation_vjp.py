"""What goes wrong with the gradient of gated_activation: the limits, and the two halves."""

from typing import Any

import numpy as np

from reference_numpy._halves import join_halves, split_halves
from reference_numpy.gated_activation_vjp import gated_activation_vjp

from . import deviation


def _packing(options: dict[str, Any]) -> dict[str, str]:
    return {"layout": options.get("layout", "concatenated"), "gate": options.get("gate", "first")}


@deviation("reference", "beyond_the_limit")
def limit_passes_gradients(cotangent: Any, x: Any, *, limit: float | None = None, **options: Any) -> Any:
    """what is clipped has the gradient of the limit itself: the clipping is a constant for the backward pass.

    Shows: values beyond the limit. Hides: values within it.
    """
    if limit is None:
        return gated_activation_vjp(cotangent, x, **options)
    g, u = split_halves(x, **_packing(options))
    clipped = join_halves(np.minimum(g, limit), np.maximum(np.minimum(u, limit), -limit), **_packing(options))
    return gated_activation_vjp(cotangent, clipped, **options)


@deviation("reference", "silent_signal", "gradient_of_what_is_gated")
def halves_exchanged(cotangent: Any, x: Any, **options: Any) -> Any:
    """the gradients of the two halves are exchanged.

    Shows: halves that differ. Hides: a test of their sum.
    """
    (dx,) = gated_activation_vjp(cotangent, x, **options)
    dg, du = split_halves(dx, **_packing(options))
    return (join_halves(du, dg, **_packing(options)),)


@deviation("reference")
def gate_is_constant(cotangent: Any, x: Any, **options: Any) -> Any:
    """the gate has no gradient.

    Shows: any gate. Hides: a test of the other half alone.
    """
    (dx,) = gated_activation_vjp(cotangent, x, **options)
    dg, du = split_halves(dx, **_packing(options))
    return (join_halves(dg * 0.0, du, **_packing(options)),)


@deviation("reference")
def offset_forgotten(cotangent: Any, x: Any, *, offset: float = 0.0, **options: Any) -> Any:
    """the gate's gradient lacks the offset.

    Shows: an offset. Hides: the default of 0.
    """
    return gated_activation_vjp(cotangent, x, **options)
