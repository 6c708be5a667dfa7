"""Do the items of a campaign on a Ray cluster. Ray starts each on a free node, and again elsewhere if the node is lost.

A task returns the bytes of its report, and the driver writes them into the folder of the campaign: nodes share no disk. Each node
needs this package, the backends' libraries, and the backends' files under the paths of the plan.
"""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..report import DATA
from ..running.report_folder import replace_file
from ..specification.installation import install_line
from .item import Item
from .plan import Plan
from .work import DONE, DONE_BEFORE, FAILED, Outcome, do_item, find_report

LOCAL = "local"  # the address that starts a cluster on this machine, for the time of the campaign
MACHINE = "machine"  # the resource of which a node has one, where backends need a machine to themselves
SHARE_OF_MACHINE = 0.001  # that every other item takes of it
RETRIES = 3  # of an item that ended without a report, such as one whose process the system has killed


class RayUnavailable(Exception):
    """Ray is not installed, or the cluster cannot be used. The message is one sentence."""


def do_items_on_ray(plan: Plan, items: Sequence[Item], folder: Path, address: str) -> Iterator[Outcome]:
    """Do the items, and yield what came of each when it ends. An item whose report is complete is not sent.

    `address` is what `ray.init` takes, or "local". Raise RayUnavailable if there is no cluster there.
    """
    ray = _connect(address, plan)
    try:
        waiting = []
        for item in items:
            before = find_report(item, folder)
            if before is not None and before.complete:
                yield Outcome(item, DONE_BEFORE)
            else:
                waiting.append(item)
        remote = ray.remote(_do_item_on_node)
        tasks = {_submit(remote, plan, item): item for item in waiting}
        attempts = dict.fromkeys(waiting, 1)
        while tasks:
            (task,), _ = ray.wait(list(tasks), num_returns=1)
            item = tasks.pop(task)
            outcome = _collect(ray, task, item, folder)
            if outcome.state == FAILED and attempts[item] <= RETRIES and "ERROR" not in outcome.complaint:
                attempts[item] += 1
                tasks[_submit(remote, plan, item)] = item
            else:
                yield outcome
    finally:
        ray.shutdown()


def _connect(address: str, plan: Plan) -> Any:
    try:
        import ray
    except ImportError:
        raise RayUnavailable(f"Ray is not installed: {install_line('campaign')}") from None
    resources = {MACHINE: 1} if address == LOCAL else None
    try:
        ray.init(None if address == LOCAL else address, resources=resources, log_to_driver=False, logging_level="ERROR")
    except (ConnectionError, ValueError) as error:
        raise RayUnavailable(f"--ray={address}: there is no cluster ({str(error).splitlines()[0]}); local starts one") from None
    if plan.alone and not ray.cluster_resources().get(MACHINE):
        ray.shutdown()
        raise RayUnavailable(
            f"{', '.join(plan.alone)} need a machine to themselves, and no node has the resource {MACHINE!r}: "
            f"""start each with ray start --resources='{{"{MACHINE}": 1}}'"""
        )
    return ray


def _submit(remote: Any, plan: Plan, item: Item) -> Any:
    needs: dict[str, Any] = {"num_cpus": 1, "num_gpus": plan.gpus.get(item.backend, 0), "scheduling_strategy": "SPREAD"}
    if plan.alone:
        needs["resources"] = {MACHINE: 1 if item.backend in plan.alone else SHARE_OF_MACHINE}
    return remote.options(name=str(item), max_retries=-1, **needs).remote(item, os.getcwd())  # -1: however many nodes are lost


def _do_item_on_node(item: Item, place: str) -> tuple[Outcome, bytes]:
    """Do an item in the folder `place` of the node, as the paths of backends start there. Return the outcome and its report."""
    try:
        os.chdir(place)
    except OSError as error:
        return Outcome(item, FAILED, f"ERROR: {place} is not on the node {platform.node()} ({error.strerror})"), b""
    with tempfile.TemporaryDirectory() as temporary:
        outcome = do_item(item, Path(temporary))
        path = Path(temporary) / item.name / DATA
        return outcome, path.read_bytes() if path.exists() else b""


def _collect(ray: Any, task: Any, item: Item, folder: Path) -> Outcome:
    """Write the report of a task that has ended into the folder. Return what came of its item."""
    try:
        outcome, data = ray.get(task)
    except ray.exceptions.RayError as error:
        return Outcome(item, FAILED, str(error).strip().splitlines()[-1])
    if outcome.state == DONE:
        (folder / item.name).mkdir(parents=True, exist_ok=True)
        replace_file(folder / item.name / DATA, data.decode("ascii"))
    return outcome
