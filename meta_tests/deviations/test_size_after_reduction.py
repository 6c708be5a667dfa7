"""Test that the size of the largest number, in place of the largest of all sizes, is found as a change of the equation."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from reference_numpy._scales import reduce_blocks
from spec_tests.deviations._oracle_backend import put_into_oracle
from spec_tests.deviations.dynamic_quantize import with_parts
from spec_tests.diagnosis.equations.search import search_equation
from spec_tests.diagnosis.evidence import Evidence
from spec_tests.implementation.backend import build_backend
from spec_tests.specification.registry import operations

from ..measure.leave_one_out import answered_calls
from ..support.budgets import budget_for

CALLS = 24


def smallest(x: Any, axis: int) -> Any:
    return -np.max(-x, axis=axis)


@pytest.mark.parametrize(
    ("reduction", "text"), [(np.max, "size = abs(max(x) of each block)"), (smallest, "size = abs(smallest(x) of each block)")]
)
def test_the_size_of_one_end_is_found_in_place_of_the_largest_size(reduction: Callable[..., Any], text: str) -> None:
    def dynamic_quantize(*arrays: Any, **options: Any) -> Any:
        if not options.get("symmetric", True):
            return with_parts(arrays, options)
        sizes = np.abs(reduce_blocks(reduction, arrays[0], options["block"]))
        return with_parts(arrays, options, reduce_blocks=lambda reduce, x, block: sizes)

    under_test = build_backend(put_into_oracle("dynamic_quantize", dynamic_quantize), set(operations()))
    evidence = Evidence.gather(list(answered_calls(under_test, "dynamic_quantize", "float32", "sizes", CALLS)))
    assert evidence.wrong
    found = search_equation(evidence, budget=budget_for(evidence))
    assert found is not None
    assert text in found.what.replace("«", "").replace("»", ""), found.what
