"""Elements whose bytes a server reads or writes in big-endian order, as Java's buffers do where no order is set."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from ..bounds.expectation import Expectation
from ..calls.call import Call
from ..specification.pytree import tree_map
from .evidence import Evidence, answer_of, truth_of, wrong_in
from .explanation import Explanation

SERVER = "process"  # the framework of a backend whose arrays travel in messages
WAYS = MappingProxyType({  # whether the elements of arguments are read, and those of results written, in the other order
    "writes the elements of its results": (False, True),
    "reads and writes elements": (True, True),
    "reads the elements of arguments": (True, False),
})  # fmt: skip


def find_other_byte_order(evidence: Evidence) -> Explanation | None:
    """Return the way in which every wrong answer of a server has the other byte order."""
    first = evidence.wrong[0]
    operation = first.operation
    if operation.backend.framework.name != SERVER or any(operation.spec.results.values()) or operation.spec.dtype:
        return None
    for words, (reads, writes) in WAYS.items():
        predicts = partial(_is_in_other_order, reads, writes)
        if all(map(predicts, evidence.wrong)) and all(predicts(call) is not False for call in evidence.right):
            what = f"it {words} in big-endian order; lengths and elements are little-endian"
            return Explanation("near miss", "big-endian", what, operation.name, predicts)
    return None


def _is_in_other_order(reads: bool, writes: bool, call: Call) -> bool | None:
    """Whether the answer of a call is the right one for elements that are read, or written, in the other order.

    It is one cause in whatever operations it shows.
    Elements that are read as NaN say nothing, since a NaN does not keep all of its bits.
    """
    if any(call.operation.spec.results.values()) or call.operation.spec.dtype:
        return None
    dtype, answer = call.operation.dtype, answer_of(call)
    with suppress(Exception):  # the equation does not take the numbers that are read
        expected = _expect_of_swapped(call) if reads else truth_of(call)
        if expected.value.shape == answer.shape:
            said = ~np.isnan(answer) & expected.claimed
            accepted = expected.accepts(swap_bytes(answer, dtype) if writes else answer)
            return bool(np.all(accepted | ~said)) and bool(np.any(said & (wrong_in(call) | ~np.any(wrong_in(call)))))
    return None


def _expect_of_swapped(call: Call) -> Expectation:
    """Return what the equation allows for the floating arguments with their bytes in the other order."""
    names = call.operation.spec.positional

    def swap(name: str, tree: Any) -> Any:
        dtype = call.operation.argument_format(name, call.keywords).name
        return tree_map(lambda x: swap_bytes(x, dtype) if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x, tree)

    arguments = tuple(swap(name, x) for name, x in zip(names, call.arguments, strict=False))
    keywords = {name: swap(name, x) if name in names else x for name, x in call.keywords.items()}
    return Call(call.operation, arguments, keywords, observed=call.judged_by_answer).expectation(call.operation.precision)


def swap_bytes(x: np.ndarray, dtype: str) -> np.ndarray:
    """Return the numbers that these are, if the bytes of each are read in the other order, as float64."""
    with np.errstate(all="ignore"):
        if dtype == "bfloat16":  # the upper half of a float32
            bits = (np.asarray(x, np.float32).view(np.uint32) >> 16).astype(np.uint16).byteswap()
            return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
        return np.asarray(x, dtype).byteswap().astype(np.float64)
