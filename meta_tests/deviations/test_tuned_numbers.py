"""Every tuned number is read where it is kept, so that it can be measured, and its command says which there are."""

from __future__ import annotations

import re

import pytest

from spec_tests.deviations import SUBSTITUTED, catalogue
from spec_tests.specification import tuned
from spec_tests.specification.work import Meter

from ..measure.constants import choose_sample, describe, find_number, set_number
from ..measure.leave_one_out import EXPLAINED, NOTHING, UNSEEN, Row
from ..support.paths import ROOT


def test_every_tuned_number_is_read_from_its_module() -> None:
    """A module that had imported a number by its name would not see another one."""
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "spec_tests").rglob("*.py")]
    numbers = [name for name in vars(tuned) if name.isupper()]
    assert len(numbers) >= 7
    for name in numbers:
        assert sum(f"tuned.{name}" in text for text in texts) >= 1, name
    assert not [text for text in texts if re.search(r"from \S*tuned import", text)]


def test_a_number_can_be_changed_while_a_process_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuned, "WORK_OF_CALL", tuned.WORK_OF_CALL)  # which is put back
    before, after = Meter(), Meter()
    before.add_call(5)
    assert set_number("WORK_OF_CALL", 2) == tuned.WORK_OF_CALL
    after.add_call(5)
    assert after.units - 5 == 2 * (before.units - 5)
    assert isinstance(tuned.WORK_OF_CALL, int)


def test_a_number_of_another_module_has_a_dotted_name() -> None:
    module, name, value = find_number("spec_tests.trials.shrinking.SHRINKING_SHARE")
    assert (module.__name__, name, value) == ("spec_tests.trials.shrinking", "SHRINKING_SHARE", module.SHRINKING_SHARE)


@pytest.mark.parametrize("name", ["NOPE", "spec_tests.trials.random_choices.RandomChoices"])
def test_what_is_no_number_is_refused(name: str) -> None:
    with pytest.raises(SystemExit, match=f"{name} is no number; there are WORK_OF_CALL, "):
        find_number(name)


def test_a_sample_is_that_of_its_seed() -> None:
    sample = choose_sample(5, 1)
    assert sample == choose_sample(5, 1) != choose_sample(5, 2)
    assert all(catalogue()[name].kind in SUBSTITUTED for name in sample)


def test_a_row_counts_what_had_wrong_answers() -> None:
    rows = [Row("a", 1, EXPLAINED, work=10, seconds=1.0), Row("b", 1, NOTHING, work=30, seconds=2.0), Row("c", 1, UNSEEN)]
    assert describe("WORK_OF_CALL", 7, rows).split() == ["WORK_OF_CALL", "7", "1", "0", "1", "30", "3.0"]
