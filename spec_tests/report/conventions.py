"""What a run shows of conventions that a backend does not state: the value that holds throughout, and the line that states it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from ..calls.recorder import REFUSED, UNKNOWN
from ..specification.conventions import CONVENTIONS, Convention
from .verdict import Verdict

Answers = dict[str, Counter[str]]  # by operation: how many answers fit which value


def describe_conventions(verdicts: Sequence[Verdict]) -> list[tuple[str, str]]:
    """Return a sentence for each finding about a convention. The last one comes with the line that states all that was found.

    Operations whose answers break the law of a convention fail, and are left out here.
    """
    sentences: list[str] = []
    found = _list_stated(verdicts)
    line = ""
    for name, answers in _count_answers(verdicts).items():
        convention = CONVENTIONS.get(name)
        groups: dict[str, list[str]] = defaultdict(list)
        for operation, counts in answers.items():
            groups[_find_value(counts)].append(operation)
            if value := _find_value(counts):
                found[name][operation] = value
        for value, operations in groups.items():
            counts = sum((answers[operation] for operation in operations), Counter())
            sentences.append(f"{name} of {', '.join(operations)}: {_describe_answers(convention, value, counts)}")
        line = _write_statement(found) if any(groups) else line
    return [(sentence, line if sentence is sentences[-1] else "") for sentence in sentences]


def describe_differences(verdicts: Sequence[Verdict]) -> str:
    """Return the choices that were inferred and are not PyTorch's, in one sentence, or ""."""
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, answers in _count_answers(verdicts).items():
        convention = CONVENTIONS.get(name)
        for operation, counts in answers.items():
            value = _find_value(counts)
            if convention and value and convention.in_pytorch and value != convention.in_pytorch:
                groups[name, value].append(operation)
    choices = [
        f"{name} {value}, where PyTorch has {CONVENTIONS[name].in_pytorch} ({', '.join(operations)})"
        for (name, value), operations in groups.items()
    ]
    return "; ".join(choices)


def _list_stated(verdicts: Sequence[Verdict]) -> dict[str, dict[str, str]]:
    """Return the values that the backend states, by convention and operation."""
    stated: dict[str, dict[str, str]] = defaultdict(dict)
    for v in verdicts:
        for name, value in v.conventions.stated.items():
            stated[name][v.operation] = value
    return stated


def _count_answers(verdicts: Sequence[Verdict]) -> dict[str, Answers]:
    """Return the answers by convention and operation, without those that contradict one another."""
    counts: dict[str, Answers] = defaultdict(lambda: defaultdict(Counter))
    failed = set()
    for v in verdicts:
        for name, answers in v.conventions.answers.items():
            counts[name][v.operation].update(answers)
            failed |= {(name, v.operation)} if v.status == "failed" else set()
    kept = {name: {op: own for op, own in answers.items() if (name, op) not in failed} for name, answers in counts.items()}
    return {name: answers for name, answers in kept.items() if answers}


def _find_value(counts: Counter[str]) -> str:
    """Return the known value that all answers fit, or ""."""
    values = set(counts) - {REFUSED}
    return next(iter(values)) if len(values) == 1 and values != {UNKNOWN} else ""


def _describe_answers(convention: Convention | None, value: str, counts: Counter[str]) -> str:
    """Say which value the answers fit, or how many of them fit which."""
    answers = counts.total() - counts[REFUSED]
    refused = f"; {counts[REFUSED]} questions were refused" if counts[REFUSED] else ""
    if not answers:
        return "every question was refused; no law fails for it"
    if value:
        words = f" ({convention.values[value].words})" if convention and value in convention.values else ""
        return f"{value}{words} in {f'all {answers} answers' if answers > 1 else 'the only answer'}{refused}"
    fitting = [f"{value} in {count}" for value, count in counts.items() if value not in (UNKNOWN, REFUSED)]
    known = f" ({', '.join(convention.values)})" if convention else ""
    unknown = f"no known value{known} in {counts[UNKNOWN]}"
    return f"{', '.join([*fitting, unknown])} of {answers} answers; no law fails for it{refused}"


def _write_statement(found: dict[str, dict[str, str]]) -> str:
    """Return the line that states what was found. A value that differs between operations is stated for each of them."""
    stated = {name: min(own.values()) if len(set(own.values())) == 1 else own for name, own in found.items() if own}
    return f"conventions = {stated!r}".replace("'", '"')
