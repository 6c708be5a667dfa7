"""The thresholds of a region's conditions on measured values, such as x < −13: asked for more closely, and rounded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .asking import Answer, Ask
from .condition import Condition
from .conjunction import Conjunction
from .facts.of_calls.values import LargestMagnitude
from .facts.of_elements import ElementFact
from .like_calls import name_first, wish_like
from .met_conditions import drop_underflowing
from .values import is_integer, simplest_between

ROUNDS = 3  # of asking for values between the nearest right one and the nearest wrong one

SIZE = 24  # of each dimension that is asked for

BISECTIONS = 16  # of the gap between the largest value of a right call and the smallest of a wrong one

RESOLUTION = 1e-3  # of a threshold, at which bisection ends


def sharpen(ask: Ask, region: Conjunction, answers: list[Answer]) -> Conjunction:
    """Return the region with simple numbers as thresholds. Answers that are asked for are added to those known."""
    of_call = tuple(_sharpen_call_condition(ask, condition, region, answers) for condition in region.of_call)
    of_element = tuple(_sharpen_element_condition(ask, condition, region, answers) for condition in region.of_element)
    return replace(region, of_call=of_call, of_element=of_element)


def _find_failing(region: Conjunction, answers: Sequence[Answer]) -> Answer | None:
    """Return the newest failing answer that the region covers."""
    return next((answer for answer in reversed(answers) if answer.failure and region.covers(answer).any()), None)


def _set_threshold(condition: Condition, low: float, high: float) -> Condition:
    """Return the condition with the simplest number of a gap as its threshold, or as it is if there is no gap."""
    if not low < high:
        return condition
    number = simplest_between(low, high) if condition.kind == "above" else 0.0 - simplest_between(-high, -low)
    return Condition(condition.fact, condition.kind, (number,))


def _sharpen_call_condition(ask: Ask, condition: Condition, region: Conjunction, answers: list[Answer]) -> Condition:
    """Return a condition on the largest value of a call with a simple number, after the gap at its threshold is bisected.

    Each value is asked for with both signs. Where only one of them fails, the fit prefers a condition on the values.
    """
    failing = _find_failing(region, answers)
    if not isinstance(condition.fact, LargestMagnitude) or condition.kind not in ("above", "below") or failing is None:
        return condition
    others, base = region.without(condition), wish_like(ask, failing)
    for count in range(BISECTIONS):
        low, high = _find_call_gap(condition, others, answers)
        if high - low <= RESOLUTION * high:
            break
        middle = np.sqrt(low) * np.sqrt(high) if high > 4 * low > 0 else low / 2 + high / 2
        wish = condition.fact.change(base, (1, -1)[count % 2] * float(middle), failing.call, ask.largest)
        if wish is not None and (answer := ask(wish)) is not None:
            answers.append(answer)
    return _set_threshold(condition, *_find_call_gap(condition, others, answers))


def _find_call_gap(condition: Condition, others: Conjunction, answers: Sequence[Answer]) -> tuple[float, float]:
    """Return the nearest values of a fact on both sides of a threshold, the lower first: of right and of wrong calls."""
    known = [a for a in answers if others.covers(a).any() and math.isfinite(a.facts.get(condition.fact, math.inf))]
    wrong = [answer.facts[condition.fact] for answer in known if answer.failure]
    right = [answer.facts[condition.fact] for answer in known if not answer.failure]
    if not wrong:
        return 0.0, 0.0
    if condition.kind == "above":
        return max((x for x in right if x < min(wrong)), default=min(wrong)), min(wrong)
    return max(wrong), min((x for x in right if x > max(wrong)), default=max(wrong))


def _sharpen_element_condition(ask: Ask, condition: Condition, region: Conjunction, answers: list[Answer]) -> Condition:
    if condition.kind not in ("above", "below") or is_integer(condition.values[0]) or not np.isfinite(condition.values[0]):
        return condition
    failing = _find_failing(region, answers)
    assert isinstance(condition.fact, ElementFact)
    fill = condition.fact.fill_between(name_first(answers[0].call))
    for _ in range(ROUNDS):
        low, high = find_gap(condition, region, answers)
        if failing is None or fill is None or not low < high:
            break
        wish = wish_like(ask, failing).with_rows(fill(low, high))
        wish = wish.but(sizes={name: min(SIZE, max(size, ask.largest(name))) for name, size in wish.sizes.items()})
        if answer := ask(wish.but(batch=None if wish.batch is None else (SIZE,))):
            answers.append(answer)
    return _set_threshold(condition, *find_gap(condition, region, answers))


def find_gap(condition: Condition, region: Conjunction, answers: Sequence[Answer]) -> tuple[float, float]:
    """Return the nearest values on both sides of a threshold, the lower first: a right element's and a wrong element's."""
    others = Conjunction(region.of_call, tuple(other for other in region.of_element if other != condition))
    wrong, right = [], []
    for answer in answers:
        values = answer.of_element(condition.fact) if answer.wrong is not None else None
        if values is None or answer.wrong is None or values.size != answer.wrong.size:
            continue
        inside = others.covers(answer)
        wrong.append(values[inside & answer.wrong])
        right.append(values[answer.tells(inside & ~answer.wrong)])
    is_wrong, is_right = (np.concatenate(parts) if parts else np.empty(0) for parts in (wrong, right))
    is_right = drop_underflowing(is_right)
    if not is_wrong.size:
        return 0.0, 0.0
    if condition.kind == "above":
        outside = is_right[is_right < is_wrong.min()]
        return (float(outside.max()), float(is_wrong.min())) if outside.size else (0.0, 0.0)
    outside = is_right[is_right > is_wrong.max()]
    return (float(is_wrong.max()), float(outside.min())) if outside.size else (0.0, 0.0)
