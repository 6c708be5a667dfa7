"""No bound has become wider: correct arithmetic uses as much of it as it did when docs/measured/tightness.txt was written.

The same seeds give the same calls and the same simulated roundings, so that a share is the same on every machine, up to float64
roundings of its libraries, unless the bound, the equation or the draws change. A bound that grows by a quarter must be noticed.
Therefore half of this quarter, as a factor, is left for what such roundings may decide otherwise.
"""

from __future__ import annotations

import math

import pytest

from spec_tests.bounds.expectation import Expectation

from ..measure import tightness
from ..measure.tightness import ARITHMETIC, NAMES, Row, find_largest_error, find_worst_share

NOTICED = 1.25
SLACK = math.sqrt(NOTICED)
ROWS = {(row.operation, row.precision): row for row in tightness.read_rows()}
REMEASURE = "if it should be so, python -m meta_tests.measure.tightness --write stores what holds now"


def find_change(stored: float, now: float, what: str) -> str:
    """Return how a figure differs from the stored one, "" if it is the same but for the slack."""
    if stored / SLACK <= now <= stored * SLACK:
        return ""
    return f"{what} is {now:.4g}, and was {stored:.4g}; {REMEASURE}"


def play(row: Row) -> tuple[Expectation, float]:
    """Return the expectation of the call with the worst share, and its share today."""
    call = tightness.draw_call(row.operation, row.precision, row.call)
    assert call is not None, f"the operation takes the call no more; {REMEASURE}"
    expectation, result = tightness.compute(call, row.precision, row.rounding)
    widened = Expectation(expectation.value, NOTICED * expectation.error, tightness.EXACT_STORAGE)
    share, largest = find_worst_share(widened, result), find_largest_error(widened)
    noticed = find_change(row.worst, share, "") or find_change(row.allowed, largest, "")
    assert noticed or row.allowed == 0, "a bound that is a quarter wider would not be noticed"
    return expectation, find_worst_share(expectation, result)


def test_the_table_has_every_operation_in_every_class() -> None:
    assert list(ROWS) == [(name, precision) for name in NAMES for precision in ARITHMETIC], REMEASURE


@pytest.mark.parametrize("precision", ARITHMETIC)
def test_only_what_is_exact_has_no_bound_that_could_grow(precision: str) -> None:
    exact = {"relu", "relu_vjp", "quantize", "dequantize"}  # the worst call of quantize has scales that are powers of two
    assert {row.operation for row in ROWS.values() if row.precision == precision and row.allowed == 0} <= exact


@pytest.mark.parametrize("name", NAMES)
def test_the_worst_rounding_uses_the_share_that_it_used(name: str) -> None:
    for precision in ARITHMETIC:
        row = ROWS[name, precision]
        expectation, share = play(row)
        largest = find_largest_error(expectation)
        changes = find_change(row.worst, share, "the share"), find_change(row.allowed, largest, "the bound")
        assert not any(changes), f"{name} {precision}: {' and '.join(filter(None, changes))}"


@pytest.mark.nightly
@pytest.mark.parametrize("name", NAMES)
def test_no_other_rounding_uses_more(name: str) -> None:
    for precision in ARITHMETIC:
        row, now = ROWS[name, precision], tightness.measure(name, precision)
        for what in ("worst", "median"):
            change = find_change(getattr(row, what), getattr(now, what), f"the {what} share")
            assert not change, f"{name} {precision}: {change}"
