"""The result of a query that attends to no key."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from ..registry import specification
from ._convention import Convention, Equation, Value
from .causal_alignment import WINDOWS, find_near_keys

LISTED = ("sparse_attention",)  # queries have lists of keys
LATENT = ("latent_attention", "latent_attention_absorbed")
POSITIONED = ("attention_with_kv_cache", "paged_attention", "variable_length_attention")  # queries have positions of their own


def _has_blind_query(named: dict[str, Any], settled: dict[str, str]) -> bool:
    if "lse_a" in named:
        return bool(np.any(_find_empty_states(named["lse_a"], named["lse_b"])))
    if "latent" in named or "cache" in named:
        return bool(np.any(_find_unseeing(named)))
    if "indices" in named:
        return bool(np.any(_find_empty_lists(named)))
    if "lengths" in named or "cu_seqlens_q" in named:
        return bool(np.any(_find_blind_positions(named)))
    return bool(np.any(find_blind_queries(**{**named, "alignment": settled.get("causal_alignment")})))


def find_blind_queries(
    q: Any, k: Any, mask: Any = None, bias: Any = None, *, alignment: str | None = None, **options: Any
) -> Any:
    """Return which queries attend to no key, as an array that broadcasts to (..., n).

    `options` are the keywords of the operation. Without an alignment, causality with n ≠ m hides nothing.
    """
    n, m = q.shape[-2], k.shape[-2]
    seen = np.ones((n, m), dtype=bool)
    if "window" in options:
        window, is_causal = options["window"], bool(options.get("is_causal"))
        seen = specification("sliding_window_mask").reference(n=n, m=m, window=window, is_causal=is_causal)
    elif alignment or n == m:
        seen = find_near_keys(n, m, alignment, options)
    if mask is not None:
        seen = np.logical_and(seen, mask)
    if bias is not None:
        seen = np.logical_and(seen, ~_is_minus_infinity(bias))
    blind = ~np.any(seen, axis=-1) if m else np.zeros(n, dtype=bool)
    sinks = options.get("sinks")  # a query that sees a sink has a weight for it, and a result of 0
    return blind if sinks is None else blind & _is_minus_infinity(sinks)[:, None]


def _fill_blind_queries(fill: Callable[..., Any]) -> Callable[[Equation], Equation]:
    """Return the change that gives the result `fill(equation, q, k, v, options)` to queries for which the equation is NaN."""

    def change(equation: Equation) -> Equation:
        @wraps(equation)
        def filled(q: Any, k: Any, v: Any, mask: Any = None, bias: Any = None, **options: Any) -> Any:
            arrays = {name: x for name, x in (("mask", mask), ("bias", bias)) if x is not None}
            y, blind = equation(q, k, v, **arrays, **options), find_blind_queries(q, k, mask, bias, **options)
            return _fill(y, blind, fill(equation, q, k, v, options)) if np.any(blind) else y

        return filled

    return change


def _fill(y: Any, blind: Any, replacement: Any) -> Any:
    """Return y, or each of several results, with the replacement in the rows of blind queries where the equation is NaN.

    A result that lacks the last axis of the others, an lse, says itself that there is no key.
    """
    if isinstance(y, tuple):
        parts = replacement if isinstance(replacement, tuple) else (replacement,) * len(y)
        return tuple(x if x.ndim < y[0].ndim else _fill(x, blind, part) for x, part in zip(y, parts, strict=True))
    undefined = np.isnan(np.asarray(getattr(y, "value", y)))
    undefined = undefined.any(axis=0) if undefined.ndim > y.ndim else undefined  # the draws of a sample
    return np.where(blind[..., None] & undefined, replacement, y)


def _find_empty_states(lse_a: Any, lse_b: Any) -> Any:
    """Return the rows of which neither part saw a key."""
    return np.logical_and(*(_is_minus_infinity(lse) for lse in (lse_a, lse_b)))


def _find_unseeing(named: dict[str, Any]) -> Any:
    """Return which queries of latent attention see no row, as an array that broadcasts to (..., h, n)."""
    q, rows = (named[name] for name in (("q_nope", "latent") if "latent" in named else ("q", "cache")))
    n, lengths = q.shape[-2], named.get("lengths")
    lengths = np.asarray(rows.shape[-2] if lengths is None else lengths)[..., None, None]
    return (
        lengths - n + np.arange(n) < 0
        if named.get("is_causal", True)
        else np.broadcast_to(lengths == 0, (*lengths.shape[:-1], n))
    )


def _find_empty_lists(named: dict[str, Any]) -> Any:
    """Return which queries list no key, as an array that broadcasts to (..., h, n). A finite sink takes their whole weight."""
    q, k, empty = named["q"], named["k"], np.all(np.asarray(named["indices"]) == -1, axis=-1)
    has_own = empty.ndim == q.ndim - 1  # a list for each key head
    empty = np.repeat(empty, q.shape[-3] // k.shape[-3], axis=-2) if has_own else np.expand_dims(empty, -2)
    sinks = named.get("sinks")
    return empty if sinks is None else empty & _is_minus_infinity(sinks)[:, None]


def _find_blind_positions(named: dict[str, Any]) -> Any:
    """Return which queries of a cache or of packed sequences see no key, as an array that broadcasts to the result's rows."""
    if "cu_seqlens_q" in named:
        queries, keys = (np.diff(named[name]) for name in ("cu_seqlens_q", "cu_seqlens_k"))
        members = [~np.any(find_near_keys(n, m, "bottom-right", named), axis=-1) for n, m in zip(queries, keys, strict=True)]
        blind = np.concatenate(members)[:, None]
    else:
        n = named["q"].shape[-2]
        rows = [~np.any(find_near_keys(n, m, "bottom-right", named), axis=-1) for m in named["lengths"]]
        blind = np.stack(rows)[:, None, :] if rows else np.zeros((0, 1, n), dtype=bool)
    sinks = named.get("sinks")
    if sinks is None:
        return blind
    absent = _is_minus_infinity(sinks)
    return blind & (absent if "cu_seqlens_q" in named else absent[:, None])


def _is_minus_infinity(x: Any) -> Any:
    """Return which elements are −∞, of a number type that carries an error too."""
    return ~x.above_minus_infinity() if hasattr(x, "above_minus_infinity") else np.isneginf(x)


def _fill_blind_positions(equation: Equation) -> Equation:
    """Return the attention to a cache or to packed sequences that gives zeros to queries that see no key."""
    names = tuple(inspect.signature(equation).parameters)

    @wraps(equation)
    def filled(*arguments: Any, **options: Any) -> Any:
        named = {**dict(zip(names, arguments, strict=False)), **options}
        named.setdefault("is_causal", "cu_seqlens_q" not in named)
        return _fill(equation(*arguments, **options), _find_blind_positions(named), 0.0)

    return filled


def _fill_empty_states(equation: Equation) -> Equation:
    """Return the merge of attention states that gives zeros where neither part saw a key."""

    @wraps(equation)
    def filled(out_a: Any, lse_a: Any, out_b: Any, lse_b: Any, **options: Any) -> Any:
        return _fill(equation(out_a, lse_a, out_b, lse_b, **options), _find_empty_states(lse_a, lse_b), 0.0)

    return filled


def _fill_empty_lists(equation: Equation) -> Equation:
    """Return the attention to listed keys that gives zeros to queries that list none."""

    @wraps(equation)
    def filled(q: Any, k: Any, v: Any, indices: Any, sinks: Any = None, **options: Any) -> Any:
        y = equation(q, k, v, indices, sinks, **options)
        return _fill(y, _find_empty_lists({"q": q, "k": k, "indices": indices, "sinks": sinks}), 0.0)

    return filled


def _fill_unseeing(equation: Equation) -> Equation:
    """Return the latent attention that gives zeros to queries that see no row."""
    names = tuple(inspect.signature(equation).parameters)

    @wraps(equation)
    def filled(*arguments: Any, **options: Any) -> Any:
        named = {**dict(zip(names, arguments, strict=False)), **options}
        return _fill(equation(*arguments, **options), _find_unseeing(named), 0.0)

    return filled


def _average_all_values(equation: Equation, q: Any, k: Any, v: Any, options: dict[str, Any]) -> Any:
    """Return the plain mean of the values: what the equation gives where all scores are equal and nothing is hidden."""
    kept = {name: value for name, value in options.items() if name not in ("mask", "bias", "is_causal", *WINDOWS)}
    if "window" in kept:
        kept["window"] = max(q.shape[-2], k.shape[-2])
    return equation(q * 0.0, k, v, **kept)


CONVENTION = Convention(
    "fully_masked_rows",
    "the result of a query that attends to no key",
    (
        *("scaled_dot_product_attention", "grouped_query_attention", "local_attention"),
        *("attention_with_weights", "attention_with_lse", "merge_attention_states"),
        *POSITIONED,
        *LISTED,
        *LATENT,
    ),
    {
        "zero": Value(
            "zeros",
            _fill_blind_queries(lambda equation, q, k, v, options: 0.0),
            elsewhere={
                "merge_attention_states": _fill_empty_states,
                **dict.fromkeys(POSITIONED, _fill_blind_positions),
                **dict.fromkeys(LISTED, _fill_empty_lists),
                **dict.fromkeys(LATENT, _fill_unseeing),
            },
        ),
        "nan": Value("NaN", lambda equation: equation),
        "mean": Value(
            "the mean of all values",
            _fill_blind_queries(_average_all_values),
            is_deliberate=False,
            elsewhere=dict.fromkeys(("merge_attention_states", *POSITIONED, *LISTED, *LATENT), lambda equation: equation),
        ),
    },
    _has_blind_query,
    is_closed=False,
    in_pytorch="zero",
)
