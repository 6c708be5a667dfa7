"""Tests of items: each leaves one report, is not done twice, and continues after it was cut off."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from spec_tests.campaign.plan import read_plan
from spec_tests.campaign.work import DONE, DONE_BEFORE, FAILED, TAKEN, do_item, do_items, find_report
from spec_tests.report import DATA, read
from spec_tests.running.report_folder import FolderLock

from ..support.paths import ROOT
from ..support.pytest_process import environment, write
from .campaigns import make_campaign, spec_tests

SLOW = """
import time
import numpy as np
import pytest

framework = "numpy"
dtypes = ("float32",)


def relu(x):
    time.sleep(0.05)
    return np.maximum(x, 0)
"""


@pytest.mark.rotating
def test_shares_of_machines_together_are_the_campaign(tmp_path: Path) -> None:
    folder = make_campaign(tmp_path, "--operation=relu")
    items = read_plan(folder).items
    for share in ("1/2", "2/2"):
        done = spec_tests(tmp_path, "work", "campaign", f"--item={share}", "--jobs=2")
        assert (done.returncode, done.stdout.count(": done\n")) == (0, len(items) // 2), done.stderr
    reports = [find_report(item, folder) for item in items]
    assert all(report is not None and report.complete for report in reports)
    again = spec_tests(tmp_path, "work", "campaign")
    assert again.stdout.count(": done before\n") == len(items)


@pytest.mark.rotating
def test_an_item_that_was_killed_is_continued(tmp_path: Path) -> None:
    write(tmp_path, slow=SLOW)
    plan = spec_tests(tmp_path, "plan", "slow.py", "--operation=relu", "--effort=smoke", "--seeds=3", "-o", "campaign")
    assert plan.returncode == 0, plan.stderr
    folder = tmp_path / "campaign"
    (item,) = read_plan(folder).items
    command = [sys.executable, "-m", "spec_tests", "work", "campaign"]
    process = subprocess.Popen(command, cwd=tmp_path, env=environment(ROOT), start_new_session=True, stdout=subprocess.DEVNULL)
    data = folder / item.name / DATA
    deadline = time.monotonic() + 120
    while not data.exists() or data.read_text().count('"verdict"') < 3:
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.05)
    subprocess.run(["pkill", "-KILL", "-s", str(process.pid)], check=True)
    process.wait()
    cut = find_report(item, folder)
    assert cut is not None
    assert not cut.complete
    assert "cut off: " in spec_tests(tmp_path, "merge", "campaign").stderr
    assert spec_tests(tmp_path, "work", "campaign").stdout == f"1/1 {item}: {DONE}\n"
    whole = read(folder / item.name)
    assert whole.complete
    assert [v for v in whole.verdicts if v in cut.verdicts] == cut.verdicts  # what was done was kept


@pytest.mark.rotating
def test_an_item_that_another_process_runs_is_left_to_it(tmp_path: Path) -> None:
    folder = make_campaign(tmp_path, "--operation=relu")
    item = read_plan(folder).items[0]
    (folder / item.name).mkdir()
    lock = FolderLock(folder / item.name)
    lock.acquire()
    try:
        done = spec_tests(tmp_path, "work", "campaign", "--item=1")
    finally:
        lock.release()
    assert (done.returncode, done.stdout) == (0, f"1/1 {item}: {TAKEN}\n")
    assert spec_tests(tmp_path, "work", "campaign", "--item=1").stdout == f"1/1 {item}: {DONE}\n"


@pytest.mark.rotating
def test_an_item_whose_backend_is_gone_fails_with_the_reason(tmp_path: Path) -> None:
    folder = make_campaign(tmp_path, "--operation=relu")
    (tmp_path / "wrong.py").write_text("raise OSError('no licence')\n")
    done = spec_tests(tmp_path, "work", "campaign", "--jobs=2")
    assert done.returncode == 3
    failed = [line for line in done.stdout.splitlines() if FAILED in line]
    assert len(failed) == 2
    assert all("wrong.py" in line and "no licence" in line for line in failed)
    assert len([item for item in read_plan(folder).items if find_report(item, folder)]) == 2


def test_a_process_that_leaves_no_report_is_a_failure_with_its_status(tmp_path: Path) -> None:
    write(tmp_path, dies="import os\n\nframework = 'numpy'\ndtypes = ('float32',)\n\n\ndef relu(x):\n    os._exit(7)\n")
    assert spec_tests(tmp_path, "plan", "dies.py", "--operation=relu", "--effort=smoke", "-o", "campaign").returncode == 0
    done = spec_tests(tmp_path, "work", "campaign")
    assert done.returncode == 3
    assert "failed (exit status 7: killed, or still running)" in done.stdout


@pytest.mark.rotating
def test_a_report_of_another_item_in_its_folder_is_replaced(tmp_path: Path) -> None:
    folder = make_campaign(tmp_path, "--operation=relu")
    first, second = read_plan(folder).items[:2]
    assert spec_tests(tmp_path, "work", "campaign", "--item=1").returncode == 0
    (folder / first.name).rename(folder / second.name)
    assert find_report(second, folder) is None
    assert spec_tests(tmp_path, "work", "campaign", "--item=2").stdout == f"1/1 {second}: {DONE}\n"
    header = json.loads((folder / second.name / DATA).read_text().splitlines()[0])
    assert header["seeds"] == [second.first_seed, second.last_seed]


@pytest.mark.rotating
def test_items_are_yielded_as_they_end(tmp_path: Path) -> None:
    folder = make_campaign(tmp_path, "--operation=relu")
    assert spec_tests(tmp_path, "work", "campaign", "--jobs=2").returncode == 0
    items = read_plan(folder).items
    assert {outcome.state for outcome in do_items(items, folder, jobs=3)} == {DONE_BEFORE}
    assert do_item(items[0], folder).state == DONE_BEFORE
