"""What goes wrong with multihead_self_attention beside its parts: how heads are split, merged and scaled.

It has eight steps. A deviation is a function that replaces one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any

import numpy as np

from reference_numpy._marks import float64, is_one, rounded
from reference_numpy.grouped_query_attention import grouped_query_attention
from reference_numpy.linear import linear
from reference_numpy.rms_norm import rms_norm
from reference_numpy.rope import rope

from . import deviation


def project(x: Any, w_q: Any, w_k: Any, w_v: Any, heads: int) -> Any:
    return [rounded(linear(x, float64(w))) for w in (w_q, w_k, w_v)]


def with_biases(x: Any, weights: tuple[Any, ...], biases: tuple[Any, ...]) -> list[Any]:
    """Return x and the weights, with one more feature, which is 1, where there are biases: they are its weights."""
    if all(b is None for b in biases):
        return [x, *weights]
    columns = [
        np.zeros((w.shape[0], 1)) if b is None else np.reshape(float64(b), (-1, 1)) for w, b in zip(weights, biases, strict=True)
    ]
    widened = [np.concatenate([float64(w), column], axis=-1) for w, column in zip(weights, columns, strict=True)]
    return [np.concatenate([x, np.ones((*x.shape[:-1], 1))], axis=-1), *widened]


def split(y: Any, heads: int) -> Any:
    return np.swapaxes(np.reshape(y, (*y.shape[:-1], heads, y.shape[-1] // heads)), -2, -3)


def norm_queries_and_keys(q: Any, k: Any, options: dict[str, Any]) -> tuple[Any, Any]:
    q, k = (norm(y, options[name], options["eps"]) for y, name in ((q, "q_norm"), (k, "k_norm")))
    return q, k


def norm(y: Any, gain: Any, eps: Any) -> Any:
    return y if gain is None else rounded(rms_norm(y, gain, eps=eps))


def rotate_queries_and_keys(q: Any, k: Any, v: Any, positions: Any, rotation: dict[str, Any]) -> tuple[Any, Any, Any]:
    if rotation["theta"] is None and "inverse_frequencies" not in rotation:
        return q, k, v
    return rotate(q, positions, rotation), rotate(k, positions, rotation), v


def norm_and_rotate(do: Any, q: Any, k: Any, v: Any, positions: Any, rotation: dict[str, Any], options: dict[str, Any]) -> Any:
    q, k = do(norm_queries_and_keys, q, k, options)
    return do(rotate_queries_and_keys, q, k, v, positions, rotation)


def attend(q: Any, k: Any, v: Any, is_causal: bool, width: int, served: dict[str, Any]) -> Any:
    return rounded(grouped_query_attention(q, k, v, is_causal=is_causal, **served))


def merge(y: Any) -> Any:
    return np.reshape(np.swapaxes(y, -2, -3), (*y.shape[:-3], y.shape[-2], y.shape[-3] * y.shape[-1]))


def output(y: Any, w_o: Any, x: Any) -> Any:
    return linear(y, float64(w_o))


def choose_rotation(theta: Any, layout: str, inverse_frequencies: Any, attention_factor: Any) -> dict[str, Any]:
    """Return the theta and the layout of a rotation. What scales it is there if it is given; frequencies replace theta."""
    rotation = {"theta": theta if inverse_frequencies is None else None, "layout": layout}
    rotation |= {} if inverse_frequencies is None else {"inverse_frequencies": inverse_frequencies}
    return rotation | ({} if is_one(attention_factor) else {"attention_factor": attention_factor})


def rotate(y: Any, positions: Any, rotation: dict[str, Any]) -> Any:
    """Rotate every head alike, at positions 0, …, n − 1 if none are given."""
    positions = np.arange(y.shape[-2]) if positions is None else positions
    return rounded(rope(y, np.expand_dims(float64(positions), -2), **_given(**rotation)))


SCALED = ("inverse_frequencies", "attention_factor")


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def instead_of(*steps: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return multi-head attention in which the decorated function replaces each of these steps.

    Where that is the rotation, it lacks the options that scale one.
    """
    lacking = SCALED if rotate_queries_and_keys in steps else ()

    def decorate(other: Callable[..., Any]) -> Callable[..., Any]:
        def do(own: Callable[..., Any], *operands: Any) -> Any:
            return (other if own in steps else own)(*operands)

        @wraps(other)
        def multihead(
            x: Any,
            w_q: Any,
            w_k: Any,
            w_v: Any,
            w_o: Any,
            positions: Any = None,
            b_q: Any = None,
            b_k: Any = None,
            b_v: Any = None,
            b_o: Any = None,
            q_norm: Any = None,
            k_norm: Any = None,
            inverse_frequencies: Any = None,
            sinks: Any = None,
            *,
            num_heads: int,
            num_kv_heads: int | None = None,
            is_causal: bool = True,
            theta: float | None = None,
            layout: str = "interleaved",
            eps: float = 1e-6,
            attention_factor: float = 1.0,
            scale: float | None = None,
            softcap: float | None = None,
            left_window: int | None = None,
        ) -> Any:
            x, shared = float64(x), num_heads if num_kv_heads is None else num_kv_heads
            q, k, v = do(project, *with_biases(x, (w_q, w_k, w_v), (b_q, b_k, b_v)), num_heads)
            q, k, v = do(split, q, num_heads), do(split, k, shared), do(split, v, shared)
            options = {"q_norm": q_norm, "k_norm": k_norm, "eps": eps, "b_q": b_q, "b_k": b_k}
            rotation = choose_rotation(theta, layout, inverse_frequencies, attention_factor)
            q, k, v = do(norm_and_rotate, do, q, k, v, positions, rotation, options)
            served = _given(sinks=sinks, scale=scale, softcap=softcap, left_window=left_window)
            y = do(output, do(merge, do(attend, q, k, v, is_causal, x.shape[-1], served)), w_o, x)
            return y if b_o is None else y + float64(b_o)

        del multihead.__wrapped__
        multihead.replaced = dict.fromkeys(steps, other)  # type: ignore[attr-defined]
        own = signature(multihead)
        kept = [p for p in own.parameters.values() if p.name not in lacking]
        multihead.__signature__ = own.replace(parameters=kept)  # type: ignore[attr-defined]
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


@deviation("reference", "heads_are_attention")
@instead_of(split, merge)
def split_and_merged_without_transpose(y: Any, heads: int | None = None) -> Any:
    """heads are split and merged by a reshape alone, so that each mixes the features of neighbouring tokens.

    Shows: two heads and two tokens or more. Hides: one head.
    """
    if heads is None:
        return np.reshape(y, (*y.shape[:-3], y.shape[-2], y.shape[-3] * y.shape[-1]))
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


# --- scores ---------------------------------------------------------------------------------------------------------


@deviation("reference", "heads_are_attention")
@instead_of(attend)
def scale_of_the_model(q: Any, k: Any, v: Any, is_causal: bool, width: int, served: dict[str, Any]) -> Any:
    """the scale is 1 / sqrt(d), from the width of the model, not of a head.

    Shows: d_k other than d. Hides: one head as wide as the model.
    """
    return attend(q, k, v, is_causal, width, {"scale": 1 / np.sqrt(width), **served})


@deviation("reference", "causal_prefix", "first_token")
@instead_of(attend)
def never_causal(q: Any, k: Any, v: Any, is_causal: bool, width: int, served: dict[str, Any]) -> Any:
    """every token sees all tokens, whatever is_causal says.

    Shows: causal attention of two tokens or more. Hides: one token.
    """
    return attend(q, k, v, False, width, served)


@deviation("reference", "order_of_tokens")
@instead_of(attend)
def always_causal(q: Any, k: Any, v: Any, is_causal: bool, width: int, served: dict[str, Any]) -> Any:
    """no token sees a later one, whatever is_causal says.

    Shows: is_causal = False with two tokens or more. Hides: the default.
    """
    return attend(q, k, v, True, width, served)


@deviation("reference", "batch_independence", seen=("https://github.com/aipixel/AEMatter/issues/3",))
@instead_of(attend)
def attention_over_the_batch(q: Any, k: Any, v: Any, is_causal: bool, width: int, served: dict[str, Any]) -> Any:
    """the first axis is used as that of the tokens, so that entries of the batch attend to each other.

    Shows: a batch. Hides: a single sequence; one token.
    """
    if q.ndim < 4:
        return attend(q, k, v, is_causal, width, served)
    q, k, v = (np.swapaxes(y, 0, -2) for y in (q, k, v))
    return np.swapaxes(attend(q, k, v, is_causal, width, served), 0, -2)
