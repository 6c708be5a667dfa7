"""Runs with many seeds: what one of them reports, and that none of the recorded ones raised an alarm."""

from ..measure.seeds import BACKENDS, SeedRun, parse_row, read_table, run


def test_a_run_says_what_passed_and_which_laws_failed() -> None:
    right = run("numpy-cpu", 1, 0, "--operation=relu", "--dtype=float32")
    assert right.passed > 3
    assert not right.failed
    wrong = run("deviation:relu/row-cut-at-256", 1, 0, "--operation=relu", "--dtype=float32")
    assert "relu.reference float32" in wrong.failed


def test_no_recorded_run_raised_an_alarm() -> None:
    """Where this fails, mend what failed, and run `python -m meta_tests.measure.seeds > docs/measured/seeds.txt`."""
    rows = read_table()
    assert {row.backend for row in rows} == set(BACKENDS)
    assert all(row.passed > 1000 for row in rows)
    assert [row for row in rows if row.failed] == []


def test_a_row_is_read_as_it_is_printed() -> None:
    row = SeedRun("torch-cpu", 7, 8000, ("gelu.odd float16",))
    assert str(row) == "torch-cpu  seed    7:  8000 passed, 1 failed: gelu.odd float16"
    assert parse_row(str(row)) == row
