"""Tests of items: each leaves one report, is not done twice, and continues after it was cut off."""

import contextlib
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from spec_tests.campaign.outcome import Ending
from spec_tests.campaign.plan import read_plan
from spec_tests.campaign.run import prepare
from spec_tests.campaign.work import do_item, find_report
from spec_tests.report import DATA, read
from spec_tests.running.fresh_run import wait_for
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
    assert spec_tests(tmp_path, "work", "campaign").stdout == f"1/1 {item}: {Ending.DONE}; tried twice\n"
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
    assert (done.returncode, done.stdout) == (0, f"1/1 {item}: {Ending.TAKEN}\n")
    assert spec_tests(tmp_path, "work", "campaign", "--item=1").stdout == f"1/1 {item}: {Ending.DONE}\n"


@pytest.mark.rotating
def test_an_item_whose_backend_is_gone_fails_with_the_reason(tmp_path: Path) -> None:
    folder = make_campaign(tmp_path, "--operation=relu")
    (tmp_path / "wrong.py").write_text("raise OSError('no licence')\n")
    done = spec_tests(tmp_path, "work", "campaign", "--jobs=2")
    assert done.returncode == 3
    failed = [line for line in done.stdout.splitlines() if Ending.FAILED in line]
    assert len(failed) == 2
    assert all("wrong.py" in line and "no licence" in line for line in failed)
    assert len([item for item in read_plan(folder).items if find_report(item, folder)]) == 2


def test_a_process_that_leaves_no_report_is_a_failure_with_its_status(tmp_path: Path) -> None:
    write(tmp_path, dies="import os\n\nframework = 'numpy'\ndtypes = ('float32',)\n\n\ndef relu(x):\n    os._exit(7)\n")
    assert spec_tests(tmp_path, "plan", "dies.py", "--operation=relu", "--effort=smoke", "-o", "campaign").returncode == 0
    done = spec_tests(tmp_path, "work", "campaign")
    assert done.returncode == 3
    ended = "dies.py relu float32, seeds 0: ended its process (exit status 7, after 0 laws)"
    assert done.stdout.splitlines() == [
        f"{ended}; tried once, and again",
        f"{ended}; tried twice, and again",
        f"1/1 {ended}; tried three times, and given up",
    ]


@pytest.mark.rotating
def test_a_report_of_another_item_in_its_folder_is_replaced(tmp_path: Path) -> None:
    folder = make_campaign(tmp_path, "--operation=relu")
    first, second = read_plan(folder).items[:2]
    assert spec_tests(tmp_path, "work", "campaign", "--item=1").returncode == 0
    (folder / first.name).rename(folder / second.name)
    assert find_report(second, folder) is None
    assert spec_tests(tmp_path, "work", "campaign", "--item=2").stdout == f"1/1 {second}: {Ending.DONE}\n"
    header = json.loads((folder / second.name / DATA).read_text().splitlines()[0])
    assert header["seeds"] == [second.first_seed, second.last_seed]


@pytest.mark.rotating
def test_items_that_are_done_are_not_done_again(tmp_path: Path) -> None:
    folder = make_campaign(tmp_path, "--operation=relu")
    assert spec_tests(tmp_path, "work", "campaign", "--jobs=2").returncode == 0
    items = read_plan(folder).items
    again = prepare(read_plan(folder), items, folder, tries=3)
    assert again.schedule.is_finished
    assert {outcome.ending for outcome in again.closed} == {do_item(items[0], folder).ending} == {Ending.DONE_BEFORE}


DIES = """
import os

import numpy as np

framework = "numpy"
dtypes = ("float32",)


def relu(x):
    if x.size > 8:
        os.kill(os.getpid(), 9)
    return np.maximum(x, 0)
"""


@pytest.mark.rotating(one_in=4)
def test_a_backend_that_ends_its_process_costs_its_items_and_not_the_campaign(tmp_path: Path) -> None:
    write(tmp_path, dies=DIES, fine=DIES.replace("    if x.size > 8:\n        os.kill(os.getpid(), 9)\n", ""))
    plan = ("plan", "dies.py", "fine.py", "--operation=relu", "--effort=smoke", "-o", "campaign")
    assert spec_tests(tmp_path, *plan).returncode == 0
    done = spec_tests(tmp_path, "work", "campaign", "--tries=2")
    assert done.returncode == 3
    assert "dies.py relu float32, seeds 0: ended its process (SIGKILL, after " in done.stdout
    assert done.stdout.count("; tried once, and again\n") == done.stdout.count("; tried twice, and given up\n") == 1
    again = spec_tests(tmp_path, "work", "campaign", "--tries=2")
    assert "given up before (ended its process; --again tries it again)" in again.stdout
    merged = spec_tests(tmp_path, "merge", "campaign")
    assert merged.returncode == 2, merged.stderr
    assert "dies: cut by an item that ended its process after " in merged.stdout
    assert "fine: smoke: nothing wrong found" in merged.stdout
    assert "not tried to its end: dies.py relu float32, seeds 0: ended its process (SIGKILL, after " in merged.stdout
    assert "spec-tests plan --isolate gives each backend a process of its own" in merged.stdout
    report = read(tmp_path / "campaign" / "merged")
    assert report.footer is not None
    assert not report.complete
    assert report.footer.cuts is not None
    assert {name: cut.untried for name, cut in report.footer.cuts.items()} == {"dies": ("relu",)}
    assert report.footer.retries == ("dies.py relu float32, seeds 0 was tried twice: its process was killed twice",)
    assert report.footer.cpu_seconds is not None
    assert "tried once, and again" in spec_tests(tmp_path, "work", "campaign", "--again", "--tries=2").stdout
    assert spec_tests(tmp_path, "plan", "dies.py", "--effort=smoke", "--isolate", "-o", "isolated").returncode == 0
    assert spec_tests(tmp_path, "work", "isolated").returncode == 0
    assert "dies: 1 of 1 operations deviates" in spec_tests(tmp_path, "merge", "isolated").stdout


HANGS = """
import subprocess
import sys
import time

import numpy as np

framework = "numpy"
dtypes = ("float32",)


def relu(x):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    with open("child.txt", "w") as file:
        file.write(str(child.pid))
    for _ in range(3000):
        time.sleep(0.1)
    return np.maximum(x, 0)
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in /proc")
def test_an_item_that_reaches_its_limit_is_ended_with_all_that_it_has_started(tmp_path: Path) -> None:
    write(tmp_path, hangs=HANGS)
    plan = ("plan", "hangs.py", "--operation=relu", "--effort=smoke", "-o", "campaign", "--limit=8")
    assert spec_tests(tmp_path, *plan).returncode == 0
    started = time.monotonic()
    done = spec_tests(tmp_path, "work", "campaign")
    assert time.monotonic() - started < 300
    ended = "took longer than its limit (it was ended with all that it had started when 8 s had passed, after 0 laws)"
    assert (done.returncode, done.stdout) == (3, f"1/1 hangs.py relu float32, seeds 0: {ended}\n")
    child = int((tmp_path / "child.txt").read_text())
    with contextlib.suppress(FileNotFoundError):
        assert Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    merged = spec_tests(tmp_path, "merge", "campaign")
    assert merged.returncode == 2
    assert "hangs: cut by an item that took longer than its limit after 0 laws" in merged.stdout


@pytest.mark.rotating
def test_calls_are_counted_so_that_each_machine_cuts_an_item_at_the_same_place(tmp_path: Path) -> None:
    folder = make_campaign(tmp_path, "--operation=relu", "--max-calls=9")
    reports = []
    for _ in range(2):
        done = spec_tests(tmp_path, "work", "campaign", "--item=1", "--again")
        assert done.returncode == 3
        assert "made as many calls as it may (cut by --max-calls after " in done.stdout
        item = read_plan(folder).items[0]
        reports.append([(v.id, v.examples, v.cut) for v in read(folder / item.name).verdicts])
        shutil.rmtree(folder / item.name)
    assert reports[0] == reports[1]


def test_cpu_seconds_are_those_of_a_process_and_its_children() -> None:
    burn = "import time; end = time.process_time() + {}\nwhile time.process_time() < end: pass"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {burn.format(0.6)!r}]); {burn.format(0.3)}"
    process = subprocess.Popen([sys.executable, "-c", parent])
    cpu_seconds, exceeded = wait_for(process, None, None)
    assert cpu_seconds is not None
    assert 0.9 <= cpu_seconds < 3
    assert not exceeded
