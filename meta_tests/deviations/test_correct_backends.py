"""Test that correct implementations of every style raise no alarm: one example of each invariant, in one dtype each.

`python -m meta_tests.measure.false_alarms` tries many more examples.
"""

from pathlib import Path

import pytest

from ..measure.false_alarms import CORRECT_FILES, SHIPPED_BACKENDS, list_styles, run_examples


def assert_no_alarm(names: list[str]) -> None:
    tried = list(run_examples(names, [1], thin=True))
    assert len(tried) > len(names)
    alarms = [str(one) for one in tried if one.error]
    assert not alarms, "\n".join(alarms)


@pytest.mark.slow
@pytest.mark.parametrize("path", CORRECT_FILES, ids=lambda path: path.stem)
def test_no_style_raises_an_alarm(path: Path) -> None:
    assert_no_alarm(list_styles(path))


@pytest.mark.slow
def test_no_shipped_backend_raises_an_alarm() -> None:
    assert_no_alarm([*SHIPPED_BACKENDS])


def test_there_are_many_styles_in_short_files() -> None:
    assert sum(len(list_styles(path)) for path in CORRECT_FILES) > 90
    assert all(len(path.read_text().splitlines()) <= 200 for path in CORRECT_FILES[0].parent.glob("*.py"))
