"""Run a campaign on a local Ray cluster, kill some of its processes, and compare it with one process for each backend.

`python -m meta_tests.measure.campaign_on_ray > docs/measured/campaign_on_ray.txt` needs Ray, which the extra `campaign` installs.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from spec_tests.campaign.plan import read_plan
from spec_tests.campaign.work import find_report
from spec_tests.report import read
from spec_tests.running.fresh_run import START_CODE

from ..campaign.campaigns import make_campaign, spec_tests, summarize
from ..support.paths import ROOT
from ..support.pytest_process import environment, suite

SEEDS = 68  # of three operations, one seed an item: 204 items
KILLED = 12
PAUSE_SECONDS = 5.0  # between two that are killed


def list_item_processes() -> list[int]:
    """Return the processes that run an item, each started by a worker of Ray."""
    found = subprocess.run(["pgrep", "-f", re.escape(START_CODE)], capture_output=True, text=True, check=False)
    return list(map(int, found.stdout.split()))


def run_and_kill(folder: Path, count: int, pause: float) -> tuple[int, int, str]:
    """Run the campaign of a folder on a local cluster. Kill `count` processes of items. Return exit status, killed, output."""
    command = [sys.executable, "-m", "spec_tests", "campaign", "campaign", "--ray=local"]
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, cwd=folder, env=environment(ROOT), stdout=output, stderr=subprocess.STDOUT)
        source, killed = random.Random(0), set[int]()
        while process.poll() is None:
            if len(killed) < count and (alive := [pid for pid in list_item_processes() if pid not in killed]):
                time.sleep(pause * source.random())
                with suppress(ProcessLookupError):
                    os.kill(pid := source.choice(alive), signal.SIGKILL)
                    killed.add(pid)
            time.sleep(0.1)
        output.seek(0)
        return process.returncode, len(killed), output.read()


def main() -> int:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        campaign = make_campaign(folder, f"--seeds={SEEDS}", "--seeds-per-item=1")
        items = read_plan(campaign).items
        start = time.monotonic()
        status, killed, output = run_and_kill(folder, KILLED, PAUSE_SECONDS)
        if status:
            raise SystemExit(output[-2000:])
        done = output.count(": done\n")
        complete = sum((report := find_report(item, campaign)) is not None and report.complete for item in items)
        print(f"{len(items)} items on a local Ray cluster of {os.cpu_count()} cores, in {time.monotonic() - start:.0f} s")
        print(f"{killed} processes killed while they ran; {done} items done, {complete} complete reports")
        merged = spec_tests(folder, "merge", "campaign")
        print(merged.stdout.rpartition("written")[0].strip())
        report = read(campaign / "merged")
        for name in ("right", "wrong"):
            args = (f"--backend={name}.py", "--effort=smoke", "--hypothesis-seed=0", f"--seeds=0-{SEEDS - 1}")
            suite(folder, *args, f"--report={name}", "-k", "relu or sigmoid")
            of_items, of_one = summarize(report, name), summarize(read(folder / name), name)
            equal = sum(of_one.get(key) == value for key, value in of_items.items())
            print(f"{name}: {equal} of {len(of_items)} verdicts as one process has them")
    return 0


if __name__ == "__main__":
    sys.exit(main())
