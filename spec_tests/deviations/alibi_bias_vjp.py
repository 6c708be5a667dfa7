"""What goes wrong with the gradient of alibi_bias."""

from typing import Any

import numpy as np

from reference_numpy.alibi_bias_vjp import alibi_bias_vjp

from . import deviation


@deviation("reference", "distances_of_one_query")
def sign_forgotten(cotangent: Any, slopes: Any, *, n: int, m: int | None = None) -> Any:
    """the distances are added, not subtracted.

    Shows: two keys or more. Hides: the diagonal.
    """
    (dslopes,) = alibi_bias_vjp(cotangent, slopes, n=n, m=m)
    return (-dslopes,)


@deviation("reference", "distances_of_one_query")
def averaged_over_queries(cotangent: Any, slopes: Any, *, n: int, m: int | None = None) -> Any:
    """the sum over the queries is divided by their number.

    Shows: two queries or more. Hides: a single one.
    """
    (dslopes,) = alibi_bias_vjp(cotangent, slopes, n=n, m=m)
    return (dslopes / n,)


@deviation("reference", "diagonal", "distances_of_one_query")
def counted_from_one(cotangent: Any, slopes: Any, *, n: int, m: int | None = None) -> Any:
    """the distance of a key from itself is counted as 1, on the way back alone.

    Shows: any cotangent with a mean. Hides: one whose numbers cancel.
    """
    (dslopes,) = alibi_bias_vjp(cotangent, slopes, n=n, m=m)
    return (dslopes - np.sum(np.reshape(cotangent, (*slopes.shape, n * (n if m is None else m))), axis=-1),)
