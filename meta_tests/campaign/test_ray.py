"""Tests of campaigns on a Ray cluster: items that are killed run again, none twice, and the merged report is the same."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from spec_tests.campaign.plan import read_plan
from spec_tests.campaign.work import find_report
from spec_tests.report import read

from ..support.paths import ROOT
from ..support.pytest_process import environment
from .campaigns import make_campaign, spec_tests
from .test_merge import summarize

pytestmark = pytest.mark.slow


def test_without_ray_the_command_says_what_to_install(tmp_path: Path) -> None:
    make_campaign(tmp_path, "--operation=relu")
    (tmp_path / "ray.py").write_text("raise ImportError('not here')\n")
    done = spec_tests(tmp_path, "campaign", "campaign", "--ray=local")
    assert done.returncode == 4
    assert "Ray is not installed: pip install 'spec-tests[campaign]'" in done.stderr


def list_item_processes() -> list[int]:
    """Return the processes that run an item: pytest, started by a worker of Ray."""
    found = subprocess.run(["pgrep", "-f", "pytest .*--spec-report=.*--spec-seeds="], capture_output=True, text=True, check=False)
    return list(map(int, found.stdout.split()))


def test_items_that_are_killed_run_again_and_none_twice(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    folder = make_campaign(tmp_path, "--operation=relu", "--seeds=12")
    plan = read_plan(folder)
    command = [sys.executable, "-m", "spec_tests", "campaign", "campaign", "--ray=local"]
    process = subprocess.Popen(command, cwd=tmp_path, env=environment(ROOT), stdout=subprocess.PIPE, text=True)
    killed = set[int]()
    while process.poll() is None and len(killed) < 3:
        for pid in list_item_processes():
            if pid not in killed and len(killed) < 3:
                time.sleep(0.3)
                try:
                    os.kill(pid, signal.SIGKILL)
                    killed.add(pid)
                except ProcessLookupError:
                    pass
        time.sleep(0.1)
    output, _ = process.communicate(timeout=600)
    assert process.returncode == 0, output
    assert len(killed) == 3
    assert output.count(": done\n") == len(plan.items) == 12
    assert all((report := find_report(item, folder)) is not None and report.complete for item in plan.items)
    assert spec_tests(tmp_path, "merge", "campaign").returncode == 1
    on_ray = read(folder / "merged")
    (tmp_path / "again").mkdir()
    again = make_campaign(tmp_path / "again", "--operation=relu", "--seeds=12")
    assert spec_tests(tmp_path / "again", "work", "campaign", "--jobs=2").returncode == 0
    spec_tests(tmp_path / "again", "merge", "campaign")
    for name in ("right", "wrong"):
        assert summarize(on_ray, name) == summarize(read(again / "merged"), name)
