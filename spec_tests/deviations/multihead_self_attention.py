"""What goes wrong with multihead_self_attention beside its parts: how heads are cut, put together and projected.

It is six steps, and a deviation is another function instead of one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from reference_numpy._marks import float64, rounded
from reference_numpy.grouped_query_attention import grouped_query_attention
from reference_numpy.linear import linear
from reference_numpy.rope import rope
from spec_tests.deviation import deviation


def project(x: Any, w_q: Any, w_k: Any, w_v: Any, heads: tuple[int, int]) -> tuple[Any, Any, Any]:
    return (*(rounded(linear(x, float64(w))) for w in (w_q, w_k, w_v)),)  # type: ignore[return-value]


def split(y: Any, heads: int) -> Any:
    return np.swapaxes(np.reshape(y, (*y.shape[:-1], heads, y.shape[-1] // heads)), -2, -3)


def turn(q: Any, k: Any, v: Any, positions: Any, rotation: dict[str, Any]) -> tuple[Any, Any, Any]:
    if rotation["theta"] is None:
        return q, k, v
    return turned(q, positions, rotation), turned(k, positions, rotation), v


def attend(q: Any, k: Any, v: Any, is_causal: bool, width: int) -> Any:
    return rounded(grouped_query_attention(q, k, v, is_causal=is_causal))


def merge(y: Any) -> Any:
    return np.reshape(np.swapaxes(y, -2, -3), (*y.shape[:-3], y.shape[-2], y.shape[-3] * y.shape[-1]))


def output(y: Any, w_o: Any, x: Any) -> Any:
    return linear(y, float64(w_o))


def turned(y: Any, positions: Any, rotation: dict[str, Any]) -> Any:
    """Every head alike, at positions 0, …, n - 1 if none are given."""
    positions = np.arange(y.shape[-2]) if positions is None else positions
    return rounded(rope(y, np.expand_dims(float64(positions), -2), **rotation))


def instead_of(step: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Multi-head attention in which another function, the decorated one, stands in for a step."""

    def decorate(other: Callable[..., Any]) -> Callable[..., Any]:
        def do(own: Callable[..., Any], *operands: Any) -> Any:
            return (other if own is step else own)(*operands)

        @wraps(other)
        def multihead(
            x: Any,
            w_q: Any,
            w_k: Any,
            w_v: Any,
            w_o: Any,
            positions: Any = None,
            *,
            num_heads: int,
            num_kv_heads: int | None = None,
            is_causal: bool = True,
            theta: float | None = None,
            layout: str = "interleaved",
        ) -> Any:
            x, shared = float64(x), num_heads if num_kv_heads is None else num_kv_heads
            q, k, v = do(project, x, w_q, w_k, w_v, (num_heads, shared))
            q, k, v = do(split, q, num_heads), do(split, k, shared), do(split, v, shared)
            q, k, v = do(turn, q, k, v, positions, {"theta": theta, "layout": layout})
            return do(output, do(merge, do(attend, q, k, v, is_causal, x.shape[-1])), w_o, x)

        del multihead.__wrapped__  # type: ignore[attr-defined]  # its signature is the operation's
        return multihead

    return decorate


# --- heads ----------------------------------------------------------------------------------------------------------


@deviation(
    "reference",
    "heads_are_attention",
    seen=(
        "https://github.com/jsbaan/transformer-from-scratch/pull/6",
        "https://github.com/ajhalthor/Transformer-Neural-Network/pull/4",
    ),
)
@instead_of(merge)
def merged_without_transpose(y: Any) -> Any:
    """heads are merged by a reshape alone, from (h, n, d_v) to (n, h d_v).

    Shows: two heads and two tokens or more. Hides: one head, one token, constant values.
    """
    return np.reshape(y, (*y.shape[:-3], y.shape[-2], y.shape[-3] * y.shape[-1]))


@deviation(
    "reference",
    "heads_are_attention",
    seen=("https://github.com/reczoo/FuxiCTR/issues/30", "https://github.com/hyunwoongko/transformer/issues/15"),
)
@instead_of(split)
def split_without_transpose(y: Any, heads: int) -> Any:
    """heads are split by a reshape alone, from (n, h d) to (h, n, d).

    Shows: two heads and two tokens or more. Hides: one head.
    """
    return np.reshape(y, (*y.shape[:-2], heads, y.shape[-2], y.shape[-1] // heads))


@deviation("reference", "heads_are_attention", kind="convention")
@instead_of(split)
def features_in_turn(y: Any, heads: int) -> Any:
    """head i has the features i, i + h, i + 2h, …, not a block of them.

    Shows: two heads of two features or more. Hides: one head, one feature.
    """
    return np.moveaxis(np.reshape(y, (*y.shape[:-1], y.shape[-1] // heads, heads)), -1, -3)


@deviation("reference", "heads_are_attention")
@instead_of(merge)
def merged_in_turn(y: Any) -> Any:
    """heads are merged feature by feature: the first of each head, the second of each, …

    Shows: two heads of two values or more. Hides: one head, d_v = 1.
    """
    return np.reshape(np.moveaxis(y, -3, -1), (*y.shape[:-3], y.shape[-2], y.shape[-3] * y.shape[-1]))


@deviation("reference", "heads_are_attention")
@instead_of(merge)
def heads_averaged(y: Any) -> Any:
    """the heads are divided by their number, as if they were averaged.

    Shows: two heads or more. Hides: one head.
    """
    return merge(y) / y.shape[-3]


# --- projections ----------------------------------------------------------------------------------------------------


@deviation("reference", seen=("https://github.com/MarcoMeter/episodic-transformer-memory-ppo/pull/22",))
@instead_of(project)
def one_projection_for_all_heads(x: Any, w_q: Any, w_k: Any, w_v: Any, heads: tuple[int, int]) -> Any:
    """every query head has the projection of the first.

    Shows: two heads or more. Hides: one head.
    """
    w_q = float64(w_q)
    first = w_q[: w_q.shape[0] // heads[0]]
    return project(x, np.concatenate([first] * heads[0], axis=0), w_k, w_v, heads)


@deviation("reference", seen=("https://github.com/awslabs/slapo/pull/46",))
@instead_of(project)
def fused_head_by_head(x: Any, w_q: Any, w_k: Any, w_v: Any, heads: tuple[int, int]) -> Any:
    """the three weights, one above the other, are read as q, k and v of each head in turn, where all are of one shape.

    Shows: two heads or more. Hides: one head, h_kv < h, d_v other than d_k.
    """
    if not w_q.shape == w_k.shape == w_v.shape:
        return project(x, w_q, w_k, w_v, heads)
    stacked = np.concatenate([float64(w) for w in (w_q, w_k, w_v)], axis=0)
    in_turn = np.reshape(stacked, (heads[0], 3, -1, w_q.shape[-1]))
    return project(x, *(np.reshape(in_turn[:, i], w_q.shape) for i in range(3)), heads)


@deviation("reference")
@instead_of(project)
def keys_and_values_swapped(x: Any, w_q: Any, w_k: Any, w_v: Any, heads: tuple[int, int]) -> Any:
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
    """the input is added to the result, which is the block's to do.

    Shows: any input. Hides: an input of zeros.
    """
    return output(y, w_o, x) + x


# --- scores ---------------------------------------------------------------------------------------------------------


@deviation("reference", "heads_are_attention")
@instead_of(attend)
def scale_of_the_model(q: Any, k: Any, v: Any, is_causal: bool, width: int) -> Any:
    """the scale is 1 / sqrt(d), from the width of the model, not of a head.

    Shows: d_k other than d. Hides: one head as wide as the model.
    """
    return rounded(grouped_query_attention(q, k, v, is_causal=is_causal, scale=1 / np.sqrt(width)))


@deviation("reference", "causal_prefix", "first_token")
@instead_of(attend)
def never_causal(q: Any, k: Any, v: Any, is_causal: bool, width: int) -> Any:
    """every token sees all tokens, whatever is_causal says.

    Shows: causal attention of two tokens or more. Hides: one token.
    """
    return attend(q, k, v, False, width)


@deviation("reference", "order_of_tokens")
@instead_of(attend)
def always_causal(q: Any, k: Any, v: Any, is_causal: bool, width: int) -> Any:
    """no token sees a later one, whatever is_causal says.

    Shows: is_causal = False with two tokens or more. Hides: the default.
    """
    return attend(q, k, v, True, width)


@deviation("reference", "batch_independence", seen=("https://github.com/aipixel/AEMatter/issues/3",))
@instead_of(attend)
def attention_over_the_batch(q: Any, k: Any, v: Any, is_causal: bool, width: int) -> Any:
    """the first axis is taken for the tokens, and entries of the batch attend to one another.

    Shows: a batch. Hides: a single sequence; one token.
    """
    if q.ndim < 4:
        return attend(q, k, v, is_causal, width)
    q, k, v = (np.swapaxes(y, 0, -2) for y in (q, k, v))
    return np.swapaxes(attend(q, k, v, is_causal, width), 0, -2)
