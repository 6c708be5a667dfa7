"""Infer the conventions that a backend does not state: ask it a few fixed questions, and keep the values that its answers fit."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from ..calls.conventions import fits
from ..calls.operation import Operation
from ..calls.recorder import Recorder
from ..calls.violation import Lost, NotImplementedVariant, Violation
from ..inputs.choices import shape_choices
from ..inputs.draw import Draw
from ..specification.conventions import Convention, conventions_of

QUESTIONS = 3  # in each dtype


def infer_values(operation: Operation, convention: Convention) -> tuple[str, ...]:
    """Return the values of a convention that the backend's answers leave possible, () if no answer fits any.

    The questions are the same in every run and in every dtype's trial, so that one failing example can be replayed alone. They
    are asked once for each backend and operation.
    """
    operation = getattr(operation, "forward", operation)  # a gradient answers no questions of its own
    known, key = operation.backend.inferred_conventions, (operation.name, convention.name)
    if key not in known:
        known[key] = _infer_values(operation, convention)
    return known[key]


def _infer_values(operation: Operation, convention: Convention) -> tuple[str, ...]:
    possible: tuple[str, ...] = ()
    earlier = [c for c in conventions_of(operation.name) if c.decides_every_call and c is not convention]
    settled = {c.name: operation.possible_values(c)[0] for c in earlier}
    for dtype in operation.backend.dtypes:
        asked = replace(operation, dtype=dtype, recorder=Recorder(), infer=None)
        for number in range(0 if asked.missing else QUESTIONS):
            try:
                fitting = _ask(asked, convention, number, settled)
            except Lost:  # to ask again would cost as much time again
                return possible
            except (Violation, NotImplementedVariant):
                continue
            left = tuple(value for value in possible or fitting if value in fitting)
            if fitting and not left:  # the answers contradict one another, and the law says so of the later ones
                return possible
            possible = left or possible
    return possible


def _ask(operation: Operation, convention: Convention, number: int, settled: dict[str, str]) -> tuple[str, ...]:
    """Ask the question of this number, and return the values that the answer fits, given those of conventions settled before."""
    random = Random(f"{operation.name} {convention.name} {operation.dtype} {number}")
    draw = Draw(random.randint, operation, shape_choices(operation.name, random))
    arguments, keywords = operation.spec.declaration.open_questions[convention.name](draw)
    call = operation.call(*arguments, **keywords)
    operation.values(call, operation.run(call))
    return tuple(value for value in convention.values if fits(call, convention, value, settled))
