"""Run campaigns on a local Ray cluster, kill processes and nodes, and compare them with one process for each backend.

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
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from spec_tests.campaign.plan import read_plan
from spec_tests.campaign.work import find_report
from spec_tests.report import read
from spec_tests.running.fresh_run import START_CODE

from ..campaign.campaigns import make_campaign, spec_tests, summarize
from ..support.paths import ROOT
from ..support.pytest_process import environment, suite

SEEDS = 20  # of three operations, one seed an item: 60 items
KILLED = 8  # processes
LOST = 2  # nodes
TRIES = 10  # of an item: one may be killed more often than by chance
PAUSE_SECONDS = 5.0  # between two that are killed


@dataclass(frozen=True)
class Ran:
    """A campaign that has ended."""

    status: int
    killed: int  # processes, or nodes
    output: str

    @property
    def done(self) -> int:
        """How many items it did."""
        return len(re.findall(r"^\d+/\d+ .*: done(?:; tried .*)?$", self.output, re.MULTILINE))

    @property
    def repeated(self) -> int:
        """How many tries were said to be repeated."""
        return len(re.findall(r"; tried .*, and again$", self.output, re.MULTILINE))


def list_item_processes() -> list[int]:
    """Return the processes that run an item, each started by a worker of Ray."""
    found = subprocess.run(["pgrep", "-f", re.escape(START_CODE)], capture_output=True, text=True, check=False)
    return list(map(int, found.stdout.split()))


def run_and_kill(folder: Path, count: int, pause: float) -> Ran:
    """Run the campaign of a folder on a local cluster. Kill `count` processes of items."""
    killed = set[int]()

    def kill_one(source: random.Random) -> bool:
        if len(killed) < count and (alive := [pid for pid in list_item_processes() if pid not in killed]):
            time.sleep(pause * source.random())
            with suppress(ProcessLookupError):
                os.kill(pid := source.choice(alive), signal.SIGKILL)
                killed.add(pid)
        return True

    return replace(run_campaign(folder, "local", kill_one), killed=len(killed))


def run_and_lose_nodes(folder: Path, count: int, pause: float) -> Ran:
    """Run the campaign of a folder on a cluster of two nodes. Kill a node `count` times while items run, and start another."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    lost: list[int] = []

    def lose_one(source: random.Random) -> bool:
        if len(lost) < count and list_item_processes():
            time.sleep(pause * (1 + source.random()))
            cluster.remove_node(nodes.pop(0), allow_graceful=False)
            nodes.append(cluster.add_node(num_cpus=1))
            lost.append(len(lost))
        return True

    try:
        return replace(run_campaign(folder, cluster.address, lose_one), killed=len(lost))
    finally:
        cluster.shutdown()


def run_campaign(folder: Path, address: str, trouble: Callable[[random.Random], object]) -> Ran:
    """Run the campaign of a folder on a cluster, and make trouble again and again meanwhile."""
    command = [sys.executable, "-m", "spec_tests", "campaign", "campaign", f"--ray={address}", f"--tries={TRIES}"]
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, cwd=folder, env=environment(ROOT), stdout=output, stderr=subprocess.STDOUT)
        source = random.Random(0)
        while process.poll() is None:
            trouble(source)
            time.sleep(0.1)
        output.seek(0)
        return Ran(process.returncode, 0, output.read())


def main() -> int:
    print(f"{os.cpu_count()} cores; {SEEDS} seeds of three operations, one seed an item")
    for run, count, what in ((run_and_kill, KILLED, "processes"), (run_and_lose_nodes, LOST, "nodes")):
        with tempfile.TemporaryDirectory() as temporary:
            print(*describe(Path(temporary), run, count, what), sep="\n", flush=True)
    return 0


def describe(folder: Path, run: Callable[[Path, int, float], Ran], count: int, what: str) -> Iterator[str]:
    """Make a campaign in a folder, run it with trouble, and yield the lines about it."""
    campaign = make_campaign(folder, f"--seeds={SEEDS}", "--seeds-per-item=1")
    items, start = read_plan(campaign).items, time.monotonic()
    ran = run(folder, count, PAUSE_SECONDS)
    if ran.status:
        raise SystemExit(ran.output[-2000:])
    complete = sum((report := find_report(item, campaign)) is not None and report.complete for item in items)
    seconds = time.monotonic() - start
    yield f"\n{len(items)} items on a local Ray cluster, {ran.killed} {what} killed while they ran: {seconds:.0f} s"
    yield f"{ran.done} items done, {complete} complete reports, {ran.repeated} tries repeated"
    yield spec_tests(folder, "merge", "campaign").stdout.rpartition("written")[0].strip()
    report = read(campaign / "merged")
    for name in ("right", "wrong"):
        args = (f"--backend={name}.py", "--effort=smoke", "--hypothesis-seed=0", f"--seeds=0-{SEEDS - 1}")
        suite(folder, *args, f"--report={name}", "-k", "relu or sigmoid")
        of_items, of_one = summarize(report, name), summarize(read(folder / name), name)
        equal = sum(of_one.get(key) == value for key, value in of_items.items())
        yield f"{name}: {equal} of {len(of_items)} verdicts as one process has them"


if __name__ == "__main__":
    sys.exit(main())
