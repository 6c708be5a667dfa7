"""The arrays of a framework as a law handles them: copied, written to, and compared with what they held before."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..calls.call import Call
from ..calls.operation import Operation
from ..calls.violation import Violation
from ..specification.pytree import leaves
from .assertions import REPEATED, assert_identical, assert_true

SHARING = "results that share memory"  # one cause, whether a later call or the caller writes to them


def list_arrays(framework: Any, native: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Return every array among the arguments by its path, those in dicts and lists included: weights["w_q"]. `names` are those
    of the positional arguments.
    """
    named = {**dict(zip(names, native[0], strict=False)), **native[1]}
    paths = (pair for name, argument in named.items() for pair in leaves(argument, name))
    return {path: x for path, x in paths if framework.is_array(x)}


def copy_arrays(framework: Any, native: Any, names: tuple[str, ...]) -> dict[str, tuple[str, np.ndarray]]:
    """Return the dtype and the values of every array among the arguments."""
    return {path: (framework.dtype_of(x), framework.numpy(x)) for path, x in list_arrays(framework, native, names).items()}


def refill(operation: Operation, call: Call, native: Any, fresh: Any) -> bool:
    """Write the values of `fresh` into the arrays of `native`, of which this call was made: the next one is made of them, too.

    Return False if the framework cannot write to its arrays.
    """
    is_done = overwrite_all(operation.backend.framework, native, fresh)
    if is_done:
        operation.recorder.steps.add_refill(call)
    return is_done


def overwrite_all(framework: Any, native: Any, fresh: Any) -> bool:
    """Write the values of `fresh` into the arrays of `native`. Return False if the framework cannot write to its arrays."""
    pairs = zip(leaves([list(native[0]), native[1]]), leaves([list(fresh[0]), fresh[1]]), strict=True)
    return all(framework.overwrite(x, y) for (_, x), (_, y) in pairs if framework.is_array(x))


def write_to_result(operation: Operation, call: Call, result: Any, x: Any, value: float) -> bool:
    """Write a number into an array of the result that the first run of a call has returned.

    Return False if the framework cannot write to its arrays.
    """
    is_done = bool(operation.backend.framework.overwrite(x, value))
    if is_done:
        operation.recorder.steps.add_written(call, result, x, value)
    return is_done


def assert_still(framework: Any, arrays: list[Any], seen: dict[int, np.ndarray], otherwise: str) -> None:
    """The arrays have the values that were seen in them before. `otherwise` says what has changed them."""
    for x in arrays:
        try:
            assert_identical(framework.numpy(x), seen[id(x)], sides=REPEATED)
        except Violation as violation:
            violation.what, violation.symptom = f"{otherwise}: {violation.what}", SHARING
            violation.args = (violation.what,)
            raise


def assert_unchanged(before: dict[str, Any], after: dict[str, Any], how: str) -> None:
    """No argument has another dtype or other values than before."""
    for name in before | after:
        (dtype, was), (other, now) = before.get(name, ("", np.empty(0))), after.get(name, ("", np.empty(0)))
        same = dtype == other and np.array_equal(was, now, equal_nan=was.dtype.kind == "f")
        assert_true(same, f"argument {name} {how}")
