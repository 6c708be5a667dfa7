"""What the laws about every number share: calls of all numbers, stored in three ways."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from ..calls.call import Call
from ..calls.operation import Operation
from ..calls.result import Result
from ..calls.violation import NotImplementedVariant, Violation, add_fact
from ..inputs.draw import Draw
from ..specification.numbers import numbers_to_try
from .assertions import assert_conforms

SHORT_ROWS = (7, 5, 3, 13)  # shorter than a vector of the processor, or with a rest
ASKED_ALONE = 3  # wrong numbers
IN_ONE_ROW, IN_SHORT_ROWS = ("contiguous", "strided"), ("padded rows",)  # padded, so that no code takes the rows for one


def assert_every_number(operation: Operation, draw: Draw) -> None:
    """The answers to calls of all numbers lie within the bounds of the equation, in each form that the keywords choose."""
    numbers = numbers_to_try(draw.format, draw.rng, is_gradient=operation.spec.is_gradient)
    short = draw.one_of(SHORT_ROWS)
    for keywords in list_forms(operation):
        for shape, layouts in ((len(numbers), IN_ONE_ROW), (short, IN_SHORT_ROWS)):
            rows = arrange_rows(operation, numbers, shape)
            cotangent = (draw.normal(rows.shape),) if operation.spec.is_gradient else ()
            _assert_in_layouts(operation, operation.call(*cotangent, rows, **keywords), layouts)


def _assert_in_layouts(operation: Operation, call: Call, layouts: tuple[str, ...]) -> None:
    if operation.domain.get("contiguous"):
        layouts = ("contiguous",)
    for layout in layouts:
        with add_fact("stored", layout):
            values = operation.values(call, operation.run(call, operation.native(call, layout)))
            try:
                assert_conforms(Result(values, call), operation.recorder)
            except Violation:
                _assert_alone(operation, call, values)
                raise


def _assert_alone(operation: Operation, call: Call, values: np.ndarray) -> None:
    """Numbers whose answers are wrong have right ones where each is asked for alone. A failure then shows one number."""
    expectation, recorder = call.expectation(operation.classes()[-1]), operation.recorder
    wrong = np.flatnonzero(~expectation.accepts(values))
    simplest = sorted(wrong, key=lambda i: abs(math.log2(abs(call.arguments[-1].flat[i]) or 1.0)))[:ASKED_ALONE]
    together = [*recorder.calls]
    for place in simplest:
        recorder.calls.clear()  # the failing example is the number alone
        numbers = (arrange_rows(operation, x.reshape(-1)[place : place + 1], 1) for x in call.arguments)
        assert_conforms(operation.result(operation.call(*numbers, **call.keywords)), recorder)
    recorder.calls[:] = together


def list_forms(operation: Operation) -> Iterator[dict[str, Any]]:
    """Yield the keywords that choose each form of the equation, as far as the function and the domain have it."""
    choices = operation.spec.declaration.choices
    allowed = {name: operation.domain.get(name, values) for name, values in choices.items()}
    names = [name for name in choices if operation.accepts(name) or len(allowed[name]) == 1]
    for values in product(*(allowed[name] for name in names)):
        yield dict(zip(names, values, strict=True))


def arrange_rows(operation: Operation, numbers: np.ndarray, size: int) -> np.ndarray:
    """Return the numbers in rows of this size, or of the nearest that the domain has. The last row begins anew."""
    domain = operation.domain
    if allowed := domain.get("d"):
        size = min(allowed, key=lambda d: abs(d - size))
    rows = np.resize(numbers, (-(-len(numbers) // size), size)) if size < len(numbers) else np.resize(numbers, size)
    rank = min((rank for rank in domain.get("batch_dims", (rows.ndim - 1,)) if rank >= rows.ndim - 1), default=None)
    if rank is None:
        raise NotImplementedVariant(f"its domain has no batch of {rows.ndim - 1} dimensions", "domain")
    return rows.reshape((1,) * (rank + 1 - rows.ndim) + rows.shape)
