"""Test what an answer earns: by the digits that it has right, beside the trivial answers."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from spec_tests.bounds.expectation import Expectation
from spec_tests.trials.skill import Skill, _credit

BOUND, CLOSEST = 1e-6, 1.0  # the error that is allowed, and that of the closest wrong trivial answer
EARNED = {0.0: 1.0, 1e-6: 1.0, 1e-3: 0.5, 1e-2: 1 / 3, 1.0: 0.0, 5.0: 0.0, np.nan: 0.0, np.inf: 0.0}  # by the answer's error


def make_judge() -> Expectation:
    """Return what expects 0 with this bound."""
    parts = {"value": np.array(0.0), "radius": np.array(BOUND), "storage": SimpleNamespace(u=2.0**-24)}
    return cast(Expectation, SimpleNamespace(**parts, accepts=lambda answer: np.abs(answer) <= BOUND))


@pytest.mark.parametrize("error", EARNED)
def test_an_element_earns_the_share_of_its_digits(error: float) -> None:
    assert _credit(np.array(error), make_judge(), np.array(CLOSEST)) == pytest.approx(EARNED[error])


def test_where_no_trivial_answer_is_wrong_only_a_right_one_earns() -> None:
    earned: Any = [_credit(np.array(error), make_judge(), np.array(np.inf)) for error in (0.0, 1e-3)]
    assert earned == [1.0, 0.0]


def test_an_example_without_a_call_could_have_earned_everything() -> None:
    skill = Skill()
    skill.add(None)
    assert (skill.earned, skill.possible, skill.calls) == (0.0, 1.0, 1)
