"""Rows of a measurement that takes long: a run that was stopped goes on with the rows that it has.

Rows are kept in the folder of `python -m meta_tests.measure`, which is of today's sources alone. A command that is started by
itself keeps none.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from .paths import KEPT_VARIABLE


class KeptRows:
    """The rows by their keys. Each is written as soon as it is known, in a line of its own."""

    def __init__(self, name: str):
        folder = os.environ.get(KEPT_VARIABLE)
        self.path = Path(folder, "kept", re.sub(r"[^\w.-]+", "_", name).strip("_") + ".jsonl") if folder else None
        self.rows: dict[str, Any] = {}
        if self.path and self.path.exists():
            lines = self.path.read_text(encoding="utf-8").splitlines(keepends=True)
            whole = [line for line in lines if line.endswith("\n")]  # the last one may have been cut
            self.path.write_text("".join(whole), encoding="utf-8")
            self.rows = dict(map(json.loads, whole))

    def add(self, key: str, row: Any) -> None:
        self.rows[key] = row
        if self.path:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([key, row], ensure_ascii=False) + "\n")


def compute_rows(
    name: str, jobs: Mapping[str, Any], compute: Callable[[Any], Any], workers: int, **pool_options: Any
) -> Iterator[Any]:
    """Yield the row of each job in the order of the jobs, computed in several processes where it is not kept.

    `compute` returns the row as plain data.
    """
    kept = KeptRows(name)
    with ProcessPoolExecutor(workers, **pool_options) as pool:
        pending = {pool.submit(compute, job): key for key, job in jobs.items() if key not in kept.rows}
        left, order = as_completed(pending), iter(jobs)
        for key in order:
            while key not in kept.rows:
                done = next(left)
                kept.add(pending[done], done.result())
            yield kept.rows[key]
