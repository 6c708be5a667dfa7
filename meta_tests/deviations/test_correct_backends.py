"""Correct implementations of every style raise no alarm: one example of each invariant on each of them, in one of its dtypes.

`python -m meta_tests.measure.false_alarms` is the same in earnest.
"""

from pathlib import Path

import pytest

from ..measure.false_alarms import CORRECT, SHIPPED, attempts, styles


def assert_no_alarm(names: list[str]) -> None:
    tried = list(attempts(names, [1], thin=True))
    assert len(tried) > len(names)
    alarms = [str(one) for one in tried if one.error]
    assert not alarms, "\n".join(alarms)


@pytest.mark.parametrize("path", CORRECT, ids=lambda path: path.stem)
def test_no_style_raises_an_alarm(path: Path) -> None:
    assert_no_alarm(styles(path))


def test_nor_does_what_ships() -> None:
    assert_no_alarm([*SHIPPED])


def test_there_are_many_styles_in_short_files() -> None:
    assert sum(len(styles(path)) for path in CORRECT) > 90
    assert all(len(path.read_text().splitlines()) <= 200 for path in CORRECT[0].parent.glob("*.py"))
