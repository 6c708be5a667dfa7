"""What goes wrong with the gradients of attention that returns lse: the second cotangent, sinks, and caps."""

from typing import Any

from reference_numpy._marks import float64
from reference_numpy.attention_with_lse_vjp import attention_with_lse_vjp

from . import deviation


def replace_cotangents(cotangent: Any, out: float, lse: float) -> tuple[Any, Any]:
    """Return the cotangents of out and lse, each multiplied by a number."""
    return tuple(None if c is None else factor * float64(c) for c, factor in zip(cotangent, (out, lse), strict=True))  # type: ignore[return-value]


@deviation("reference", "lse_alone")
def cotangent_of_lse_ignored(cotangent: Any, q: Any, k: Any, v: Any, mask: Any = None, sinks: Any = None, **options: Any) -> Any:
    """the cotangent of lse is ignored, as if lse had no gradient.

    Shows: a loss that contains lse, such as a merge of parts. Hides: a loss of out alone.
    """
    return attention_with_lse_vjp(replace_cotangents(cotangent, 1.0, 0.0), q, k, v, mask, sinks, **options)


@deviation("reference", "lse_alone")
def cotangent_of_lse_subtracted(
    cotangent: Any, q: Any, k: Any, v: Any, mask: Any = None, sinks: Any = None, **options: Any
) -> Any:
    """the cotangent of lse is subtracted, not added: D + g in place of D − g.

    Shows: a loss that contains lse. Hides: a loss of out alone.
    """
    return attention_with_lse_vjp(replace_cotangents(cotangent, 1.0, -1.0), q, k, v, mask, sinks, **options)


@deviation("reference")
def cap_not_differentiated(
    cotangent: Any, q: Any, k: Any, v: Any, mask: Any = None, sinks: Any = None, *, softcap: Any = None, **options: Any
) -> Any:
    """the derivative of the cap, 1 − tanh², is left out, and the weights are those of uncapped scores.

    Shows: scores near the cap. Hides: a large cap.
    """
    return attention_with_lse_vjp(cotangent, q, k, v, mask, sinks, **options)


@deviation("reference", "sinks_gain_what_keys_lose")
def sinks_gradient_averaged(cotangent: Any, q: Any, k: Any, v: Any, mask: Any = None, sinks: Any = None, **options: Any) -> Any:
    """the gradient of a sink is divided by the number of queries, as if it were a mean.

    Shows: several queries. Hides: one query.
    """
    *others, dsinks = attention_with_lse_vjp(cotangent, q, k, v, mask, sinks, **options)
    return *others, None if dsinks is None else dsinks / float(q.shape[-2])


@deviation("reference", "sinks_gain_what_keys_lose")
def sinks_without_the_inner_sum(
    cotangent: Any, q: Any, k: Any, v: Any, mask: Any = None, sinks: Any = None, **options: Any
) -> Any:
    """the gradient of a sink is that of lse alone: the share that it takes from out is left out.

    Shows: a cotangent of out. Hides: a cotangent of lse alone.
    """
    *others, _ = attention_with_lse_vjp(cotangent, q, k, v, mask, sinks, **options)
    *_, of_lse = attention_with_lse_vjp(replace_cotangents(cotangent, 0.0, 1.0), q, k, v, mask, sinks, **options)
    return *others, of_lse


@deviation("reference")
def shared_heads_averaged(cotangent: Any, q: Any, k: Any, v: Any, mask: Any = None, sinks: Any = None, **options: Any) -> Any:
    """a shared head gets the mean over its group of query heads, not the sum.

    Shows: fewer shared heads than query heads. Hides: as many of both.
    """
    dq, dk, dv, _, dsinks = attention_with_lse_vjp(cotangent, q, k, v, mask, sinks, **options)
    group = float(q.shape[-3] // k.shape[-3])
    return dq, dk / group, dv / group, None, dsinks


@deviation("reference", "hidden_keys")
def mask_lost_on_the_way_back(cotangent: Any, q: Any, k: Any, v: Any, mask: Any = None, sinks: Any = None, **options: Any) -> Any:
    """the backward pass has no mask: keys that nobody saw get a gradient.

    Shows: a mask. Hides: none; causality and windows, which the backward pass has; the forward result.
    """
    return attention_with_lse_vjp(cotangent, q, k, v, None, sinks, **options)


@deviation("reference", "outside_the_window")
def window_lost_on_the_way_back(
    cotangent: Any, q: Any, k: Any, v: Any, mask: Any = None, sinks: Any = None, *, left_window: Any = None, **options: Any
) -> Any:
    """the backward pass has no left window: keys that are too far behind get a gradient.

    Shows: a left window within the sequence. Hides: short sequences; the forward result.
    """
    return attention_with_lse_vjp(cotangent, q, k, v, mask, sinks, **options)
