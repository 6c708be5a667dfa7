"""What goes wrong with the four projections of multihead_self_attention."""

from typing import Any

import numpy as np

from reference_numpy._marks import float64
from reference_numpy.linear import linear

from . import deviation
from .multihead_self_attention import instead_of, output, project


@deviation("reference", seen=("https://github.com/MarcoMeter/episodic-transformer-memory-ppo/pull/22",))
@instead_of(project)
def one_projection_for_all_heads(x: Any, w_q: Any, w_k: Any, w_v: Any, heads: int) -> Any:
    """every query head has the projection of the first.

    Shows: two heads or more. Hides: one head.
    """
    w_q = float64(w_q)
    first = w_q[: w_q.shape[0] // heads]
    return project(x, np.concatenate([first] * heads, axis=0), w_k, w_v, heads)


@deviation("reference", seen=("https://github.com/awslabs/slapo/pull/46",))
@instead_of(project)
def fused_head_by_head(x: Any, w_q: Any, w_k: Any, w_v: Any, heads: int) -> Any:
    """the three stacked weights are read as q, k and v of each head in turn, where all have one shape.

    Shows: two heads or more. Hides: one head, h_kv < h, d_v other than d_k.
    """
    if not w_q.shape == w_k.shape == w_v.shape:
        return project(x, w_q, w_k, w_v, heads)
    stacked = np.concatenate([float64(w) for w in (w_q, w_k, w_v)], axis=0)
    in_turn = np.reshape(stacked, (heads, 3, -1, w_q.shape[-1]))
    q, k, v = (np.reshape(in_turn[:, i], w_q.shape) for i in range(3))
    return project(x, q, k, v, heads)


@deviation("reference")
@instead_of(project)
def keys_and_values_swapped(x: Any, w_q: Any, w_k: Any, w_v: Any, heads: int) -> Any:
    """w_k makes the values and w_v the keys, where both are of one shape.

    Shows: d_v = d_k. Hides: d_v other than d_k, where it cannot run.
    """
    return project(x, w_q, w_k, w_v, heads) if w_k.shape != w_v.shape else project(x, w_q, w_v, w_k, heads)


@deviation("reference")
@instead_of(output)
def output_weight_transposed(y: Any, w_o: Any, x: Any) -> Any:
    """w_o is applied transposed, where it is square.

    Shows: d = h d_v. Hides: any other width, where it cannot run; a symmetric w_o.
    """
    w_o = float64(w_o)
    return linear(y, np.swapaxes(w_o, -1, -2) if w_o.shape[0] == w_o.shape[1] else w_o)


@deviation("reference", "zero_output_weight")
@instead_of(output)
def output_weight_missing(y: Any, w_o: Any, x: Any) -> Any:
    """the heads are returned without w_o, where they are as wide as the input.

    Shows: d = h d_v. Hides: any other width, where it cannot run.
    """
    return y if y.shape[-1] == x.shape[-1] else output(y, w_o, x)


@deviation("reference", "zero_output_weight")
@instead_of(output)
def input_added(y: Any, w_o: Any, x: Any) -> Any:
    """the input is added to the result; that is the task of the block.

    Shows: any input. Hides: an input of zeros.
    """
    return output(y, w_o, x) + x
