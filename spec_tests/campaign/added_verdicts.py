"""Add up the verdicts of several items on one law: the same law, backend and dtype, with other seeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import median
from types import MappingProxyType
from typing import Any

from ..trials.shares import STRICTNESS

Verdict = dict[str, Any]
STATUSES = ("failed", "not held", "passed", "skipped")  # the first that occurs is that of the sum
CLASSES = ("", *STRICTNESS)  # the last that occurs is that of the sum
COUNTS = ("examples", "refused", "drawn", "answered", "unexplained")
KEPT_REFUSALS = 5  # as many as a verdict of a run has
INFINITIES = MappingProxyType({float("inf"): "Infinity", float("-inf"): "-Infinity"})


def identify(verdict: Verdict) -> tuple[str, ...]:
    """Return what verdicts have in common that are added up: the law, and not where the suite is installed."""
    return verdict["backend"], verdict["dtype"], verdict["id"], shorten_node(verdict["node"])


def shorten_node(node: str) -> str:
    """Return pytest's name of a test from the suite's own folder on.

    >>> shorten_node("../lib/python3.11/site-packages/spec_tests/test_relu.py::test_sign")
    'spec_tests/test_relu.py::test_sign'
    """
    path, separator, name = node.partition("::")
    return f"spec_tests/{path.rpartition('spec_tests/')[2]}{separator}{name}"


def add_verdicts(verdicts: Sequence[Verdict]) -> Verdict:
    """Return one verdict for those of several items.

    Counts and seconds are added. The status is the worst one. `worst` is the largest share of the allowed error. `median` is the
    median of the items' medians. Failures are kept by cause: the first example of each cause, and how many examples it made fail.
    """
    worst_status = min((v["status"] for v in verdicts), key=STATUSES.index)
    of_status = [v for v in verdicts if v["status"] == worst_status]
    tried = [v for v in verdicts if v["status"] != "skipped"]
    found = {**of_status[0], "node": shorten_node(of_status[0]["node"])}
    for name in COUNTS:
        found[name] = sum(v.get(name, 0) for v in verdicts)
    found["seconds"] = round(sum(v["seconds"] for v in verdicts), 3)
    found |= _add_shares(verdicts, tried)
    names = dict.fromkeys(name for v in tried for name in v.get("results", ()))
    by_name = {name: [v["results"][name] for v in tried if name in v.get("results", ())] for name in names}
    found["results"] = {name: _add_shares(records, records) for name, records in by_name.items()}
    found["unclaimed"] = sum(v["unclaimed"] * v["examples"] for v in tried) / max(1, sum(v["examples"] for v in tried))
    found["refusals"] = _add_refusals(verdicts)
    if any("variants" in v for v in verdicts):
        found["variants"] = _add_variants(verdicts)
    hardest = [v["hardest"] for v in verdicts if v.get("hardest")]
    found["hardest"] = max(hardest, key=lambda example: float(example["share"]), default=None)
    if any("conventions" in v for v in verdicts):
        found["conventions"] = _add_conventions([v["conventions"] for v in verdicts if "conventions" in v])
    return found | _add_failures([v for v in verdicts if v["status"] == "failed"])


def _add_shares(records: Sequence[dict[str, Any]], tried: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the loosest class of these records, and the largest and the median share of those that were tried."""
    worst, medians = ([float(record[name]) for record in tried if record[name] is not None] for name in ("worst", "median"))
    return {
        "class": max((record["class"] for record in records), key=CLASSES.index),
        "worst": _format_real(max(worst)) if worst else None,
        "median": _format_real(median(medians)) if medians else None,
    }


def _add_refusals(verdicts: Sequence[Verdict]) -> list[list[Any]]:
    counts: Counter[tuple[str, str]] = Counter()
    for verdict in verdicts:
        for kind, text, count in verdict.get("refusals", ()):
            counts[kind, text] += count
    return [[kind, text, count] for (kind, text), count in counts.most_common(KEPT_REFUSALS)]


def _add_variants(verdicts: Sequence[Verdict]) -> dict[str, list[str]]:
    """Return the variants that an item answered, and those that no item did."""
    found: dict[str, list[str]] = {}
    for answered, refused in (("answered", "refused"), ("classes answered", "classes refused")):
        lists = [[v.get("variants", {}).get(name, []) for v in verdicts] for name in (answered, refused)]
        ours, others = (list(dict.fromkeys(name for names in several for name in names)) for several in lists)
        found |= {answered: ours, refused: [name for name in others if name not in ours]}
    return found


def _add_conventions(several: Sequence[dict[str, Any]]) -> dict[str, Any]:
    answers: dict[str, Counter[str]] = {}
    for conventions in several:
        for name, counts in conventions["answers"].items():
            answers.setdefault(name, Counter()).update(counts)
    return {"stated": several[0]["stated"], "answers": {name: dict(counts) for name, counts in answers.items()}}


def _add_failures(failed: Sequence[Verdict]) -> dict[str, Any]:
    """Return the causes of all failures, each once, with the part of a message that shows each, in the same order."""
    causes: dict[str, dict[str, Any]] = {}
    parts: dict[str, dict[str, Any]] = {}
    for verdict in failed:
        shown = [verdict.get("failure"), *verdict.get("other_failures", ())]
        for i, cause in enumerate(verdict.get("causes", ())):
            known = causes.setdefault(cause["key"], {**cause, "failing": 0, "wrong": 0, "right": 0})
            known["failing"] += cause["failing"]
            known["wrong"], known["right"] = max((known["wrong"], known["right"]), (cause["wrong"], cause["right"]))
            if i < len(shown) and shown[i]:
                parts.setdefault(cause["key"], shown[i])
    if not causes:
        return {}
    messages = [parts[key] for key in causes if key in parts]
    return {"causes": list(causes.values()), "failure": messages[0] if messages else None, "other_failures": messages[1:]}


def _format_real(x: float) -> float | str:
    """Return a number of the report, or the word that stands for one that JSON lacks."""
    return "NaN" if x != x else INFINITIES.get(x, x)
