"""What goes wrong with the gradients of grouped-query attention: the sum over a group."""

from typing import Any

import numpy as np

from reference_numpy.grouped_query_attention_vjp import grouped_query_attention_vjp

from . import deviation


def differentiate_repeated_heads(
    cotangent: Any, q: Any, k: Any, v: Any, mask: Any, **options: Any
) -> tuple[Any, int, list[Any], Any]:
    """Return dq, the size of a group, dk and dv of each query head, and the gradient of the sinks."""
    group = q.shape[-3] // k.shape[-3]
    k, v = (np.repeat(x, group, axis=-3) for x in (k, v))
    dq, dk, dv, _, dsinks = grouped_query_attention_vjp(cotangent, q, k, v, mask, **options)
    return dq, group, [dk, dv], dsinks


@deviation("reference", "shared_heads_add_up")
def first_head_of_the_group(cotangent: Any, q: Any, k: Any, v: Any, mask: Any = None, **options: Any) -> Any:
    """a shared head gets the gradient of the first query head of its group alone.

    Shows: shared heads. Hides: as many key heads as query heads.
    """
    dq, group, shared, dsinks = differentiate_repeated_heads(cotangent, q, k, v, mask, **options)
    return dq, *(x[..., ::group, :, :] for x in shared), None, dsinks


@deviation("reference", "shared_heads_add_up")
def mean_over_the_group(cotangent: Any, q: Any, k: Any, v: Any, mask: Any = None, **options: Any) -> Any:
    """a shared head gets the mean over its group, not the sum.

    Shows: shared heads. Hides: as many key heads as query heads.
    """
    group = q.shape[-3] // k.shape[-3]
    dq, dk, dv, _, dsinks = grouped_query_attention_vjp(cotangent, q, k, v, mask, **options)
    return dq, dk / group, dv / group, None, dsinks


@deviation("reference", "shared_heads_add_up")
def groups_taken_in_turn(cotangent: Any, q: Any, k: Any, v: Any, mask: Any = None, **options: Any) -> Any:
    """the sum runs over the heads i with the same i mod h_kv, not over neighbours, on the way back alone.

    Shows: several groups of several heads. Hides: one group, or groups of one.
    """
    dq, group, shared, dsinks = differentiate_repeated_heads(cotangent, q, k, v, mask, **options)
    split = (np.reshape(x, (*x.shape[:-3], group, x.shape[-3] // group, *x.shape[-2:])) for x in shared)
    return dq, *(np.sum(x, axis=-4) for x in split), None, dsinks
