"""A script that was printed with a failure, and whether what it prints shows that failure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..calls.call import Call
from ..calls.history import list_lost
from ..calls.operation import Operation
from ..specification.pytree import join

NO_ARRAY = "none"  # in place of a dtype, where something else is printed beside arrays, such as None
Printed = tuple[str, np.ndarray]  # an array with its dtype in the framework; its values are given as float64


@dataclass(frozen=True)
class WrittenScript:
    """A script, and what it prints: the answers of calls, or arguments after a call."""

    name: str  # of the law, the backend and the dtype
    text: str
    calls: tuple[Call, ...]  # whose answers it prints; of the last one alone, rows of it may be printed
    before: tuple[np.ndarray, ...] = ()  # arguments that it prints instead, as they are before the call
    shows: bool = True  # whether it is to show that an answer is wrong; if not, it says that each is right

    @property
    def has_answer(self) -> bool:
        """Whether the call that failed had a result that could be read."""
        return all(call.observed is not None and call not in list_lost(call.operation.backend) for call in self.calls)

    def is_wrong(self, printed: Sequence[Sequence[Printed]]) -> bool:
        """Whether one of the printed results, each given by its arrays, is wrong."""
        if self.before:
            pairs = zip(self.before, (x for arrays in printed for _, x in arrays), strict=True)
            return any(not np.array_equal(was, now, equal_nan=was.dtype.kind == "f") for was, now in pairs)
        return any(not _accepts(call, arrays) for call, arrays in zip(self.calls, printed, strict=True))


def _accepts(call: Call, printed: Sequence[Printed]) -> bool:
    """Whether the arrays are a right answer of the call. Arrays of another shape or dtype are not."""
    operation, is_single = call.operation, call.parts is None
    printed = [(dtype, x) for dtype, x in printed if is_single or dtype != NO_ARRAY]
    assert isinstance(operation, Operation)
    arrays = [_read_codes(operation, call, place, x) for place, (_, x) in enumerate(printed)]
    if is_single and len(arrays) == 1 and not operation.spec.is_gradient:
        value = operation.spec.declaration.arrange(arrays)[0]
    elif is_single or operation.spec.is_gradient:
        value = arrays[0] if len(arrays) == 1 and is_single else join(arrays)
    else:
        value = join(operation.spec.declaration.arrange(list(arrays)))
    if not operation.spec.is_gradient:
        names = [part.name for part in call.parts] if call.parts else [""]
        dtypes = [operation.expected_dtypes(name, call.keywords) for name in names]
        if any(dtype not in wanted for wanted, (dtype, _) in zip(dtypes, printed, strict=True)):
            return False
    return value.shape == call.value.shape and bool(np.all(call.expectation(operation.precision).accepts(value)))


def _read_codes(operation: Operation, call: Call, place: int, x: np.ndarray) -> np.ndarray:
    """Return the numbers of an array that is printed: of one of few bits, those that its codes stand for."""
    names = tuple(operation.spec.results)
    carrier = operation.carrier(names[place], call.keywords) if place < len(names) else None
    return carrier.load(x) if carrier and x.dtype.kind in "iu" else x
