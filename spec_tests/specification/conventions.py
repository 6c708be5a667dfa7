"""The conventions: the questions that no equation settles, the known answers to each, and what each makes of the equation.

A backend may state its answers in `conventions`. What it does not state is inferred: `trials/conventions.py` asks the backend,
and `calls/conventions.py` compares each answer with every known value. To add a convention, add an entry to CONVENTIONS, and a
function that draws its question to `open_questions` in `spec_tests/operations/<operation>.py` of each of its operations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np

from .registry import specification

Equation = Callable[..., Any]


@dataclass(frozen=True)
class Value:
    """One known answer to the question of a convention."""

    words: str
    change: Callable[[Equation], Equation]  # from the equation to the one that holds under this value
    is_deliberate: bool = True  # False: rounding may also bring it about, so that it may hold of some answers only


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
    return bool(named.get("is_causal")) and named["q"].shape[-2] != named["k"].shape[-2]


def _align(alignment: str) -> Callable[[Equation], Equation]:
    """Return the change that reads is_causal with n ≠ m as a mask, in an equation that raises ValueError there."""

    def change(equation: Equation) -> Equation:
        @wraps(equation)
        def aligned(q: Any, k: Any, v: Any, mask: Any = None, **options: Any) -> Any:
            given = {**options, **({} if mask is None else {"mask": mask})}
            try:
                return equation(q, k, v, **given)
            except ValueError:
                if not options.get("is_causal") or q.shape[-2] == k.shape[-2]:
                    raise
            seen = specification("causal_mask").reference(n=q.shape[-2], m=k.shape[-2], aligned=alignment)
            return equation(
                q, k, v, **{**given, "mask": seen if mask is None else np.logical_and(mask, seen), "is_causal": False}
            )

        return aligned

    return change


# --- fully_masked_rows ----------------------------------------------------------------------------------------------


def _has_blind_query(named: dict[str, Any], settled: dict[str, str]) -> bool:
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
    elif options.get("is_causal") and (alignment or n == m):
        seen = specification("causal_mask").reference(n=n, m=m, aligned=alignment or "bottom-right")
    if mask is not None:
        seen = np.logical_and(seen, mask)
    if bias is not None:
        seen = np.logical_and(seen, getattr(bias, "value", bias) > -np.inf)
    return ~np.any(seen, axis=-1) if m else np.zeros(n, dtype=bool)


def _fill_blind_queries(fill: Callable[..., Any]) -> Callable[[Equation], Equation]:
    """Return the change that gives the result `fill(equation, q, k, v, options)` to queries for which the equation is NaN."""

    def change(equation: Equation) -> Equation:
        @wraps(equation)
        def filled(q: Any, k: Any, v: Any, mask: Any = None, bias: Any = None, **options: Any) -> Any:
            arrays = {name: x for name, x in (("mask", mask), ("bias", bias)) if x is not None}
            y, blind = equation(q, k, v, **arrays, **options), find_blind_queries(q, k, mask, bias, **options)
            if not np.any(blind):
                return y
            undefined = np.isnan(np.asarray(getattr(y, "value", y))).reshape(-1, *y.shape).any(axis=0)
            return np.where(blind[..., None] & undefined, fill(equation, q, k, v, options), y)

        return filled

    return change


def _average_all_values(equation: Equation, q: Any, k: Any, v: Any, options: dict[str, Any]) -> Any:
    """Return the plain mean of the values: what the equation gives where all scores are equal and nothing is hidden."""
    kept = {name: value for name, value in options.items() if name not in ("mask", "bias", "is_causal")}
    if "window" in kept:
        kept["window"] = max(q.shape[-2], k.shape[-2])
    return equation(q * 0.0, k, v, **kept)


# --- the table ------------------------------------------------------------------------------------------------------

CONVENTIONS: dict[str, Convention] = {
    convention.name: convention
    for convention in (
        Convention(
            "causal_alignment",
            "which keys is_causal hides where n ≠ m",
            ("scaled_dot_product_attention", "grouped_query_attention"),
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
            ("scaled_dot_product_attention", "grouped_query_attention", "local_attention"),
            {
                "zero": Value("zeros", _fill_blind_queries(lambda equation, q, k, v, options: 0.0)),
                "nan": Value("NaN", lambda equation: equation),
                "mean": Value("the mean of all values", _fill_blind_queries(_average_all_values), is_deliberate=False),
            },
            _has_blind_query,
            is_closed=False,
        ),
    )
}


def conventions_of(operation: str) -> tuple[Convention, ...]:
    """Return the conventions that an operation depends on, in the order in which they apply."""
    return tuple(convention for convention in CONVENTIONS.values() if operation in convention.operations)


def apply_conventions(equation: Equation, operation: str, values: dict[str, str]) -> Equation:
    """Return the equation of the operation under these values of its conventions. That of the first is applied outermost."""
    for convention in reversed(conventions_of(operation)):
        if convention.name in values:
            equation = convention.values[values[convention.name]].change(equation)
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
