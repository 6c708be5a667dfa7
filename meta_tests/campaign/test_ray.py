"""Tests of campaigns on a Ray cluster: items that are killed run again, none twice, and the merged report is the same."""

from pathlib import Path

import pytest

from spec_tests.campaign.plan import read_plan
from spec_tests.campaign.work import find_report
from spec_tests.report import read
from spec_tests.specification.installation import install_line

from ..measure.campaign_on_ray import run_and_kill
from .campaigns import make_campaign, spec_tests, summarize

pytestmark = pytest.mark.slow


def test_without_ray_the_command_says_what_to_install(tmp_path: Path) -> None:
    make_campaign(tmp_path, "--operation=relu")
    (tmp_path / "ray.py").write_text("raise ImportError('not here')\n")
    done = spec_tests(tmp_path, "campaign", "campaign", "--ray=local")
    assert done.returncode == 4
    assert f"Ray is not installed: {install_line('campaign')}" in done.stderr


def test_items_that_are_killed_run_again_and_none_twice(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    folder = make_campaign(tmp_path, "--operation=relu", "--seeds=12")
    items = read_plan(folder).items
    status, killed, output = run_and_kill(tmp_path, 3, 0.5)
    assert (status, killed) == (0, 3), output
    assert output.count(": done\n") == len(items) == 12
    assert all((report := find_report(item, folder)) is not None and report.complete for item in items)
    assert spec_tests(tmp_path, "merge", "campaign").returncode == 1
    (tmp_path / "again").mkdir()
    again = make_campaign(tmp_path / "again", "--operation=relu", "--seeds=12")
    assert spec_tests(tmp_path / "again", "work", "campaign", "--jobs=2").returncode == 0
    spec_tests(tmp_path / "again", "merge", "campaign")
    for name in ("right", "wrong"):
        assert summarize(read(folder / "merged"), name) == summarize(read(again / "merged"), name)
