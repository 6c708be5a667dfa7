"""The shares of machines, as schedulers take them: a Slurm array, a matrix of GitHub Actions, steps of Buildkite.

Each job of a scheduler does the share of one machine, `spec-tests work DIR --item=K/N`. Backends whose items need other machines
have shares of their own.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from .needs import Needs
from .plan import Plan


@dataclass(frozen=True)
class Group:
    """Backends whose items need the same of a machine, and how many shares they have."""

    needs: Needs
    backends: tuple[str, ...]  # () for all of the plan
    shares: int

    @property
    def jobs(self) -> int:
        """How many items a job does side by side: as many as one GPU takes, each with its CPUs."""
        return self.needs.cpus * self.needs.side_by_side

    @property
    def words(self) -> list[str]:
        """The options of `spec-tests work`, without that of the share."""
        return [*([f"--jobs={self.jobs}"] if self.jobs > 1 else []), *(f"--backend={text}" for text in self.backends)]


def divide(plan: Plan, machines: int) -> list[Group]:
    """Divide machines among the groups of backends, by the work of their items. Each group has one at least."""
    seconds: dict[Needs, float] = {}
    backends: dict[Needs, dict[str, None]] = {}
    for item in plan.items:
        needs = plan.needs.get(item.backend, Needs())
        seconds[needs] = seconds.get(needs, 0.0) + item.expected_seconds / needs.side_by_side
        backends.setdefault(needs, {})[item.backend] = None
    counts = {needs: sum(item.backend in texts for item in plan.items) for needs, texts in backends.items()}
    total = sum(seconds.values()) or 1.0
    return [
        Group(
            needs,
            () if len(backends) == 1 else tuple(texts),
            min(max(1, round(machines * seconds[needs] / total)), counts[needs]),
        )
        for needs, texts in backends.items()
    ]


def format_slurm(groups: list[Group], folder: str) -> str:
    """Return a line for a shell for each group. `slurm.sh` is the file of examples/campaign."""
    return "\n".join(
        " ".join(["sbatch", f"--array=1-{g.shares}", *_list_slurm_options(g), "slurm.sh", folder, *map(_quote, g.words)])
        for g in groups
    )


def _list_slurm_options(group: Group) -> list[str]:
    needs, times = group.needs, group.needs.side_by_side
    kind = f"{needs.accelerator_type}:" if needs.accelerator_type else ""
    return [
        f"--cpus-per-task={group.jobs}",
        *([f"--gres=gpu:{kind}{math.ceil(needs.gpus)}"] if needs.gpus else []),
        *([f"--mem={math.ceil(needs.memory_gib * times * 1024)}M"] if needs.memory_gib else []),
        *(["--exclusive"] if needs.alone else []),
    ]


_quote = shlex.quote


def format_github(groups: list[Group], folder: str) -> str:
    """Return the matrix of a job, as JSON in one line: `strategy: matrix: ${{ fromJSON(…) }}`."""
    include = [
        {"share": f"{k}/{group.shares}", "folder": folder, "options": " ".join(map(_quote, group.words)), **_state(group.needs)}
        for group in groups
        for k in range(1, group.shares + 1)
    ]
    return json.dumps({"include": include})


def format_buildkite(groups: list[Group], folder: str) -> str:
    """Return the steps of a pipeline, as JSON, which `buildkite-agent pipeline upload` takes."""
    share = '--item="$((BUILDKITE_PARALLEL_JOB + 1))/$BUILDKITE_PARALLEL_JOB_COUNT"'
    steps = [
        {
            "label": f"share %n of {group.needs!s}",
            "key": f"shares-{number}",
            "parallelism": group.shares,
            "command": " ".join(["spec-tests", "work", folder, share.replace("$", "$$"), *map(_quote, group.words)]),
            "agents": {name: str(value) for name, value in _state(group.needs).items()},
            "artifact_paths": f"{folder}/**/*",
            "soft_fail": [{"exit_status": 3}],  # an item was given up: the merged report says so
        }
        for number, group in enumerate(groups, 1)
    ]
    return json.dumps({"steps": steps}, indent=1)


def _state(needs: Needs) -> dict[str, object]:
    found = {"cpus": needs.cpus * needs.side_by_side, "gpus": math.ceil(needs.gpus), "accelerator_type": needs.accelerator_type}
    return {name: value for name, value in {**found, "memory_gib": needs.memory_gib * needs.side_by_side}.items() if value}


FORMATS: Mapping[str, Callable[[list[Group], str], str]] = MappingProxyType(
    {"slurm": format_slurm, "github": format_github, "buildkite": format_buildkite}
)
