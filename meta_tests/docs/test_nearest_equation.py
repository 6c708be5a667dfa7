"""Test that the page about the nearest equation, and the README, have the figures of the measured files."""

import pytest

from ..measure.leave_one_out import EXPLAINED, UNSEEN, WRONG, Row, count_kinds, read_rows
from ..measure.regions import read_rows as read_regions
from ..measure.regions import summarize as summarize_regions
from ..support.paths import DOCS, MEASURED, ROOT

PAGE = (DOCS / "nearest_equation.md").read_text()


def read(name: str) -> dict[str, Row]:
    rows = read_rows(MEASURED / name)
    return {id_: row for id_, row in rows.items() if row.outcome != UNSEEN}


def describe(name: str) -> str:
    outcomes = [row.outcome for row in read(name).values()]
    explained = outcomes.count(EXPLAINED)
    return f"{explained} of {len(outcomes)} ({explained / len(outcomes):.0%}), {outcomes.count(WRONG)} wrong"


@pytest.mark.parametrize("name", ["leave_one_out.json", "mutants_explained.json"])
def test_the_figures_are_those_that_were_measured(name: str) -> None:
    assert describe(name) in PAGE
    assert describe(name) in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("name", ["leave_one_out.json", "mutants_explained.json"])
def test_equations_and_regions_are_counted_apart(name: str) -> None:
    assert count_kinds(read(name)) in PAGE


def test_bugs_without_a_wrong_answer_are_counted_apart() -> None:
    samples = [read_rows(MEASURED / name).values() for name in ("leave_one_out.json", "mutants_explained.json")]
    (unseen, of_first), (other, of_second) = ((sum(row.outcome == UNSEEN for row in rows), len(rows)) for rows in samples)
    assert f"{unseen} of {of_first} in the first sample, {other} of {of_second} in the second" in PAGE


def test_what_mispredicts_is_said_and_enough_of_the_catalogue_is_explained() -> None:
    """Four fifths of a sample are explained, and the page names each cause that mispredicts: one of a hundred at most."""
    rows = read("leave_one_out.json").values()
    wrong = [row.id for row in rows if row.outcome == WRONG]
    assert all(name in PAGE for name in wrong)
    assert len(wrong) <= 0.01 * len(rows)
    assert sum(row.outcome == EXPLAINED for row in rows) >= 0.8 * len(rows)


def test_regions_are_those_that_were_measured_and_none_mispredicts() -> None:
    rows = read_regions()
    assert (MEASURED / "regions.txt").read_text().splitlines() == list(summarize_regions(rows))
    assert [name for name, row in rows.items() if row["region"] and row["mispredicted"]] == []
