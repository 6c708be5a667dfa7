"""Test that a function with a hole, filled with a changed expression, computes what the whole changed function computes."""

import random
import warnings
from functools import partial

import numpy as np
import pytest

from spec_tests.deviations import OracleBackend
from spec_tests.diagnosis.equations.neighbours.edit import Edit, compile_edits
from spec_tests.diagnosis.equations.neighbours.hole import Holes
from spec_tests.diagnosis.equations.neighbours.listing import list_edits
from spec_tests.diagnosis.equations.neighbours.screen import Screen
from spec_tests.diagnosis.equations.neighbours.source import source_of
from spec_tests.diagnosis.equations.neighbours.trace import trace
from spec_tests.diagnosis.equations.search import _evaluate_on
from spec_tests.implementation.backend import Backend
from spec_tests.implementation.framework import Framework

from ..measure.leave_one_out import answered_calls
from ..support.rotation import rotate
from ..support.seeds import draw_seed

ORACLE = Backend("oracle", OracleBackend(), Framework("numpy"))
COUNT = 400  # of the edits of an operation


@pytest.mark.parametrize(
    "operation",
    rotate(["softmax", "rope", "cross_entropy", "multihead_self_attention", "swiglu_vjp", "mixture_of_experts"], 3),
)
def test_a_filled_hole_computes_what_the_changed_function_does(operation: str) -> None:
    source, holes = source_of(operation), Holes()
    calls = list(answered_calls(ORACLE, operation, "float64", "holes", 6))
    seen, screen = trace(source, [partial(_evaluate_on, call) for call in calls]), Screen(min(calls, key=lambda call: call.size))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # changed lines may be odd Python
        edits = [edit for depth in (0, 1) for edit in list_edits(source, seen, depth) if not edit.has_unknown]
        chosen = random.Random(draw_seed(operation)).sample(edits, min(COUNT, len(edits)))
        filled = 0
        for edit in chosen:
            whole, with_hole = compile_edits((edit,)), holes.compile((edit,))
            assert (whole is None) == (with_hole is None), edit
            if whole is None or with_hole is None:
                continue
            filled += with_hole != whole and any("_hole" in function.__code__.co_names for function in with_hole.values())
            values = [screen.evaluate(source.with_functions(functions)) for functions in (whole, with_hole)]
            assert (values[0] is None) == (values[1] is None), edit
            if values[0] is not None and values[1] is not None:
                np.testing.assert_array_equal(*values)
    assert filled > len(chosen) / 2, "most edits change one expression"


def test_several_changes_are_compiled_as_a_whole() -> None:
    source = source_of("silu")
    calls = list(answered_calls(ORACLE, "silu", "float64", "holes", 4))
    edits: list[Edit] = list(list_edits(source, trace(source, [partial(_evaluate_on, call) for call in calls]), 0))
    functions = Holes().compile((edits[0], edits[1]))
    assert functions is None or all("_hole" not in function.__code__.co_names for function in functions.values())
