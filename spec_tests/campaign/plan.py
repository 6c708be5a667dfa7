"""The plan of a campaign: its items, those that take longest first, and how they are dealt to machines."""

from __future__ import annotations

import heapq
import json
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..inputs.effort import EFFORTS
from ..report.records import from_record, write_line
from ..report.run_lines import StatedBackend
from ..running.report_folder import replace_file
from ..sharding.statements import choose_world_size
from ..specification.registry import specification
from ..specification.version import SPEC_VERSION, __version__
from .item import Item
from .needs import Needs

PLAN = "plan.json"
START_SECONDS = 3.0  # that a process takes before its first example, where no report says how long an item takes
LIMIT_SECONDS = 86400.0  # of an item: a safety net for what hangs, in seconds of a clock
SECONDS_PER_COST = 0.25  # of an operation of cost 1 for one example of each law, likewise: a guess that only orders the items


class PlanError(Exception):
    """A plan cannot be made or read. The message is one sentence."""


@dataclass(frozen=True)
class Plan:
    """The items of a campaign, and what every report of it has to agree with."""

    items: tuple[Item, ...]
    backends: tuple[StatedBackend, ...]  # as `describe_backends` returns them
    suite: str = __version__
    spec: str = SPEC_VERSION
    needs: dict[str, Needs] = field(default_factory=dict)  # of the items of each backend, as --backend takes it
    limit_seconds: float = LIMIT_SECONDS  # after which an item is ended

    @property
    def seconds(self) -> float:
        """The expected CPU seconds of all items."""
        return sum(item.expected_seconds for item in self.items)

    def write(self, path: Path) -> None:
        """Write the plan, one item a line."""
        items = ",\n".join(json.dumps(asdict(item)) for item in self.items)
        rest = {name: value for name, value in vars(self).items() if name != "items"}
        rest["backends"] = list(map(write_line, self.backends))
        rest["needs"] = {text: asdict(needs) for text, needs in self.needs.items()}
        replace_file(path, f'{json.dumps(rest)[:-1]}, "items": [\n{items}\n]}}\n')


def read_plan(path: Path) -> Plan:
    """Read a plan: a .json file, or the plan.json of a folder. Raise PlanError if it is none, or of another version."""
    path = path if path.suffix == ".json" else path / PLAN
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        items = tuple(Item(**item) for item in found.pop("items"))
        backends = tuple(from_record(StatedBackend, record) for record in found.pop("backends"))
        plan = Plan(items, backends, needs=_read_needs(found), **found)
    except OSError as error:
        raise PlanError(f"{path}: there is no plan ({error.strerror}); spec-tests plan writes one") from None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise PlanError(f"{path} is no plan: spec-tests plan writes one") from None
    if (plan.suite, plan.spec) != (__version__, SPEC_VERSION):
        made, here = f"suite {plan.suite}, spec {plan.spec}", f"suite {__version__}, spec {SPEC_VERSION}"
        raise PlanError(f"{path} was made by {made}, and this is {here}: install the former, or make the plan again")
    return plan


def _read_needs(found: dict[str, Any]) -> dict[str, Needs]:
    """Take what items need out of a plan. An earlier version wrote two lists in its place."""
    if "needs" in found:
        return {text: Needs(**needs) for text, needs in found.pop("needs").items()}
    gpus, alone = found.pop("gpus"), found.pop("alone")
    return {text: Needs(gpus=float(gpus.get(text, 0)), alone=text in alone) for text in {*gpus, *alone}}


# --- what is planned ------------------------------------------------------------------------------------------------------


def choose_world_sizes(texts: Sequence[str], folder: Path, wanted: int | None) -> dict[str, int]:
    """Return the world size of each backend that runs on ranks, {} if none is wanted. Raise BackendError if one is impossible.

    Backends of one process are planned without it, unless all are: then the first is refused.
    """
    if wanted is None:
        return {}
    on_ranks = [text for text in texts if choose_world_size(text, folder, None) is not None]
    sizes = {text: choose_world_size(text, folder, wanted) for text in on_ranks or texts}
    return {text: size for text, size in sizes.items() if size is not None}


def count_ranks(texts: Sequence[str], folder: Path, world_sizes: Mapping[str, int]) -> dict[str, int]:
    """Return the number of ranks of each backend that runs on several: as it is planned, or the first that it states."""
    found = {text: world_sizes.get(text) or choose_world_size(text, folder, None) for text in texts}
    return {text: count for text, count in found.items() if count is not None}


def describe_backends(texts: Sequence[str], world_sizes: Mapping[str, int] = MappingProxyType({})) -> list[StatedBackend]:
    """Return each backend as a report has it. Each is loaded in a process of its own."""
    return [_describe_backend(text, world_sizes.get(text)) for text in texts]


def _describe_backend(text: str, world_size: int | None) -> StatedBackend:
    command = [sys.executable, "-m", "spec_tests.campaign.describe", text, *([str(world_size)] if world_size else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"--backend={text} ended the process that loads it"]
        raise PlanError(lines[-1].removeprefix("ERROR: "))
    return from_record(StatedBackend, json.loads(done.stdout.strip().splitlines()[-1]))


def list_items(
    backend: StatedBackend,
    effort: str,
    slices: Iterable[range],
    *,
    seed: int,
    operations: Sequence[str] = (),
    dtypes: Sequence[str] = (),
    isolate: bool = False,
    world_size: int | None = None,
    max_calls: int | None = None,
) -> list[Item]:
    """Return the items of a backend: one for each operation that it has, dtype and slice of seeds."""
    present = [name for name in (*backend.operations, *backend.gradients) if not operations or name in operations]
    chosen = [dtype for dtype in backend.dtypes if not dtypes or dtype in dtypes]
    return [
        Item(backend.text, name, dtype, effort, seeds[0], seeds[-1], seed, isolate, world_size, max_calls)
        for name in present
        for dtype in ([""] if specification(name).dtype else chosen)
        for seeds in slices
    ]


def slice_seeds(count: int, size: int) -> list[range]:
    """Return the seeds 0 to count − 1 in slices of `size`.

    >>> slice_seeds(5, 2)
    [range(0, 2), range(2, 4), range(4, 5)]
    """
    return [range(first, min(first + size, count)) for first in range(0, count, size)]


def guess_seconds(item: Item) -> float:
    """Return a guess of what an item takes, from the cost of its operation. It orders the items where nothing was measured."""
    examples = EFFORTS[item.effort].base / 4 * (item.last_seed - item.first_seed + 1)
    return START_SECONDS + SECONDS_PER_COST * examples * specification(item.operation).cost


# --- how it is dealt out ----------------------------------------------------------------------------------------------------


def deal(items: Iterable[Item], machines: int) -> list[list[Item]]:
    """Return the items of each machine: each item, those that take longest first, goes to the machine that has least to do."""
    hands: list[list[Item]] = [[] for _ in range(machines)]
    loads = [(0.0, i) for i in range(machines)]
    for item in sorted(items, key=lambda item: (-item.expected_seconds, item.name)):
        load, i = heapq.heappop(loads)
        hands[i].append(item)
        heapq.heappush(loads, (load + item.expected_seconds, i))
    return hands


def expect_seconds(items: Iterable[Item], machines: int) -> float:
    """Return the expected seconds until the last of so many machines, of one core each, has done its items."""
    return max(sum(item.expected_seconds for item in hand) for hand in deal(items, machines))
