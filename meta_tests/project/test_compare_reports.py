"""Test that the comparison of two reports finds verdicts that differ, and ignores durations and messages."""

from pathlib import Path

import pytest

from ..measure.compare_reports import main
from ..support.handmade_reports import report, verdict

NODE = verdict()["node"]


def compare(folder: Path, changed: dict[str, object], *options: str) -> int:
    """Write two reports of one verdict, and return the exit status of their comparison."""
    report(folder / "before", verdict())
    report(folder / "after", verdict(**changed))
    return main([str(folder / "before"), str(folder / "after"), *options])


@pytest.mark.parametrize("changed", [{}, {"seconds": 9.0}, {"failure": {"message": "another wording"}}])
def test_equal_verdicts_are_no_difference(changed: dict[str, object], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(tmp_path, changed) == 0
    assert "1 records, 0 differences" in capsys.readouterr().out


@pytest.mark.parametrize("changed", [{"status": "failed"}, {"worst": 0.5}, {"reason": "another"}, {"node": f"{NODE}2"}])
def test_another_verdict_is_a_difference(changed: dict[str, object], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(tmp_path, changed) == 1
    assert NODE in capsys.readouterr().out
    field = next(iter(changed))
    assert compare(tmp_path, changed, "--ignore", field) == int(field == "node")
