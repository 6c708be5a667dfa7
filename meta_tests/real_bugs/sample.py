"""The sample: every hit of the queries that were sent, and every entry of the lists that could be reached, with its class."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from .restating import list_real_bugs

HITS = Path(__file__).parent / "hits.json"
NO_BUG, INSIDE = "no bug", "inside"
REASONS = (
    "speed or memory", "build or installation", "crash", "several devices", "quantized format", "operation not covered",
    "serving logic", "loading or configuration", "device code", "cause not stated",
)  # fmt: skip


@dataclass(frozen=True)
class Hit:
    """One thread, or one entry of a list."""

    link: str
    source: str  # the query that returned it, or the name of the list
    verdict: str  # no bug, inside, or the reason why the suite cannot see it
    quote: str  # one line of what the thread states
    read_before: bool = False  # whether the project had read the thread before the rule was written

    @property
    def is_bug(self) -> bool:
        return self.verdict != NO_BUG


def read_hits() -> list[Hit]:
    return [Hit(**fields) for fields in json.loads(HITS.read_text())]


def count_verdicts(hits: list[Hit]) -> dict[str, int]:
    """Return how many bugs are inside, and how many are outside for each reason."""
    counts = Counter(hit.verdict for hit in hits if hit.is_bug)
    return {verdict: counts[verdict] for verdict in (INSIDE, *REASONS) if counts[verdict]}


def find_restated(hit: Hit) -> list[str]:
    """Return the ids of the restated bugs that name the hit's link."""
    return [bug.id for bug in list_real_bugs().values() if hit.link in bug.links]
