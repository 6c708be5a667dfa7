"""What a list of verdicts says: bugs, levels, what was not tried, what was restricted."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

from ..specification.formats import RESULT_DTYPES
from ..trials.tally import NOT_CALLED, REFUSED_PREFIX
from .failure import MATCHES_PREFIX

LAWS_HOLD = "laws hold"  # where the comparison with the oracle was not among what ran

SORT_LAST = 99  # after all that have candidates


@dataclass
class Bug:
    """Failures of one operation that one known deviation explains; those that none explains stand beside them."""

    operation: str
    candidates: list[str]  # in words, each with its id; none, if nothing is known that explains it
    verdicts: list[dict[str, Any]]

    @property
    def laws(self) -> list[str]:
        return list(dict.fromkeys(v["id"].partition(".")[2] for v in self.verdicts))

    @property
    def dtypes(self) -> list[str]:
        return [dtype for dtype in RESULT_DTYPES if any(v["dtype"] == dtype for v in self.verdicts)]


def group_bugs(verdicts: list[dict[str, Any]]) -> list[Bug]:
    """What one example leaves open (this deviation or that) the others settle. The named ones come first."""
    found: dict[str, list[Bug]] = defaultdict(list)
    for v in sorted((v for v in verdicts if v["status"] == "failed"), key=lambda v: len(_candidates(v)) or SORT_LAST):
        candidates, own = _candidates(v), found[v["operation"]]
        bug = next((bug for bug in own if set(bug.candidates) & set(candidates) or not candidates), None)
        if bug is None:
            own.append(Bug(v["operation"], candidates, [v]))
        else:
            bug.verdicts.append(v)
    return sorted((bug for own in found.values() for bug in own), key=lambda bug: (not bug.candidates, bug.operation))


def _candidates(verdict: dict[str, Any]) -> list[str]:
    said = verdict["reason"]
    return re.split(r"(?<=\)) or ", said.removeprefix(MATCHES_PREFIX)) if said.startswith(MATCHES_PREFIX) else []


def known_lines(verdicts: list[dict[str, Any]]) -> list[str]:
    kinds: dict[str, list[str]] = defaultdict(list)
    for v in verdicts:
        if v.get("known"):
            kinds[v["known"]].append(f"{v['id']} in {v['dtype']}")
    return [f"{kind}: {', '.join(found)}" for kind, found in kinds.items()]


def domain_lines(verdicts: list[dict[str, Any]]) -> list[str]:
    domains: dict[str, set[str]] = defaultdict(set)
    for v in verdicts:
        if v["domain"] and v["examples"]:
            domains[v["domain"]].add(v["operation"])
    return sorted(f"{', '.join(sorted(operations))}: {domain}" for domain, operations in domains.items())


def count_levels(verdicts: list[dict[str, Any]]) -> dict[str, tuple[int, int]]:
    """How often each level held, of how many times that it was tried."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for v in verdicts:
        if v["level"] and v["status"] in ("passed", "not held", "failed"):
            counts[v["level"]].update([v["status"]])
    return {level: (count["passed"], count.total()) for level, count in sorted(counts.items())}


def not_tried_lines(verdicts: list[dict[str, Any]]) -> list[str]:
    """One sentence for all operations that share a reason."""
    sharing: dict[str, set[str]] = defaultdict(set)
    for v in verdicts:
        if v["status"] != "skipped":
            continue
        reason = v["reason"].removeprefix("Skipped: ")
        backend, absent, operation = reason.partition(" does not implement ")
        if absent:
            sharing[f"{backend} does not implement "].add(operation)
        elif reason.startswith(REFUSED_PREFIX) or reason == NOT_CALLED:
            sharing[f"{reason.removeprefix(REFUSED_PREFIX)}: "].add(v["operation"])
        else:
            sharing[reason].update()
    return [start + ", ".join(sorted(operations)) for start, operations in sorted(sharing.items())]
