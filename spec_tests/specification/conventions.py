"""The conventions: the questions that no equation settles, the known answers to each, and what each makes of the equation.

A backend may state its answers in `conventions`. What it does not state is inferred: `trials/conventions.py` asks the backend,
and `calls/conventions.py` compares each answer with every known value. To add a convention, add an entry to CONVENTIONS, and a
function that draws its question to `open_questions` in `spec_tests/operations/<operation>.py` of each of its operations.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

import numpy as np

from .registry import specification

Equation = Callable[..., Any]

WINDOWS = ("left_window", "right_window")


@dataclass(frozen=True)
class Value:
    """One known answer to the question of a convention."""

    words: str
    change: Callable[[Equation], Equation]  # from the equation to the one that holds under this value
    is_deliberate: bool = True  # False: rounding may also bring it about, so that it may hold of some answers only
    elsewhere: dict[str, Callable[[Equation], Equation]] = field(default_factory=dict)  # by operation, where it is another change


@dataclass(frozen=True)
class Convention:
    """A choice on which implementations legitimately differ. The first value is the one that is assumed if nothing is known."""

    name: str
    question: str  # what it decides, as it follows "decides"
    operations: tuple[str, ...]
    values: dict[str, Value]
    is_asked: Callable[[dict[str, Any], dict[str, str]], bool]  # by the arguments, given the values of earlier conventions
    is_closed: bool  # whether an answer that fits no known value is wrong; otherwise it is reported as unknown


# --- causal_alignment -----------------------------------------------------------------------------------------------


def _has_unequal_causality(named: dict[str, Any], settled: dict[str, str]) -> bool:
    hides = bool(named.get("is_causal")) or any(named.get(name) is not None for name in WINDOWS)
    return hides and named["q"].shape[-2] != named["k"].shape[-2]


def find_near_keys(n: int, m: int, alignment: str | None, options: dict[str, Any]) -> Any:
    """Return which of m keys causality and windows leave to each of n queries, whose positions are those of the alignment."""
    away = np.arange(m) - np.arange(n)[:, None] - (m - n if alignment == "bottom-right" else 0)
    left, right = (options.get(name) for name in WINDOWS)
    near = away <= 0 if options.get("is_causal") else np.ones((n, m), dtype=bool)
    return near & (True if left is None else away >= -left) & (True if right is None else away <= right)


def _align(alignment: str) -> Callable[[Equation], Equation]:
    """Return the change that reads is_causal and windows with n ≠ m as a mask, in an equation that raises ValueError there."""

    def change(equation: Equation) -> Equation:
        @wraps(equation)
        def aligned(q: Any, k: Any, v: Any, mask: Any = None, **options: Any) -> Any:
            given = {**options, **({} if mask is None else {"mask": mask})}
            try:
                return equation(q, k, v, **given)
            except ValueError:
                if not _has_unequal_causality({**options, "q": q, "k": k}, {}):
                    raise
            seen = find_near_keys(q.shape[-2], k.shape[-2], alignment, options)
            kept = {name: x for name, x in options.items() if name not in (*WINDOWS, "is_causal")}
            return equation(q, k, v, **kept, mask=seen if mask is None else np.logical_and(mask, seen))

        return aligned

    return change


# --- fully_masked_rows ----------------------------------------------------------------------------------------------


def _has_blind_query(named: dict[str, Any], settled: dict[str, str]) -> bool:
    if "lse_a" in named:
        return bool(np.any(_find_empty_states(named["lse_a"], named["lse_b"])))
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
        seen = np.logical_and(seen, getattr(bias, "value", bias) > -np.inf)
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


def _average_all_values(equation: Equation, q: Any, k: Any, v: Any, options: dict[str, Any]) -> Any:
    """Return the plain mean of the values: what the equation gives where all scores are equal and nothing is hidden."""
    kept = {name: value for name, value in options.items() if name not in ("mask", "bias", "is_causal", *WINDOWS)}
    if "window" in kept:
        kept["window"] = max(q.shape[-2], k.shape[-2])
    return equation(q * 0.0, k, v, **kept)


# --- all_ignored ----------------------------------------------------------------------------------------------------


def _averages_no_row(named: dict[str, Any], settled: dict[str, str]) -> bool:
    is_ignored = np.asarray(named["targets"]) == named.get("ignore_index", -100)
    return named.get("reduction", "mean") == "mean" and bool(np.all(is_ignored))


def _fill_empty_mean(equation: Equation) -> Equation:
    """Return the equation with 0 in place of NaN where the mean is of no row."""

    @wraps(equation)
    def filled(*arguments: Any, **options: Any) -> Any:
        y = equation(*arguments, **options)
        return (
            np.where(np.isnan(np.asarray(getattr(y, "value", y))), 0.0, y)
            if _averages_no_row({**options, "targets": arguments[-1]}, {})
            else y
        )

    return filled


# --- adamw_epsilon and adamw_decay ------------------------------------------------------------------------------------


def _updates_parameter(named: dict[str, Any], settled: dict[str, str]) -> bool:
    return bool(named["learning_rate"])


def _decays_parameter(named: dict[str, Any], settled: dict[str, str]) -> bool:
    return bool(named["learning_rate"]) and bool(named["weight_decay"])


def _add_epsilon_first(equation: Equation) -> Equation:
    """Return the equation with eps added to the root before it is corrected: an eps of eps / √(1 − β₂^t)."""

    @wraps(equation)
    def uncorrected(*arrays: Any, step: int, beta2: Any = 0.999, eps: Any = 1e-8, **options: Any) -> Any:
        number = float(getattr(eps, "value", eps)) / np.sqrt(1 - float(getattr(beta2, "value", beta2)) ** step)
        return equation(*arrays, step=step, beta2=beta2, eps=number, **options)

    return uncorrected


def _decay_last(equation: Equation) -> Equation:
    """Return the equation with the decay multiplied into the new parameter."""

    @wraps(equation)
    def decayed(*arrays: Any, learning_rate: Any = 1e-3, weight_decay: Any = 0.01, **options: Any) -> Any:
        rate, decay = (float(getattr(x, "value", x)) for x in (learning_rate, weight_decay))
        parameter, *moments = equation(*arrays, learning_rate=learning_rate, weight_decay=0.0, **options)
        return (parameter * (1 - rate * decay), *moments)

    return decayed


# --- the table ------------------------------------------------------------------------------------------------------

POSITIONED = ("attention_with_kv_cache", "paged_attention", "variable_length_attention")  # queries have positions of their own

CONVENTIONS: dict[str, Convention] = {
    convention.name: convention
    for convention in (
        Convention(
            "causal_alignment",
            "which keys is_causal hides where n ≠ m",
            ("scaled_dot_product_attention", "grouped_query_attention", "attention_with_weights", "attention_with_lse"),
            {
                "bottom-right": Value("the last query is level with the last key: j ≤ i + m − n", _align("bottom-right")),
                "top-left": Value("the first query is level with the first key: j ≤ i", _align("top-left")),
            },
            _has_unequal_causality,
            is_closed=True,
        ),
        Convention(
            "fully_masked_rows",
            "the result of a query that attends to no key",
            (
                *("scaled_dot_product_attention", "grouped_query_attention", "local_attention"),
                *("attention_with_weights", "attention_with_lse", "merge_attention_states"),
                *POSITIONED,
            ),
            {
                "zero": Value(
                    "zeros",
                    _fill_blind_queries(lambda equation, q, k, v, options: 0.0),
                    elsewhere={"merge_attention_states": _fill_empty_states, **dict.fromkeys(POSITIONED, _fill_blind_positions)},
                ),
                "nan": Value("NaN", lambda equation: equation),
                "mean": Value(
                    "the mean of all values",
                    _fill_blind_queries(_average_all_values),
                    is_deliberate=False,
                    elsewhere=dict.fromkeys(("merge_attention_states", *POSITIONED), lambda equation: equation),
                ),
            },
            _has_blind_query,
            is_closed=False,
        ),
        Convention(
            "adamw_epsilon",
            "whether eps is added to the root before or after the correction of the second moment",
            ("adamw_step",),
            {
                "corrected": Value("added to √(v / (1 − β₂^t))", lambda equation: equation),
                "uncorrected": Value("added to √v, which is corrected afterwards", _add_epsilon_first),
            },
            _updates_parameter,
            is_closed=True,
        ),
        Convention(
            "adamw_decay",
            "whether the decay multiplies the old or the new parameter",
            ("adamw_step",),
            {
                "before": Value("p (1 − a d) less the update", lambda equation: equation),
                "after": Value("(p less the update) (1 − a d)", _decay_last),
            },
            _decays_parameter,
            is_closed=True,
        ),
        Convention(
            "all_ignored",
            "the mean of a loss whose rows are all ignored, or that has no rows",
            ("cross_entropy", "linear_cross_entropy"),
            {"nan": Value("NaN, which is 0 / 0", lambda equation: equation), "zero": Value("0", _fill_empty_mean)},
            _averages_no_row,
            is_closed=True,
        ),
        Convention(
            "cache_update",
            "whether new caches are returned, or the given ones are written to",
            ("kv_cache_append",),
            {
                "returned": Value("nothing that was given changes", lambda equation: equation),
                "in place": Value("the given caches are written to; it returns them or nothing", lambda equation: equation),
            },
            lambda named, settled: False,
            is_closed=True,
        ),
    )
}


UPDATE = "cache_update"  # which is decided by looking, not by comparing values: see `calls/updates.py`


def conventions_of(operation: str) -> tuple[Convention, ...]:
    """Return the conventions that an operation depends on, in the order in which they apply."""
    return tuple(convention for convention in CONVENTIONS.values() if operation in convention.operations)


def apply_conventions(equation: Equation, operation: str, values: dict[str, str]) -> Equation:
    """Return the equation of the operation under these values of its conventions. That of the first is applied outermost."""
    for convention in reversed(conventions_of(operation)):
        if convention.name in values:
            value = convention.values[values[convention.name]]
            equation = value.elsewhere.get(operation, value.change)(equation)
    return equation


def find_convention_complaint(name: Any, stated: Any) -> str:
    """Return what is wrong with the statement of a convention, or "". It is a value, or a dict of values by operation."""
    convention = CONVENTIONS.get(name)
    if convention is None:
        return f"its conventions name {name!r}; there are {', '.join(CONVENTIONS)}"
    for operation, value in stated.items() if isinstance(stated, dict) else [("", stated)]:
        if operation and operation not in convention.operations:
            return f"its conventions state {name} of {operation!r}; it is a convention of {', '.join(convention.operations)}"
        if not isinstance(value, str) or value not in convention.values:
            return f"its conventions state {name} = {value!r}; there are {', '.join(convention.values)}"
    return ""


def describe_statement(stated: str | dict[str, str]) -> str:
    """Return what a backend states of a convention as one text."""
    return stated if isinstance(stated, str) else ", ".join(f"{value} ({operation})" for operation, value in stated.items())
