"""The committed table of cheats through scores, reports, campaigns and files of other formats is what new runs show."""

import re
from pathlib import Path

import pytest

from ..measure.cheated_commands import describe, read_blocks
from ..support.cheats_of_commands import CHEATS, Done
from ..support.rotation import is_due

SHARE = 8
DUE = [name for name in CHEATS if is_due(name, SHARE)]


def without_chance(line: str) -> str:
    """Remove the digits of a score: they are of the draws of today."""
    return re.sub(r"\d\.\d{3}", "a score", line)


def find_score(line: str) -> float | None:
    found = re.search(r"spec-tests score: exit 0; (\d\.\d{3}) ", line)
    return float(found[1]) if found else None


def compare(name: str, folder: Path) -> None:
    shown, recorded = describe(CHEATS[name](folder)), read_blocks()[name].splitlines()[1].strip()
    assert without_chance(shown) == without_chance(recorded)
    assert (find_score(shown) or 0.0) < 0.25


def test_every_cheat_is_in_the_table() -> None:
    assert list(read_blocks()) == list(CHEATS)


@pytest.mark.parametrize("name", CHEATS)
def test_no_recorded_cheat_pays(name: str) -> None:
    line = read_blocks()[name].splitlines()[1]
    assert "traceback" not in line
    assert "does not end" not in line
    value = find_score(line)
    assert value is not None or "exit 0" not in line
    assert (value or 0.0) < 0.25


def test_a_command_that_succeeds_is_described_by_what_it_prints() -> None:
    done = Done(["python", "-m", "spec_tests", "score", "kernel.py"], 0, "0.125  relu\n  skill 0.5\n", "")
    assert describe(done) == "spec-tests score: exit 0; 0.125 relu"


@pytest.mark.slow
@pytest.mark.rotating
@pytest.mark.parametrize("name", DUE)
def test_a_share_of_the_cheats_is_what_a_run_shows(name: str, tmp_path: Path) -> None:
    compare(name, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("name", CHEATS)
def test_every_cheat_is_what_a_run_shows(name: str, tmp_path: Path) -> None:
    compare(name, tmp_path)
