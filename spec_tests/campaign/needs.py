"""What an item needs of the machine that does it: CPUs, GPUs, memory. The words are those of Ray."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

GIB = 1 << 30
MAX_CPUS = 1024  # of one item
MACHINE = "machine"  # the resource of which a node of Ray has one, where backends need a machine to themselves
SHARE_OF_MACHINE = 0.001  # that every other item takes of it


class NeedsError(Exception):
    """What was stated cannot be had. The message is one sentence."""


@dataclass(frozen=True, order=True)
class Needs:
    """What each item of a backend needs."""

    cpus: int = 1  # one for each rank, if no other number is stated
    gpus: float = 0.0  # a part of one, or a whole number
    accelerator_type: str = ""  # such as H100; "" for any
    memory_gib: float = 0.0  # 0: not stated
    alone: bool = False  # a machine to itself

    def __str__(self) -> str:
        words = [
            f"{self.cpus} CPU{'s' * (self.cpus != 1)}",
            *([f"{self.gpus:g} GPU{'s' * (self.gpus > 1)}"] if self.gpus else []),
            *([f"of type {self.accelerator_type}"] if self.accelerator_type else []),
            *([f"{self.memory_gib:g} GiB"] if self.memory_gib else []),
            *(["a machine to itself"] if self.alone else []),
        ]
        return ", ".join(words).replace(", of type", " of type")

    def list_ray_resources(self, *, shares_machines: bool) -> dict[str, float]:
        """Return what an item takes of the resources of a Ray cluster, by their names there."""
        found = {"CPU": float(self.cpus), "GPU": self.gpus, "memory": self.memory_gib * GIB}
        if self.accelerator_type:
            found[f"accelerator_type:{self.accelerator_type}"] = 0.001  # as Ray takes it
        if shares_machines:
            found[MACHINE] = 1.0 if self.alone else SHARE_OF_MACHINE
        return {name: amount for name, amount in found.items() if amount}

    def list_ray_options(self, *, shares_machines: bool) -> dict[str, Any]:
        """Return the options of a task of Ray."""
        found: dict[str, Any] = {"num_cpus": self.cpus, "num_gpus": self.gpus}
        if self.accelerator_type:
            found["accelerator_type"] = self.accelerator_type
        if self.memory_gib:
            found["memory"] = int(self.memory_gib * GIB)
        if shares_machines:
            found["resources"] = {MACHINE: 1 if self.alone else SHARE_OF_MACHINE}
        return found

    @property
    def side_by_side(self) -> int:
        """How many such items one GPU takes."""
        return int(1 / self.gpus + 1e-9) if 0 < self.gpus < 1 else 1


# --- what the command line states -----------------------------------------------------------------------------------------


def state_needs(
    backends: Sequence[str],
    ranks: Mapping[str, int],
    *,
    cpus: Sequence[str] = (),
    gpus: Sequence[str] = (),
    accelerator_types: Sequence[str] = (),
    memory: Sequence[str] = (),
    alone: Sequence[str] = (),
) -> dict[str, Needs]:
    """Return what the items of each backend need. `ranks` has the number of ranks of those that run on several.

    Each statement is a value for all backends, or BACKEND=VALUE. A GPU and a machine may be stated by the backend alone.
    Raise NeedsError if a statement cannot be had.
    """
    found = {text: Needs(cpus=ranks.get(text, 1)) for text in backends}
    readers: tuple[tuple[str, str, Sequence[str], Callable[[str], Any], str], ...] = (
        ("cpus", "cpus", cpus, _read_cpus, ""),
        ("gpu", "gpus", gpus, _read_gpus, "1"),
        ("accelerator-type", "accelerator_type", accelerator_types, _read_type, ""),
        ("memory", "memory_gib", memory, _read_memory, ""),
        ("alone", "alone", alone, _read_alone, "yes"),
    )
    for option, field, statements, read, default in readers:
        for statement in statements:
            named, value = _split(statement, backends, default)
            try:
                amount = read(value)
            except ValueError as error:
                others = f"; the backends are {', '.join(backends)}" if default else ""
                raise NeedsError(f"--{option}={statement}: {error}{others}") from None
            for text in named:
                found[text] = replace(found[text], **{field: amount})
    for text, needs in found.items():
        if needs.cpus < ranks.get(text, 1):
            raise NeedsError(f"--cpus={text}={needs.cpus}: it runs on {ranks[text]} ranks, and each needs a CPU")
        if needs.accelerator_type and not needs.gpus:
            raise NeedsError(f"--accelerator-type={needs.accelerator_type}: state how many with --gpu, as in --gpu={text}=1")
    return found


def _split(statement: str, backends: Sequence[str], default: str) -> tuple[Sequence[str], str]:
    """Return the backends that a statement is about, and its value."""
    if default and statement in backends:
        return [statement], default
    text, separator, value = statement.rpartition("=")
    return ([text], value) if separator and text in backends else (backends, statement)


def _read_cpus(value: str) -> int:
    if not re.fullmatch(r"[0-9]{1,4}", value) or not 1 <= int(value) <= MAX_CPUS:
        raise ValueError("give a whole number of CPUs, as in --cpus=4 or --cpus=BACKEND=4")
    return int(value)


def _read_gpus(value: str) -> float:
    try:
        amount = float(value)
    except ValueError:
        amount = math.nan
    if not (0 < amount <= 1 or (1 < amount < math.inf and amount == int(amount))):
        raise ValueError("give a part of one GPU or a whole number of them, as in --gpu=0.25 or --gpu=BACKEND=2")
    return amount


def _read_type(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_.-]+", value):
        raise ValueError("give a type as Ray names it, as in --accelerator-type=H100 or --accelerator-type=BACKEND=A100")
    return value


def _read_memory(value: str) -> float:
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(MIB|GIB)", value.upper())
    if not found or not float(found[1]):
        raise ValueError("give a number and one of MiB, GiB, as in --memory=4GiB or --memory=BACKEND=4GiB")
    return float(found[1]) / (1024 if found[2] == "MIB" else 1)


def _read_alone(value: str) -> bool:
    if value != "yes":
        raise ValueError(f"{value!r} is none of the backends of the plan")
    return True
