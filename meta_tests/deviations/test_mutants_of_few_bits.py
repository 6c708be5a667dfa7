"""Machine-made mutants of operations on numbers in few bits: the grid is right, and the suite catches what leaves the bound."""

import importlib
import json

import pytest

from spec_tests.implementation.backend import build_backend
from spec_tests.specification.registry import operations
from spec_tests.trials.trial import Trial

from ..measure.mutants_of_few_bits import (
    INSIDE,
    LEAVES,
    RAISES,
    SOURCES,
    judge_call,
    judge_on_grid,
    list_dtypes,
    list_mutants,
    make_mutant,
    summarize,
)
from ..support.few_bits_grid import OPERATIONS, list_calls
from ..support.paths import MEASURED

ROWS = json.loads((MEASURED / "mutants_of_few_bits.json").read_text(encoding="utf-8"))


def test_at_least_97_percent_of_those_that_leave_the_bound_are_caught() -> None:
    leaving = [row for row in ROWS if row["grid"] == LEAVES]
    assert len(leaving) > 500
    assert sum(bool(row["caught"]) for row in leaving) >= 0.97 * len(leaving)
    assert {name.partition("/")[2].partition(".")[0] for name in (row["id"] for row in leaving)} == set(SOURCES)
    assert {operation for row in leaving for operation in row["operations"]} == set(OPERATIONS)


def test_the_summary_is_that_of_the_rows() -> None:
    text = (MEASURED / "mutants_of_few_bits.txt").read_text(encoding="utf-8")
    assert text == "\n".join(summarize(ROWS)) + "\n"


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_correct_backend_stays_inside_the_bound_on_the_grid(operation: str) -> None:
    right = importlib.import_module(SOURCES["_numpy_formats"])
    for dtype in list_dtypes(operation, right.dtypes):
        under_test = Trial(build_backend(right, set(operations())), dtype).operation(operation)
        outcomes = {judge_call(under_test, given, keywords, None) for given, keywords in list_calls(operation, dtype)}
        assert outcomes == {INSIDE}


def test_a_mutant_is_judged_by_its_answers() -> None:
    """One rounds ties to odd codes, and one leaves an argument out."""
    outcomes = {}
    for change, expected in (("below % 2 == 0 → below % 2 != 0", LEAVES), ("_to_codes(t, dtype) → _to_codes(t)", RAISES)):
        name, mutation = next(found for found in list_mutants().values() if found[1].id.endswith(change))
        outcomes[expected] = judge_on_grid(name, make_mutant(name, mutation))
    assert outcomes == {LEAVES: LEAVES, RAISES: RAISES}
