"""A list of verdicts in short: its levels, the domains, and what was not tried."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from ..calls.call_facts import UNEQUAL_BATCHES
from ..specification.formats import RESULT_DTYPES
from ..specification.levels import SPOILING
from ..trials.coverage import PLAIN
from ..trials.tally import NOT_CALLED, REFUSED_PREFIX
from .verdict import Verdict

NO_ARGUMENT = re.compile(  # the reasons of running/selection.py and helpers/keywords.py
    r".*'s (?P<function>\w+) has no argument (?P<name>\w+), which the law varies"
    r"|(?P<operation>\w+) takes none of (?P<names>[\w, ]+)"
)
LAWS_HOLD = "laws hold"  # shown in place of the shares where no comparison with the oracle ran
OPEN = "open"  # shown where a law that fails in another dtype was not tried
OPEN_MEANS = "a law that fails in another dtype was not tried in this one"


def is_tried(operation: str, verdicts: Sequence[Verdict]) -> bool:
    """Whether a law of the operation was tried, besides those of optional levels."""
    return any(v.operation == operation and v.status != "skipped" and v.level is None for v in verdicts)


def describe_known_failures(verdicts: Sequence[Verdict]) -> list[str]:
    """Return one line for each kind of known failures, with the verdicts that a file of known failures lists."""
    kinds: dict[str, list[str]] = defaultdict(list)
    for v in verdicts:
        if v.known:
            kinds[v.known].append(f"{v.id} in {v.dtype}")
    return [f"{kind}: {', '.join(found)}" for kind, found in kinds.items()]


def find_shortfall(verdict: Verdict) -> str:
    """Return how little a comparison with the oracle answered, as "answered 22 of 829". Return "" if it answered enough.

    It answered enough if it answered at least half of what was drawn, and if every refusal is a stated domain or a named
    optional variant. Examples with an option that the function does not take are not counted as drawn. Only of such comparisons
    does a report claim conformance.
    """
    drawn = verdict.drawn
    if not verdict.is_comparison or verdict.level or not drawn or verdict.status == "failed":
        return ""
    lacking = sum(count for kind, _, count in verdict.refusals if kind == "signature")
    enough = not verdict.unexplained and verdict.answered and 2 * verdict.answered >= drawn - lacking
    return "" if enough else f"answered {verdict.answered} of {drawn}"


def find_shortfalls(verdicts: Sequence[Verdict]) -> dict[tuple[str, str], Verdict]:
    """Return the comparisons that answered too little, by operation and dtype.

    An operation that was refused in every dtype and by every law is not implemented. Nothing is claimed of it.
    """
    answered = {v.operation for v in verdicts if v.examples and v.level is None}
    return {(v.operation, v.dtype): v for v in verdicts if v.operation in answered and find_shortfall(v)}


def find_refusing(verdicts: Sequence[Verdict]) -> set[str]:
    """Return the operations that answered too little in some dtype of which enough was drawn to say so."""
    return {operation for (operation, _), v in find_shortfalls(verdicts).items() if _shows_refusals(v)}


def _shows_refusals(verdict: Verdict) -> bool:
    """Whether more than one example was drawn: a single one, as at smoke effort, does not show how much is refused."""
    return verdict.drawn > 1


def describe_shortfalls(verdicts: Sequence[Verdict]) -> list[tuple[str, str]]:
    """Return a sentence for each operation and region that was refused, and a line of advice or ""."""
    found: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for (operation, dtype), v in find_shortfalls(verdicts).items():
        if _shows_refusals(v):
            found[operation, *_explain_shortfall(v, verdicts)].append(f"{v.answered} of {v.drawn} in {dtype}")
    return [
        (f"{operation} answered {', '.join(counts)}: {reason}", advice) for (operation, reason, advice), counts in found.items()
    ]


def describe_shortfall(verdict: Verdict) -> str:
    """Return a sentence on one comparison that answered too little, with a line of advice. Return "" if it answered enough.

    The cell of a single example claims nothing, and nothing fails.
    """
    if not _shows_refusals(verdict) or not (shortfall := find_shortfall(verdict)):
        return ""
    reason, advice = _explain_shortfall(verdict, [verdict])
    line = f"; add {advice}" if advice.startswith("domain") else f"; {advice}" if advice else ""
    return f"{verdict.operation} {shortfall} examples in {verdict.dtype}: {reason}{line}"


def _explain_shortfall(verdict: Verdict, verdicts: Sequence[Verdict]) -> tuple[str, str]:
    """Return what the backend refuses, and the line of its domain that would state it, or ""."""
    if not verdict.answered:
        own = [v for v in verdicts if v.operation == verdict.operation and v.level is None]
        dtypes = tuple(dtype for dtype in RESULT_DTYPES if any(v.dtype == dtype and v.examples for v in own))
        operation, texts = verdict.operation.removesuffix("_vjp"), _quote_refusals(verdict)
        advice = f"domain = {{{operation!r}: {{'dtype': {dtypes!r}}}}}".replace("'", '"')
        is_plain_refused = PLAIN in verdict.variants.refused  # else an option may be the reason
        is_of_dtype = dtypes and verdict.dtype not in dtypes and is_plain_refused
        return f"refuses whatever is drawn{texts}", advice if is_of_dtype else ""
    if verdict.region:
        return verdict.region
    return f"no single size or option tells what it refuses{_quote_refusals(verdict)}", ""


def _quote_refusals(verdict: Verdict) -> str:
    """Return what the backend says about its refusals, to follow a sentence. Numbers of times differ between dtypes."""
    texts = [f'"{text}"' for _, text, _ in verdict.refusals[:2]]
    return f"; it says {', '.join(texts)}" if texts else ""


def describe_refused_variants(verdicts: Sequence[Verdict]) -> list[str]:
    """Return one line for each operation that lacks optional variants, with their names."""
    counts = count_variants(verdicts)
    return [f"{operation}: {', '.join(sorted(refused))}" for operation, (_, refused) in counts.items() if refused]


def count_variants(verdicts: Sequence[Verdict]) -> dict[str, tuple[set[str], set[str]]]:
    """Return the optional variants of each operation that was compared with the oracle: the answered and the refused ones.

    A variant that a dtype refuses is refused.
    """
    found: dict[str, tuple[set[str], set[str]]] = {}
    for v in verdicts:
        if v.law == "broadcasting":
            answered, refused = found.setdefault(v.operation, (set(), set()))
            refused |= {UNEQUAL_BATCHES} & set(v.variants.refused)
            answered |= {UNEQUAL_BATCHES} & set(v.variants.answered) - refused
        if v.is_comparison and v.level is None and v.examples:
            answered, refused = found.setdefault(v.operation, (set(), set()))
            refused |= set(v.variants.refused)
            answered |= set(v.variants.answered)
            answered -= refused
    return found


def describe_stale_entries(verdicts: Sequence[Verdict]) -> list[str]:
    """Return one line for each invariant that a file lists as failing, and that holds now."""
    return [f"{v.stale}: {v.id} in {v.dtype}" for v in verdicts if v.stale]


def describe_domains(verdicts: Sequence[Verdict]) -> list[str]:
    """Return one line for each domain that limits the run, with the operations that were tried in it."""
    domains: dict[str, set[str]] = defaultdict(set)
    for v in verdicts:
        if v.domain and v.examples:
            domains[v.domain].add(v.operation)
    return sorted(f"{', '.join(sorted(operations))}: {domain}" for domain, operations in domains.items())


def describe_names(verdicts: Sequence[Verdict]) -> list[str]:
    """Return one line for each operation that the backend, or whose arguments it, has under other names."""
    return sorted({f"{v.operation.removesuffix('_vjp')}: {v.names}" for v in verdicts if v.names and v.examples})


def describe_failed_names(verdicts: Sequence[Verdict]) -> list[str]:
    """Return one line for each operation that fails and that a function with another name is taken for."""
    failed = {v.operation.removesuffix("_vjp"): v.names.split(",")[0] for v in verdicts if v.status == "failed" and v.names}
    taken = {name: names for name, names in failed.items() if names.endswith(f" for {name}")}
    return [f"taken by its name: {taken[name]}; rename it if it is something else" for name in sorted(taken)]


def describe_beyond(verdicts: Sequence[Verdict]) -> list[str]:
    """Return what the backend's file has that the suite has no operation for, in one line."""
    return sorted({v.beyond for v in verdicts if v.beyond})


def count_levels(verdicts: Sequence[Verdict]) -> dict[str, tuple[int, int]]:
    """Return, for each level, how often it held and how often it was tried."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for v in verdicts:
        if v.level and v.status in ("passed", "not held", "failed"):
            counts[v.level].update([v.status])
    return {level: (count["passed"], count.total()) for level, count in sorted(counts.items())}


def describe_missed_levels(verdicts: Sequence[Verdict]) -> str:
    """Return the levels that were not reached although programs fail silently without them, in one sentence, or ""."""
    missed: dict[str, list[str]] = defaultdict(list)
    for v in verdicts:
        if v.level in SPOILING and v.status == "not held" and v.operation not in missed[v.level]:
            missed[v.level].append(v.operation)
    return "; ".join(f"{level} ({', '.join(missed[level])})" for level in SPOILING if missed.get(level))


def describe_unrequired(verdicts: Sequence[Verdict]) -> list[str]:
    """Return one sentence for each tier of a contract that did not hold, and that nobody asks of the backend."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for v in verdicts:
        if v.status == "not held" and v.level is None:
            found[v.tier].setdefault(v.operation, v.reason)
    return [
        f"{tier}, reported and not required (--require-tier={tier} requires it): {', '.join(reasons)}; "
        f"at first {next(iter(reasons.values()))}"
        for tier, reasons in found.items()
    ]


def _list_names(operations: set[str], has_gradients: bool, most: int | None) -> str:
    """Return the names of operations in one sentence, without the gradients if none was tried. Count more than `most` names."""
    gradients = {name for name in operations if name.endswith("_vjp")}
    no_gradient = not has_gradients and len(gradients) > 1 and gradients != operations
    named = sorted(operations - gradients if no_gradient else operations)
    many = most is not None and len(named) > most
    names = f"{len(named)} other operations (see spec-tests list operations)" if many else ", ".join(named)
    return f"{names}, nor any gradient" if no_gradient else names


def describe_not_tried(verdicts: Sequence[Verdict], most: int | None = None) -> list[str]:
    """Return one sentence for each reason why something was not tried, with the operations that share it.

    More than `most` operations that the backend does not implement are counted, not named. The laws of an argument that the
    function lacks are left out where that is among the refused variants.
    """
    operations_by_start: dict[str, set[str]] = defaultdict(set)
    operations_by_reason: dict[str, set[str]] = defaultdict(set)
    lacking: dict[str, set[str]] = defaultdict(set)
    refused = {(operation, name) for operation, (_, names) in count_variants(verdicts).items() for name in names}
    for v in verdicts:
        if v.status != "skipped":
            continue
        reason = v.reason.removeprefix("Skipped: ")
        if lack := NO_ARGUMENT.fullmatch(reason.removeprefix(REFUSED_PREFIX)):
            operation, names = lack["operation"] or lack["function"], re.split(", ", lack["names"] or lack["name"])
            lacking[operation].update(name for name in names if (operation, name) not in refused)
            continue
        backend, absent, operation = reason.partition(" does not implement ")
        if absent and ";" not in operation:  # else it says what is there instead
            operations_by_start[f"{backend} does not implement "].add(operation)
        elif reason.startswith(REFUSED_PREFIX) or reason == NOT_CALLED:
            operations_by_reason[reason.removeprefix(REFUSED_PREFIX)].add(v.operation)
        else:
            operations_by_start[reason].update()
    sentences = [f"{', '.join(sorted(operations))} ({reason})" for reason, operations in sorted(operations_by_reason.items())]
    has_gradients = any(v.examples and v.operation.endswith("_vjp") for v in verdicts)
    sentences += [start + _list_names(names, has_gradients, most) for start, names in sorted(operations_by_start.items())]
    return sentences + [
        f"laws of {operation} that vary {', '.join(sorted(names))}, which it lacks"
        for operation, names in sorted(lacking.items())
        if names
    ]


def is_open(verdicts: Sequence[Verdict], dtype: str, effort: str) -> bool:
    """Whether a law of an operation fails in another dtype, and smoke effort did not try it in this one.

    Nothing is known of the bug in this dtype, so its precision class is not shown.
    """
    if effort != "smoke":
        return False
    tried = {v.id for v in verdicts if v.dtype == dtype and v.status in ("passed", "failed")}
    failing_here = any(v.status == "failed" and v.dtype == dtype for v in verdicts)
    return not failing_here and any(v.status == "failed" and v.id not in tried for v in verdicts)


def describe_shapes(verdicts: Sequence[Verdict]) -> str:
    """Return how many calls were made, in how many shapes, and how long their first calls took; "" where that tells nothing."""
    told = [v.shapes for v in verdicts if v.shapes is not None]
    calls, new, seconds = (sum(getattr(shapes, name) for shapes in told) for name in ("calls", "new", "seconds"))
    return f"{calls} calls, {new} of them the first of their shapes, which took {seconds:.3g} s" if calls else ""
