"""The answers as the search for a region sees them: a table of elements with their facts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from .asking import Answer
from .condition import Condition
from .facts.fact import Fact
from .facts.of_elements import ElementFact
from .met_conditions import MISSING, list_conditions, list_element_conditions

MISSING_TEXT = repr(MISSING)

MAX_ELEMENTS = 240  # of one answer that the search looks at; a contradiction shows others, which it then looks at too


class Column:
    """One fact of every answer."""

    def __init__(self, fact: Fact, answers: Sequence[Answer], texts: tuple[str, ...]):
        number_of = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        self.numbers = np.array([number_of[text] for text in texts])  # of the value of each answer, among the distinct ones
        self.distinct = [answers[texts.index(text)].facts.get(fact, MISSING) for text in number_of]

    def values_of(self, chosen: np.ndarray) -> list[Any]:
        """Return the distinct values of some of the answers."""
        return [self.distinct[number] for number in np.unique(self.numbers[chosen])]

    def test(self, condition: Condition) -> np.ndarray:
        """Return for each answer whether the condition holds."""
        return np.array([condition.holds(value) for value in self.distinct])[self.numbers]


class Examples:
    """The answers as the search sees them: a table of elements, each with its facts, and whether it is wrong."""

    def __init__(self, answers: Sequence[Answer], failing: Sequence[bool]):
        self.answers, self.failing = answers, list(failing)
        chosen = [_choose_elements(answer, is_failing) for answer, is_failing in zip(answers, failing, strict=True)]
        self.places = chosen
        self.owner = np.repeat(np.arange(len(answers)), [len(places) for places in chosen])
        self.wrong = np.concatenate(
            [
                np.full(1, is_failing)
                if answer.wrong is None
                else answer.wrong[places]
                if is_failing
                else np.zeros(len(places), bool)
                for answer, is_failing, places in zip(answers, failing, chosen, strict=True)
            ]
        ).astype(bool)

    @cached_property
    def call_facts(self) -> dict[Fact, Column]:
        """Return the facts of the answers, without those that say the same as one before."""
        found: dict[tuple[str, ...], Fact] = {}
        of_answers = [answer.texts for answer in self.answers]
        for fact in dict.fromkeys(fact for answer in self.answers for fact in answer.facts):
            texts = tuple([of_answer.get(fact, MISSING_TEXT) for of_answer in of_answers])
            if len(set(texts)) > 1:
                found.setdefault(texts, fact)
        return {fact: Column(fact, self.answers, texts) for texts, fact in found.items()}

    def element_values(self, fact: ElementFact) -> np.ndarray | None:
        """Return a fact of every element in the table, None if an answer with wrong elements lacks it."""
        parts = []
        for answer, is_failing, places in zip(self.answers, self.failing, self.places, strict=True):
            values = answer.elements.get(fact) if answer.wrong is not None else None
            if values is None or values.size != (0 if answer.wrong is None else answer.wrong.size):
                if is_failing:
                    return None
                values = np.full(1 if answer.wrong is None else answer.wrong.size, np.nan)
            parts.append(values[places])
        joined = np.concatenate(parts) if parts else np.empty(0)
        return joined if joined.dtype.kind in "fiub" else None if joined.dtype.kind == "O" else joined

    def candidates(self) -> Iterator[tuple[Condition, bool, np.ndarray]]:
        """Yield the conditions that every wrong element meets and some right one does not: (condition, of the call, mask)."""
        is_failing = np.array(self.failing)
        for fact, column in self.call_facts.items():
            for condition in list_conditions(fact, column.values_of(is_failing), column.values_of(~is_failing)):
                holds = column.test(condition)
                if np.all(holds[is_failing]) and not np.all(holds):
                    yield condition, True, holds[self.owner]
        of_elements = dict.fromkeys(
            fact
            for answer, fails in zip(self.answers, self.failing, strict=True)
            if fails and answer.wrong is not None
            for fact in answer.elements
        )
        for of_element in of_elements:
            if (values := self.element_values(of_element)) is None:
                continue
            for condition in list_element_conditions(of_element, values, self.wrong):
                mask = condition.holds_each(values)
                if np.all(mask[self.wrong]) and not np.all(mask):
                    yield condition, False, mask


def _choose_elements(answer: Answer, is_failing: bool) -> np.ndarray:
    """Return the places of the elements that the search looks at: those that tell something, or some of them."""
    if answer.wrong is None:
        return np.zeros(1, dtype=int)
    size = answer.wrong.size
    telling = np.flatnonzero(answer.tells(np.ones(size, dtype=bool)))
    if len(telling) <= MAX_ELEMENTS:
        return telling
    rng = np.random.default_rng(size)
    shown = np.fromiter(answer.shown, dtype=int)
    groups = [np.flatnonzero(answer.wrong), np.flatnonzero(answer.tells(~answer.wrong))] if is_failing else [telling]
    picked = [g if len(g) <= MAX_ELEMENTS // 2 else np.sort(rng.choice(g, MAX_ELEMENTS // 2, replace=False)) for g in groups]
    ends = [np.array([g[0], g[-1]]) for g in groups if len(g)]
    return np.unique(np.concatenate([shown, *picked, *ends]))
