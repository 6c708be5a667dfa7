"""Do the items of a campaign on a Ray cluster, which finds a node for each.

A task returns the bytes of its report, and the driver writes them into the folder of the campaign: nodes share no disk. Each node
needs this package, the backends' libraries, and the backends' files under the paths of the plan.
"""

from __future__ import annotations

import os
import platform
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..implementation.printable import printable_line
from ..report import DATA
from ..running.report_folder import replace_file
from ..specification.installation import install_line
from .drive import Ended
from .item import Item
from .needs import MACHINE, Needs
from .outcome import Ending, Outcome
from .plan import Plan
from .schedule import Lease
from .work import do_item

LOCAL = "local"  # the address that starts a cluster on this machine, for the time of the campaign
SECONDS_BETWEEN_COUNTS = 5.0  # of what the cluster has
ROUNDING = 1e-6  # of sums of parts of a GPU


class RayUnavailable(Exception):
    """Ray is not installed, or the cluster cannot be used. The message is one sentence."""


class RayEngine:
    """A cluster, which is given as many items at once as its nodes take side by side."""

    has_machines = True

    def __init__(self, plan: Plan, folder: Path, address: str):
        """Connect to a cluster. `address` is what `ray.init` takes, or "local". Raise RayUnavailable if there is none there."""
        self.plan, self.folder = plan, folder
        self.shares_machines = any(needs.alone for needs in plan.needs.values())
        self.ray = _connect(address)
        self.tasks: dict[Any, Lease] = {}
        self._counted_at, self._total = float("-inf"), dict[str, float]()
        self._taken: defaultdict[str, float] = defaultdict(float)  # by the tasks
        if lacking := self._find_lacking(address):
            self.close()
            raise RayUnavailable(lacking)

    def _find_lacking(self, address: str) -> str:
        """Return which items no node takes, and which will not join either; "" if there are none."""
        for text, needs in self.plan.needs.items():
            if self.count_room(needs):
                continue
            if needs.alone and not self._total.get(MACHINE):
                return (
                    f"{text} needs a machine to itself, and no node has the resource {MACHINE!r}: "
                    f"""start each with ray start --resources='{{"{MACHINE}": 1}}'"""
                )
            if address == LOCAL:
                return f"{text} needs {needs}, and this machine has not that much"
        return ""

    def now(self) -> float:
        return time.monotonic()

    def count_room(self, needs: Needs) -> int:
        if self.now() - self._counted_at > SECONDS_BETWEEN_COUNTS:
            self._total, self._counted_at = self.ray.cluster_resources(), self.now()
        return min(
            int((self._total.get(name, 0.0) - self._taken[name]) / amount + ROUNDING)
            for name, amount in self._list_resources(needs).items()
        )

    def _list_resources(self, needs: Needs) -> dict[str, float]:
        return needs.list_ray_resources(shares_machines=self.shares_machines)

    def start(self, lease: Lease) -> None:
        path = self.folder / lease.item.name / DATA
        before = path.read_bytes() if path.exists() else b""  # of an item that was cut off
        options = lease.needs.list_ray_options(shares_machines=self.shares_machines)
        remote = self.ray.remote(_do_item_on_node).options(
            name=str(lease.item), scheduling_strategy="SPREAD", max_retries=0, **options
        )
        self.tasks[remote.remote(lease.item, os.getcwd(), before, self.plan.limit_seconds)] = lease
        for resource, amount in self._list_resources(lease.needs).items():
            self._taken[resource] += amount

    def _take_off(self, task: Any) -> Lease:
        lease = self.tasks.pop(task)
        for resource, amount in self._list_resources(lease.needs).items():
            self._taken[resource] -= amount
        return lease

    def wait(self, seconds: float) -> Sequence[Ended]:
        if not self.tasks:
            time.sleep(min(seconds, SECONDS_BETWEEN_COUNTS))
            return []
        ended, _ = self.ray.wait(list(self.tasks), num_returns=1, timeout=seconds)
        return [self._collect(task, self._take_off(task)) for task in ended]

    def _collect(self, task: Any, lease: Lease) -> Ended:
        exceptions = self.ray.exceptions
        try:
            outcome, data = self.ray.get(task)
        except exceptions.OutOfMemoryError:
            return Ended(lease, Outcome(lease.item, Ending.KILLED, "Ray ended it, because its node had no memory left"))
        except exceptions.RayTaskError as error:
            return Ended(lease, Outcome(lease.item, Ending.FAILED, _shorten(error)))
        except exceptions.RayError as error:  # of its worker, or its node
            return Ended(lease, Outcome(lease.item, Ending.LOST, _shorten(error)))
        return Ended(lease, outcome, data)

    def stop(self, lease: Lease) -> None:
        for task, other in list(self.tasks.items()):
            if other.number == lease.number:
                self.ray.cancel(task, force=True)
                self._take_off(task)

    def keep(self, ended: Ended) -> None:
        """Write the report of a try into the folder of the campaign."""
        if ended.data:
            folder = self.folder / ended.lease.item.name
            folder.mkdir(parents=True, exist_ok=True)
            replace_file(folder / DATA, ended.data.decode("ascii"))

    def close(self) -> None:
        self.ray.shutdown()


def _connect(address: str) -> Any:
    try:
        import ray
    except ImportError:
        raise RayUnavailable(f"Ray is not installed: {install_line('campaign')}") from None
    resources = {MACHINE: 1} if address == LOCAL else None
    try:
        ray.init(None if address == LOCAL else address, resources=resources, log_to_driver=False, logging_level="ERROR")
    except (ConnectionError, ValueError) as error:
        raise RayUnavailable(f"--ray={address}: there is no cluster ({str(error).splitlines()[0]}); local starts one") from None
    return ray


def _do_item_on_node(item: Item, place: str, before: bytes, limit_seconds: float) -> tuple[Outcome, bytes]:
    """Do an item in the folder `place` of the node, as the paths of backends start there. Return the outcome and its report.

    `before` is what an earlier try has left of the report.
    """
    try:
        os.chdir(place)
    except OSError as error:
        return Outcome(item, Ending.FAILED, f"{place} is not on the node {platform.node()} ({error.strerror})"), b""
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / item.name / DATA
        if before:
            path.parent.mkdir()
            path.write_bytes(before)
        outcome = do_item(item, Path(temporary), limit_seconds)
        return outcome, path.read_bytes() if path.exists() else b""


def _shorten(error: Exception) -> str:
    return printable_line(str(error).strip().splitlines()[0])
