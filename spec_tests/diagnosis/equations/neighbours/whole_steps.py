"""Steps of wrong code that evaluate whole operations. Lines changed by a rule may call them; they take any number type."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from reference_numpy.log_softmax import log_softmax
from reference_numpy.softmax import softmax

from ....specification.registry import has_named_batch, specification


def softmax_of(x: Any, axis: int) -> Any:
    """The softmax of x along the axis."""
    return softmax(x, axis=axis)


def log_softmax_of(x: Any, axis: int) -> Any:
    """The logarithm of the softmax of x along the axis."""
    return log_softmax(x, axis=axis)


def each_alone(name: str, arrays: Any, **options: Any) -> list[Any]:
    """The operation of that name on each array of a list by itself."""
    equation = specification(name).declaration.equation
    return [equation([x], **options)[0] for x in arrays]


def mean_of_blocks(name: str, block: int, *arguments: Any, **options: Any) -> Any:
    """The mean of what the operation of that name gives for each block of rows by itself; blocks of ignored rows are left out."""
    spec = specification(name)
    given = dict(zip(spec.positional, arguments, strict=True))
    core = {key: count for key, count in spec.core.items() if given.get(key) is not None}
    batch = next(given[key].shape[: len(given[key].shape) - count] for key, count in core.items())
    for key, count in core.items():
        given[key] = np.reshape(given[key], (math.prod(batch), *given[key].shape[len(given[key].shape) - count :]))
    split = [k for k, x in given.items() if k in core or (has_named_batch(spec) and getattr(x, "shape", ())[:1] == batch)]
    values = []
    for start in range(0, math.prod(batch), block):
        parts = given | {key: given[key][start : start + block] for key in split}
        if "ignore_index" not in options or np.any(parts["targets"] != options["ignore_index"]):
            values.append(spec.declaration.equation(*parts.values(), **options))
    return sum(values[1:], start=values[0]) / len(values) if values else spec.declaration.equation(*arguments, **options)
