"""A cheap test of an equation in float64 on one failing call, before its error bound is derived."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....calls.call import Call
from ...evidence import answer_of, truth_of, wrong_in
from ...result_parts import split_parts

FAR = 1000.0  # the score of an equation without values
MAX_DISTANCE = 6.0  # log2 of the bounds between an answer and the value of an alternative that may explain it


@dataclass(frozen=True)
class Screened:
    """What screening says of an equation."""

    is_possible: bool = False
    score: float = FAR  # log2 of its largest distance from an answer, in units of the bound
    mean: float = FAR
    only_in: str = ""  # the one of several results in which it holds alone, "" for all


@dataclass
class Scores:
    """The scores of an equation on the calls that are screened."""

    worst: float = -FAR
    mean: float = FAR
    speaks: bool = False
    is_out: bool = False

    def add(self, possible: bool | None, worst: float, mean: float) -> None:
        self.worst, self.mean = max(self.worst, worst), mean
        self.speaks = self.speaks or possible is True
        self.is_out = self.is_out or possible is False

    @property
    def is_possible(self) -> bool:
        return self.speaks and not self.is_out


class Screen:
    """A failing call, and how far an equation is from its answer. `part`: the only one of several results that is wrong."""

    def __init__(self, call: Call, part: str = ""):
        self.call, self.answer, truth = call, answer_of(call), truth_of(call)
        self.truth, self.wrong, self.storage = truth.value, wrong_in(call), call.operation.storage
        with np.errstate(all="ignore"):
            self.radius = np.where(np.isfinite(truth.radius), truth.radius, np.inf)
            self.gap = np.abs(self.answer - self.truth)
            rounding = np.where(np.isfinite(self.answer), self.storage.u * np.abs(self.answer), 0.0)
            self.reach = np.maximum(self.radius, rounding)  # how far an answer may be from the value that it stands for
        self.finite = np.isfinite(self.answer)
        self.right_results: dict[str, Any] = {}  # which alternatives share: see `Alternative.function_with`
        self._on_shared = call.prepare(_as_read_only)
        self._in_part = _mark_part(call, part) if part else None

    def evaluate(self, equation: Callable[..., Any]) -> np.ndarray | None:
        """Return the equation's values, rounded to the dtype; None if it has none of the right shape."""
        try:
            with np.errstate(all="ignore"):
                values = np.asarray(self._evaluate_on_call(equation), dtype=np.float64)
                return self.storage.round(values) if values.shape == self.answer.shape else None
        except Exception:
            return None

    def within_part(self, values: np.ndarray) -> np.ndarray:
        """Return values in the only part that is wrong, and the right ones elsewhere."""
        return values if self._in_part is None else np.where(self._in_part, values, self.storage.round(self.truth))

    def _evaluate_on_call(self, equation: Callable[..., Any]) -> Any:
        """Evaluate an equation on arguments that all equations share, or on copies if it writes into them."""
        try:
            return self._on_shared(equation)
        except ValueError as error:
            if "read-only" not in str(error):
                raise
            return self.call.evaluate(np.asarray, equation)

    def score(self, values: np.ndarray) -> tuple[bool | None, float, float]:
        """Return whether the values may be the answers, and log2 of their largest and mean distance in units of the bound.

        They may not be if most wrong elements are nearer to the right equation, or if they are infinite and the answer is not.
        Where they are NaN and the answer is wrong, as for a query that then sees no key, the equation says nothing: None if it
        says nothing about any wrong element.
        """
        with np.errstate(all="ignore"):
            distance = np.abs(self.answer - values)
            undefined = ~np.isfinite(values)
            open_ = np.isnan(values) & self.finite & self.wrong
            near = ((distance < self.gap) | undefined | ~self.finite) & ~open_
            wrong = np.sum(self.wrong & ~open_)
            possible = bool(2 * np.sum(near & self.wrong) >= wrong and not np.any(undefined & self.finite & ~open_))
            same = (distance == 0) | (self.answer == values) | (np.isnan(self.answer) & np.isnan(values)) | open_
            ratio = np.where(same, 0.0, distance / (self.radius + self.storage.u * np.abs(values)))
            sizes = np.log2(np.nan_to_num(ratio, nan=1e300, posinf=1e300) + 2.0**-20)
        says_nothing = possible and not wrong and bool(np.any(open_))
        return None if says_nothing else possible, float(np.max(sizes, initial=-FAR)), float(np.mean(sizes))


def find_only_part(wrong: Sequence[Call]) -> str:
    """Return the only one of several results, or gradients, in which answers are wrong, "" if there are more, or one result."""
    if not (wrong[0].operation.spec.is_gradient or wrong[0].operation.spec.has_several_results):
        return ""
    parts = {name for call in wrong for name, is_wrong in split_parts(call, wrong_in(call)).items() if is_wrong.any()}
    return parts.pop() if len(parts) == 1 else ""


def _mark_part(call: Call, part: str) -> np.ndarray:
    """Return which elements of an answer belong to a part."""
    places = split_parts(call, np.arange(answer_of(call).size).reshape(answer_of(call).shape))
    marks = np.zeros(answer_of(call).size, dtype=bool)
    if part in places:
        marks[np.ravel(places[part])] = True
    return marks.reshape(answer_of(call).shape)


def may_explain(screens: Sequence[Screen], evaluate: Callable[[Screen], np.ndarray | None]) -> bool:
    """Whether the values that `evaluate` returns may be the answers in each screened call, and speak for it in one."""
    speaks = False
    for screen in screens:
        values = evaluate(screen)
        if values is None:
            return False
        possible, largest, _ = screen.score(values)
        if possible is False or largest > MAX_DISTANCE:
            return False
        speaks = speaks or possible is True
    return speaks


def _as_read_only(x: Any) -> np.ndarray:
    array = np.asarray(x)
    array.flags.writeable = False
    return array
