"""How long the items of a plan are expected to take, from reports of runs or campaigns that have measured it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from ..inputs.effort import EFFORTS
from ..report import DATA, read
from .item import Item
from .plan import START_SECONDS, guess_seconds

Timings = Mapping[tuple[str, str, str], float]  # (backend's text, operation, dtype) → seconds for one seed at default effort
BASE = EFFORTS["default"].base


def read_timings(folder: Path | None) -> Timings:
    """Return the seconds that reports have measured: of one report, or of all in a folder. {} without a folder.

    They are converted to default effort by the number of examples that an effort draws. Raise ReportError if there is no report.
    """
    if folder is None:
        return {}
    found: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    paths = sorted(folder.rglob(DATA)) if folder.is_dir() else []
    for report in map(read, paths or [folder]):
        texts = {record.name: record.text for record in report.backends}
        first, last = report.header.seeds or (0, 0)
        scale = EFFORTS[report.header.effort].base / BASE * (last - first + 1)
        seconds: dict[tuple[str, str, str], float] = defaultdict(float)
        for verdict in report.verdicts:
            text = texts.get(verdict.backend, verdict.backend)
            seconds[text, verdict.operation, verdict.dtype] += verdict.seconds / scale
        for key, value in seconds.items():
            found[key].append(value)
    return {key: sum(values) / len(values) for key, values in found.items()}


def estimate(items: Iterable[Item], timings: Timings) -> tuple[list[Item], int]:
    """Return the items with their expected seconds, those that take longest first, and how many of them were measured."""
    measured, timed = 0, []
    for item in items:
        seconds = _look_up(item, timings)
        measured += seconds is not None
        timed.append(replace(item, expected_seconds=round(guess_seconds(item) if seconds is None else seconds, 2)))
    return sorted(timed, key=lambda item: (-item.expected_seconds, item.name)), measured


def _look_up(item: Item, timings: Timings) -> float | None:
    """Return the expected seconds of an item as measured, None if nothing was measured."""
    found = [
        seconds
        for (text, operation, dtype), seconds in timings.items()
        if (text, operation) == (item.backend, item.operation) and item.dtype in ("", dtype)
    ]
    if not found:
        return None
    scale = EFFORTS[item.effort].base / BASE * (item.last_seed - item.first_seed + 1)
    return START_SECONDS + scale * sum(found)
