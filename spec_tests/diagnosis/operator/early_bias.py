"""A bias that is added to the sums before the scales multiply them, and so is scaled as well."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from ...calls.call import Call
from ...specification.registry import Specification
from .alternative import Alternative, Named, call_right

OPERATION = "scaled_matmul"
COST = 0.5
SCALES = ("scale_a", "scale_b")


def list_early_biases(call: Call) -> Iterator[Alternative]:
    """Yield what a product of scaled matrices gives if all scales, or those of one matrix, multiply the bias."""
    if call.operation.name != OPERATION or call.named.get("bias") is None:
        return
    given = tuple(name for name in SCALES if call.named.get(name) is not None)
    for scales in dict.fromkeys((given, *((name,) for name in given))):
        if scales and _find_factor(call.named, scales) is not None:
            said = f"the bias is added before {' and '.join(scales)} {'multiply' if len(scales) > 1 else 'multiplies'}"
            yield Alternative(OPERATION, said, partial(_compute, scales=scales), COST, evaluations=2)


def _find_factor(named: Named, scales: tuple[str, ...]) -> dict[str, Any] | None:
    """Return the arguments of a product of one column of 1 with the bias, None where a row has several blocks along K."""
    if any(named.get(name) is not None and named[name].shape[-1] != 1 for name in scales):
        return None
    a = named["a"]
    one = {"a": np.ones((*a.shape[:-1], 1)), "b": named["bias"][:, None], "bias": None}
    others = dict.fromkeys(("zero_point_a", "zero_point_b", "global_scale_a", "global_scale_b"))
    others |= {name: named[name] * 0.0 + 1.0 for name in SCALES if name not in scales and named.get(name) is not None}
    return {**named, **one, **others}


def _compute(spec: Specification, named: Named, *, scales: tuple[str, ...]) -> Any:
    if named.get("bias") is None or (factor := _find_factor(named, scales)) is None:
        return call_right(spec, named)
    return call_right(spec, {**named, "bias": None}) + call_right(spec, factor)
