"""Add up the verdicts of several items on one law: the same law, backend and dtype, with other seeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from typing import Any

from ..report.verdict import (
    ForeignMessage,
    Message,
    RecordedVerdict,
    Refusal,
    StatedCause,
    StatedConventions,
    StatedShares,
    Variants,
)
from ..trials.shares import STRICTNESS

STATUSES = ("failed", "not held", "passed", "skipped")  # the first that occurs is that of the sum
CLASSES = ("", *STRICTNESS)  # the last that occurs is that of the sum
COUNTS = ("examples", "refused", "drawn", "answered", "unexplained")
KEPT_REFUSALS = 5  # as many as a verdict of a run has


def identify(verdict: RecordedVerdict) -> tuple[str, ...]:
    """Return what verdicts have in common that are added up: the law, and not where the suite is installed."""
    return verdict.backend, verdict.dtype, verdict.id, shorten_node(verdict.node)


def shorten_node(node: str) -> str:
    """Return pytest's name of a test from the suite's own folder on.

    >>> shorten_node("../lib/python3.11/site-packages/spec_tests/test_relu.py::test_sign")
    'spec_tests/test_relu.py::test_sign'
    """
    path, separator, name = node.partition("::")
    return f"spec_tests/{path.rpartition('spec_tests/')[2]}{separator}{name}"


def add_verdicts(verdicts: Sequence[RecordedVerdict]) -> RecordedVerdict:
    """Return one verdict for those of several items.

    Counts and seconds are added. The status is the worst one. `worst` is the largest share of the allowed error. `median` is the
    median of the items' medians. Failures are kept by cause: the first example of each cause, and how many examples it made fail.
    """
    worst_status = min((v.status for v in verdicts), key=STATUSES.index)
    first = next(v for v in verdicts if v.status == worst_status)
    tried = [v for v in verdicts if v.status != "skipped"]
    shares = _add_shares([_own_shares(v) for v in verdicts], [_own_shares(v) for v in tried])
    by_name = {name: [v.results[name] for v in tried if name in v.results] for v in tried for name in v.results}
    hardest = [v.hardest for v in verdicts if v.hardest]
    return replace(
        first,
        node=shorten_node(first.node),
        **{name: sum(getattr(v, name) for v in verdicts) for name in COUNTS},
        seconds=round(sum(v.seconds for v in verdicts), 3),
        precision=shares.precision,
        worst=shares.worst,
        median=shares.median,
        results={name: _add_shares(own, own) for name, own in by_name.items()},
        unclaimed=sum(v.unclaimed * v.examples for v in tried) / max(1, sum(v.examples for v in tried)),
        refusals=_add_refusals(verdicts),
        variants=_add_variants([v.variants for v in verdicts]),
        hardest=max(hardest, key=lambda example: example.share, default=None),
        conventions=_add_conventions([v.conventions for v in verdicts]),
        **_add_failures([v for v in verdicts if v.status == "failed"]),
    )


def _own_shares(verdict: RecordedVerdict) -> StatedShares:
    return StatedShares(precision=verdict.precision, worst=verdict.worst, median=verdict.median)


def _add_shares(every: Sequence[StatedShares], tried: Sequence[StatedShares]) -> StatedShares:
    """Return the loosest class of all, and the largest and the median share of those that were tried."""
    worst = [shares.worst for shares in tried if shares.worst is not None]
    medians = [shares.median for shares in tried if shares.median is not None]
    return StatedShares(
        precision=max((shares.precision for shares in every), key=CLASSES.index),
        worst=max(worst, default=None),
        median=median(medians) if medians else None,
    )


def _add_refusals(verdicts: Sequence[RecordedVerdict]) -> tuple[Refusal, ...]:
    counts: Counter[tuple[Any, str]] = Counter()
    for verdict in verdicts:
        for kind, text, count in verdict.refusals:
            counts[kind, text] += count
    return tuple((kind, text, count) for (kind, text), count in counts.most_common(KEPT_REFUSALS))


def _add_variants(several: Sequence[Variants]) -> Variants:
    """Return the variants that an item answered, and those that no item did."""
    found: dict[str, tuple[str, ...]] = {}
    for answered, refused in (("answered", "refused"), ("classes_answered", "classes_refused")):
        ours, others = (dict.fromkeys(name for own in several for name in getattr(own, side)) for side in (answered, refused))
        found |= {answered: tuple(ours), refused: tuple(name for name in others if name not in ours)}
    return Variants(**found)


def _add_conventions(several: Sequence[StatedConventions]) -> StatedConventions:
    answers: dict[str, Counter[str]] = {}
    for conventions in several:
        for name, counts in conventions.answers.items():
            answers.setdefault(name, Counter()).update(counts)
    return StatedConventions(stated=several[0].stated, answers={name: dict(counts) for name, counts in answers.items()})


def _add_failures(failed: Sequence[RecordedVerdict]) -> dict[str, Any]:
    """Return the causes of all failures, each once, with the message that shows each, in the same order."""
    causes: dict[str, StatedCause] = {}
    messages: dict[str, Message | ForeignMessage] = {}
    for verdict in failed:
        shown = [verdict.failure, *verdict.other_failures]
        for i, cause in enumerate(verdict.causes):
            causes[cause.key] = _add_cause(causes[cause.key], cause) if cause.key in causes else cause
            if i < len(shown) and (message := shown[i]):
                messages.setdefault(cause.key, message)
    if not causes:
        return {}
    first, *others = (messages[key] for key in causes if key in messages) if messages else (None,)
    return {"causes": tuple(causes.values()), "failure": first, "other_failures": tuple(others)}


def _add_cause(known: StatedCause, cause: StatedCause) -> StatedCause:
    wrong, right = max((known.wrong, known.right), (cause.wrong, cause.right))
    return replace(known, failing=known.failing + cause.failing, wrong=wrong, right=right)
