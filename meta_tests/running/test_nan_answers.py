"""NaN in an answer fails the laws that it breaks, and none that only asks whether two answers of the backend are the same."""

from pathlib import Path

import numpy as np
import pytest

from spec_tests.bounds.bounded import Bounded
from spec_tests.calls.result import WIDE
from spec_tests.calls.violation import Violation
from spec_tests.helpers.assertions import assert_equal, assert_identical, assert_same, assert_unmoved

from ..support.pytest_process import NUMPY, suite, write

NAN_FOR_SOME_ROWS = """
calls = 0

def softmax(x, *, axis):
    global calls
    calls += 1
    e = np.exp((x - np.max(x, axis=axis, keepdims=True)).astype(np.float64))
    y = (e / np.sum(e, axis=axis, keepdims=True)).astype(x.dtype)
    if FLICKERS and calls % 2:  # the last bit is another one in every second call
        y = np.where(y < 1, np.nextafter(y, np.float32(0)), y)
    return np.where(np.max(x, axis=axis, keepdims=True) > 1, np.float32(np.nan), y)
"""

SAME_TWICE = ("repeatable", "layout_blind", "not_an_alias", "batch_independence")


@pytest.mark.rotating
@pytest.mark.parametrize("flickers", [pytest.param(False, marks=pytest.mark.nightly), True])
def test_nan_in_both_answers_is_the_same_answer(tmp_path: Path, *, flickers: bool) -> None:
    write(tmp_path, mine=NUMPY + f"FLICKERS = {flickers}\n" + NAN_FOR_SOME_ROWS)
    run = suite(tmp_path, "--backend=mine.py", "--effort=default", "-k", "softmax and not log_softmax")
    status = {name.split()[0].removeprefix("softmax."): status for name, status in run.statuses.items()}
    assert {status[name] for name in SAME_TWICE} == {"passed"}, run.text
    assert status["reference"] == "failed"


@pytest.mark.rotating
def test_nan_in_one_answer_only_is_not(tmp_path: Path) -> None:
    forgetful = NAN_FOR_SOME_ROWS.replace("np.max(x, axis=axis, keepdims=True) > 1", "calls % 2 == 0")
    write(tmp_path, mine=NUMPY + "FLICKERS = False\n" + forgetful)
    run = suite(tmp_path, "--backend=mine.py", "-k", "softmax.repeatable")
    assert run.statuses == {"softmax.repeatable mine float32": "failed"}


def test_another_element_is_still_compared() -> None:
    """NaN hides no difference beside it, and the message shows that difference."""
    first = Bounded(np.array([np.nan, 1.0, 2.0]), np.array([0.1, 0.1, 0.1]), WIDE)
    assert_same(np.array([np.nan, 1.15, 2.0]), first)
    assert_unmoved(Bounded(np.array([np.nan, 1.15, 2.0]), first.error, WIDE), first)
    assert_identical(first.value, first.value)
    other, moved = np.array([np.nan, 1.0, 2.5]), np.array([np.nan, np.nan, 2.0])
    for different in (other, moved):
        with pytest.raises(Violation, match="1 of 3 elements differ"):
            assert_same(different, first)
        with pytest.raises(Violation, match="1 of 3 elements differ"):
            assert_unmoved(Bounded(different, first.error, WIDE), first)
        with pytest.raises(Violation, match="1 of 3 elements differ"):
            assert_identical(different, first.value)
    with pytest.raises(Violation):  # two sides of an equation
        assert_equal(first, first)
