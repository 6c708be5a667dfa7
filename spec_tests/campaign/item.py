"""An item of a campaign: what one process tests, and the options of pytest that make it do so."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Any

from ..report.run_lines import Header


def select_operation(name: str) -> str:
    """Return the expression for -k that selects the tests of an operation: those that every operation has, and its own."""
    return f"([{name}- or test_{name}.py or test_{name}__)"


@dataclass(frozen=True)
class Item:
    """One backend, one operation, one dtype and a range of seeds."""

    backend: str  # as --backend takes it
    operation: str  # or gradient
    dtype: str  # "" for all, where the results have one dtype whatever the arguments have
    effort: str
    first_seed: int
    last_seed: int
    seed: int  # of the campaign
    isolate: bool = False
    world_size: int | None = None  # of a backend that runs on ranks; None: the first that it states, or one process
    max_calls: int | None = None  # of the backend, after which the item is cut
    expected_seconds: float = 0.0

    @property
    def key(self) -> tuple[Any, ...]:
        """What the item tests, as its report states it."""
        dtypes = (self.dtype,) if self.dtype else ()
        seeds = (self.first_seed, self.last_seed)
        of_run = (str(self.seed), self.isolate, self.world_size)
        return self.backend, select_operation(self.operation), dtypes, self.effort, seeds, *of_run

    @property
    def name(self) -> str:
        """The name of its folder, which differs from that of every other item."""
        words = f"{self.backend} {self.operation} {self.dtype or 'all'} {self.effort} {self.first_seed} {self.last_seed}"
        digest = hashlib.sha256(repr(self.key).encode()).hexdigest()[:8]
        return f"{re.sub(r'[^a-z0-9_]+', '-', words.lower()).strip('-')[-100:]}-{digest}"

    @property
    def options(self) -> list[str]:
        """The options of pytest, without that of the report."""
        return [
            f"--spec-backend={self.backend}",
            *([f"--spec-dtype={self.dtype}"] if self.dtype else []),
            f"--spec-effort={self.effort}",
            f"--spec-seeds={self.first_seed}-{self.last_seed}",
            *(["--spec-isolate"] if self.isolate else []),
            *([f"--spec-world-size={self.world_size}"] if self.world_size else []),
            *([f"--spec-max-calls={self.max_calls}"] if self.max_calls else []),
            f"--hypothesis-seed={self.seed}",
            *("-k", select_operation(self.operation)),
        ]

    def __str__(self) -> str:
        seeds = str(self.first_seed) if self.first_seed == self.last_seed else f"{self.first_seed}-{self.last_seed}"
        return f"{self.backend} {self.operation}{f' {self.dtype}' * bool(self.dtype)}, seeds {seeds}"


def read_key(header: Header) -> tuple[Any, ...]:
    """Return the key of the item that a report is of, from its header. See `Item.key`."""
    backend, *others = header.backends
    keyword = "" if others else header.selection.get("keyword", "")
    seeds = header.seeds or ()
    of_run = (header.seed, header.isolate, header.world_size)
    return backend, keyword, header.dtypes, header.effort, seeds, *of_run
