"""The committed kill matrix is of this catalogue, and the figures quoted from it are its own."""

import re

import pytest

from spec_tests.deviations import catalogue

from ..measure.detection import MATRIX, figures, innocent, never_failed
from ..measure.kill_matrix import Kill, read, spread
from ..measure.proof import COMMANDS, TEXT
from ..support.paths import MEASURED, ROOT

README = (ROOT / "README.md").read_text()


@pytest.fixture(scope="module")
def kills() -> list[Kill]:
    return read(MATRIX)


def test_every_deviation_has_a_row(kills: list[Kill]) -> None:
    assert {one.id for one in kills} == set(spread())


def test_every_deviation_is_caught(kills: list[Kill]) -> None:
    assert [one.id for one in kills if not one.detected] == []


def test_no_correct_code_was_called_wrong() -> None:
    examples, alarms = re.fullmatch(r"(\d+) in all, (\d+) alarms", list(innocent())[-1]).groups()  # type: ignore[union-attr]
    assert int(examples) >= 1_000_000
    assert int(alarms) == 0


def test_every_invariant_is_shown_to_fail(kills: list[Kill]) -> None:
    assert never_failed(kills) == []


def test_the_figures_are_those_of_the_matrix(kills: list[Kill]) -> None:
    printed = (MEASURED / "detection.txt").read_text()
    assert printed == "\n".join([*figures(kills), "", *innocent()]) + "\n", (
        "run python -m meta_tests.measure.detection > docs/measured/detection.txt"
    )
    first = printed.partition("\n")[0]
    examples = printed.splitlines()[-1].partition(" ")[0]
    assert first in README, "the README quotes the first line"
    assert f"no alarm in {examples} examples of correct code" in README, "and the last"


def test_levels_alone_catch_what_only_levels_can(kills: list[Kill]) -> None:
    for one in kills:
        if not one.caught:
            assert set(catalogue()[one.id].caught_by) <= set(one.levels), one.id


def test_what_takes_longer_was_printed_by_today_s_commands() -> None:
    lines = TEXT.read_text().splitlines()
    assert lines[::2] == [f"{what}: python -m {command}" for what, command in COMMANDS.items()]
