"""The thresholds of a region's conditions on measured values, such as x < −13: asked for more closely, and rounded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from .asking import Answer, Ask
from .condition import Condition, is_integer, simplest_between
from .conjunction import Conjunction
from .region_wishes import wish_like

ROUNDS = 3  # of asking for values between the nearest right one and the nearest wrong one

SIZE = 24  # of each dimension that is asked for

STATISTICS = MappingProxyType(
    {  # the beginning of a fact's name, and what it is of a row
        "the largest entry of a row of ": np.max,
        "the smallest entry of a row of ": np.min,
        "the largest magnitude in a row of ": None,
    }
)


def sharpen(ask: Ask, region: Conjunction, answers: list[Answer]) -> Conjunction:
    """Return the region with simple numbers as thresholds. Answers that are asked for are added to those known."""
    of_element = tuple(_sharpen_condition(ask, condition, region, answers) for condition in region.of_element)
    return replace(region, of_element=of_element)


def _sharpen_condition(ask: Ask, condition: Condition, region: Conjunction, answers: list[Answer]) -> Condition:
    if condition.kind not in ("above", "below") or is_integer(condition.values[0]) or not np.isfinite(condition.values[0]):
        return condition
    failing = next((answer for answer in reversed(answers) if answer.failure and region.covers(answer).any()), None)
    fill = _find_fill(condition, answers)
    for _ in range(ROUNDS if failing is not None and fill else 0):
        low, high = find_gap(condition, region, answers)
        if failing is None or not low < high:
            break
        wish = wish_like(ask, failing)
        wish = wish.but(sizes={name: min(SIZE, max(size, ask.largest(name))) for name, size in wish.sizes.items()})
        wish = wish.but(batch=None if wish.batch is None else (SIZE,), fill=fill(low, high) if fill else None, is_ordinary=True)
        if answer := ask(wish):
            answers.append(answer)
    low, high = find_gap(condition, region, answers)
    if not low < high:
        return condition
    number = simplest_between(low, high) if condition.kind == "above" else 0.0 - simplest_between(-high, -low)
    return Condition(condition.fact, condition.kind, (number,))


def find_gap(condition: Condition, region: Conjunction, answers: Sequence[Answer]) -> tuple[float, float]:
    """Return the nearest values on both sides of a threshold, the lower first: a right element's and a wrong element's."""
    others = Conjunction(region.of_call, tuple(other for other in region.of_element if other != condition))
    wrong, right = [], []
    for answer in answers:
        values = answer.elements.get(condition.fact) if answer.wrong is not None else None
        if values is None or answer.wrong is None or values.size != answer.wrong.size:
            continue
        inside = others.covers(answer)
        wrong.append(values[inside & answer.wrong])
        right.append(values[inside & ~answer.wrong])
    is_wrong, is_right = (np.concatenate(parts) if parts else np.empty(0) for parts in (wrong, right))
    if not is_wrong.size:
        return 0.0, 0.0
    if condition.kind == "above":
        outside = is_right[is_right < is_wrong.min()]
        return (float(outside.max()), float(is_wrong.min())) if outside.size else (0.0, 0.0)
    outside = is_right[is_right > is_wrong.max()]
    return (float(is_wrong.max()), float(outside.min())) if outside.size else (0.0, 0.0)


def _find_fill(condition: Condition, answers: Sequence[Answer]) -> Callable[[float, float], Callable[..., Any]] | None:
    """Return what makes a regime of values between two numbers, None if the fact is no value of the first argument."""
    first = next(iter(answers[0].call.named), "")
    if condition.fact == first:
        return lambda low, high: lambda rng, shape, _: rng.uniform(low, high, shape)
    statistic = next((start for start in STATISTICS if condition.fact == f"{start}{first}"), None)
    if statistic is None:
        return None

    def make(low: float, high: float) -> Callable[..., Any]:
        def fill(rng: np.random.Generator, shape: tuple[int, int], _: Any) -> Any:
            wanted, x = rng.uniform(low, high, (shape[0], 1)), rng.standard_normal(shape)
            end: Any = STATISTICS[statistic]
            if end is None:
                return x * (wanted / np.max(np.abs(x), axis=-1, keepdims=True))
            return x - end(x, axis=-1, keepdims=True) + wanted

        return fill

    return make
