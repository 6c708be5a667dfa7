"""What goes wrong with the gradients of add_rms_norm: which paths reach which summand."""

from typing import Any

from reference_numpy.add_rms_norm_vjp import add_rms_norm_vjp

from . import deviation


@deviation("reference", "both_summands_alike")
def residual_past_the_norm(cotangent: Any, x: Any, residual: Any, weight: Any, *, eps: Any) -> Any:
    """the residual has the gradient of the stream alone.

    Shows: a cotangent of y. Hides: one of the sum alone.
    """
    dx, _, dweight = add_rms_norm_vjp(cotangent, x, residual, weight, eps=eps)
    return dx, dx * 0.0 if cotangent[1] is None else cotangent[1], dweight


@deviation("reference", "the_stream_passes")
def stream_forgotten(cotangent: Any, x: Any, residual: Any, weight: Any, *, eps: Any) -> Any:
    """the cotangent of the sum is dropped: gradients pass through the norm alone.

    Shows: a cotangent of the sum. Hides: one of y alone.
    """
    c, g = cotangent
    if c is None:
        return 0.0 * x, 0.0 * x, 0.0 * weight
    return add_rms_norm_vjp((c, None if g is None else 0.0 * g), x, residual, weight, eps=eps)


@deviation("reference", "paths_add_up")
def norm_forgotten(cotangent: Any, x: Any, residual: Any, weight: Any, *, eps: Any) -> Any:
    """where the sum has a cotangent, nothing comes through the norm.

    Shows: both cotangents. Hides: either alone.
    """
    dx, dresidual, dweight = add_rms_norm_vjp(cotangent, x, residual, weight, eps=eps)
    if cotangent[0] is None or cotangent[1] is None:
        return dx, dresidual, dweight
    return cotangent[1], cotangent[1], dweight
