"""Test that correct implementations of every style raise no alarm: one example of each invariant, in one dtype each.

In the daily tests these are the invariants `reference`, and an eighth of the others.
`python -m meta_tests.measure.false_alarms` tries many more examples.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from spec_tests.trials.invariant import Invariant

from ..measure.false_alarms import CORRECT_FILES, SHIPPED_BACKENDS, list_styles, run_examples
from ..support.rotation import is_due


def is_tried_daily(law: Invariant) -> bool:
    return law.id.endswith(".reference") or is_due(law.id, 8)


def assert_no_alarm(names: list[str], is_tried: Callable[[Invariant], bool]) -> None:
    tried = list(run_examples(names, [1], thin=True, is_tried=is_tried))
    assert len(tried) > len(names)
    alarms = [str(one) for one in tried if one.error]
    assert not alarms, "\n".join(alarms)


@pytest.mark.rotating(one_in=4)
@pytest.mark.slow
@pytest.mark.parametrize("path", CORRECT_FILES, ids=lambda path: path.stem)
def test_no_style_raises_an_alarm(path: Path) -> None:
    assert_no_alarm(list_styles(path), is_tried_daily)


@pytest.mark.slow
def test_no_shipped_backend_raises_an_alarm() -> None:
    assert_no_alarm([*SHIPPED_BACKENDS], is_tried_daily)


@pytest.mark.nightly
@pytest.mark.parametrize("names", [*map(list_styles, CORRECT_FILES), [*SHIPPED_BACKENDS]], ids=lambda names: names[0])
def test_no_style_raises_an_alarm_in_any_law(names: list[str]) -> None:
    assert_no_alarm(names, lambda law: True)


def test_there_are_many_styles_in_short_files() -> None:
    assert sum(len(list_styles(path)) for path in CORRECT_FILES) > 90
    assert all(len(path.read_text().splitlines()) <= 200 for path in CORRECT_FILES[0].parent.glob("*.py"))
