"""Test that the committed kill matrix fits the catalogue, and that the figures quoted from it are right."""

import re

import pytest

from spec_tests.deviations import catalogue

from ..measure.detection import MATRIX, find_never_failing, summarize_false_alarms, summarize_kills
from ..measure.kill_matrix import Kill, read_matrix, select_deviations
from ..measure.proof import COMMANDS, PROOF_TXT
from ..support.paths import MEASURED, ROOT

README = (ROOT / "README.md").read_text()


@pytest.fixture(scope="module")
def kills() -> list[Kill]:
    return read_matrix(MATRIX)


def test_every_deviation_has_a_row(kills: list[Kill]) -> None:
    assert {one.id for one in kills} == set(select_deviations())


def test_every_deviation_is_caught(kills: list[Kill]) -> None:
    assert [one.id for one in kills if not one.detected] == []


def test_no_correct_code_was_called_wrong() -> None:
    examples, alarms = re.fullmatch(r"(\d+) in all, (\d+) alarms", list(summarize_false_alarms())[-1]).groups()  # type: ignore[union-attr]
    assert int(examples) >= 1_000_000
    assert int(alarms) == 0


def test_every_invariant_is_shown_to_fail(kills: list[Kill]) -> None:
    assert find_never_failing(kills) == []


def test_the_figures_are_those_of_the_matrix(kills: list[Kill]) -> None:
    printed = (MEASURED / "detection.txt").read_text()
    assert printed == "\n".join([*summarize_kills(kills), "", *summarize_false_alarms()]) + "\n", (
        "run python -m meta_tests.measure.detection > docs/measured/detection.txt"
    )
    first = printed.partition("\n")[0]
    examples = printed.splitlines()[-1].partition(" ")[0]
    assert first in README, "the README quotes the first line"
    assert f"no alarm in {examples} examples of correct code" in README, "and the last"


def test_a_deviation_that_only_levels_catch_names_only_levels(kills: list[Kill]) -> None:
    for one in kills:
        if not one.caught:
            assert set(catalogue()[one.id].caught_by) <= set(one.levels), one.id


def test_the_long_measurements_were_printed_by_the_current_commands() -> None:
    lines = PROOF_TXT.read_text().splitlines()
    assert lines[::2] == [f"{what}: python -m {command}" for what, command in COMMANDS.items()]
