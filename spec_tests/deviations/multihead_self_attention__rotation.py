"""What goes wrong with multihead_self_attention where frequencies are given, and where a factor scales the rotation."""

from typing import Any

import numpy as np

from reference_numpy.multihead_self_attention import multihead_self_attention

from . import deviation


@deviation("reference", "inverse_frequencies")
def attention_factor_of_queries_alone(
    x: Any, w_q: Any, w_k: Any, w_v: Any, w_o: Any, *, attention_factor: float = 1.0, **options: Any
) -> Any:
    """the factor multiplies the queries alone, so that scores have it once.

    Shows: a factor other than 1. Hides: a factor of 1, no rotation.
    """
    return multihead_self_attention(x, w_q, w_k, w_v, w_o, attention_factor=np.sqrt(attention_factor), **options)


@deviation("reference", "inverse_frequencies")
def given_frequencies_need_a_theta(
    x: Any, w_q: Any, w_k: Any, w_v: Any, w_o: Any, inverse_frequencies: Any = None, *, theta: float | None = None, **options: Any
) -> Any:
    """nothing is turned where theta is None, although frequencies are given.

    Shows: frequencies without theta. Hides: frequencies beside a theta.
    """
    frequencies = None if theta is None else inverse_frequencies
    given = {} if frequencies is None else {"inverse_frequencies": frequencies}
    return multihead_self_attention(x, w_q, w_k, w_v, w_o, theta=theta, **given, **options)
