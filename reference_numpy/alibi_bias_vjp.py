from typing import Any

import numpy as np

from ._marks import float64


def alibi_bias_vjp(cotangent: Any, slopes: Any, *, n: int, m: int | None = None) -> Any:
    """Gradient of alibi_bias: each slope gathers minus the distances, weighted by the cotangent.

        dslope_h = -sum_ij(c_hij |i - j|)

    Shapes
        cotangent (h, n, m),  slopes (h);  n queries, m keys (None: n)  ->  (dslopes,), as slopes
    Dtypes
        as the arguments
    Domain
        Cotangents finite; n, m >= 0.
    Edges
        The diagonal gives nothing. Does not depend on slopes.
    Source
        Differentiation of Press, Smith and Lewis 2021, arXiv:2108.12409, section 3.

    >>> alibi_bias_vjp([[[1.0, 1.0], [2.0, 1.0]]], [0.5], n=2)
    (array([-3.]),)
    """
    i, j = np.arange(n)[:, None], np.arange(n if m is None else m)
    c = float64(cotangent) * float64(-np.abs(i - j))
    return (np.sum(np.reshape(c, (*float64(slopes).shape, i.size * j.size)), axis=-1),)
