"""The summary at the end of a run: a table of the precision classes that were reached, and remarks on the verdict."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from ..inputs.effort import current_effort, describe_shapes
from ..specification.run_settings import current_settings
from ..specification.version import SPEC_VERSION, __version__
from .conventions import describe_conventions
from .table import format_table
from .undeclared_double import describe_undeclared_double
from .verdict import Verdict
from .verdicts import (
    count_levels,
    describe_domains,
    describe_known_failures,
    describe_names,
    describe_not_tried,
    describe_refused_variants,
    describe_shortfalls,
    describe_stale_entries,
    find_refusing,
)

MAX_ABSENT_NAMES = 12  # of operations that a backend does not implement; the page of the report names all
ORACLE_WARNING = "it has imported the oracle (reference_numpy): what conforms may be the suite's own equations"


def write_summary(terminal: Any, verdicts: Sequence[Verdict], *, is_cut: bool = False) -> None:
    """Write the table and the remarks of each backend, then one line on the run."""
    for backend in dict.fromkeys(v.backend for v in verdicts):
        own = [v for v in verdicts if v.backend == backend]
        terminal.section(f"{backend}: precision class reached, and share of the allowed error")
        for line in format_table(own, current_effort().name):
            terminal.write_line(line)
        for line in format_remarks(own):
            terminal.write_line(line)
    examples = sum(v.examples for v in verdicts)
    note = "; smoke supports no claim of conformance" if current_effort().name == "smoke" else ""
    failed = any(v.status == "failed" for v in verdicts)
    note += "; the run was cut and claims nothing" if is_cut else ""
    note += "" if examples or failed or is_cut else "; nothing was tried: exit status 5"
    if little := find_refusing(verdicts):
        noun, verb = ("operation", "does") if len(little) == 1 else ("operations", "do")
        note += f"; {len(little)} {noun} answered too little and {verb} not conform (fails only with --require)"
    effort = f"effort {current_effort().name}{describe_shapes(current_settings().shape_count)}"
    terminal.write_line(f"spec_tests {__version__}, spec {SPEC_VERSION}, {effort}, {examples} examples{note}")


def format_remarks(verdicts: Sequence[Verdict]) -> list[str]:
    """Return the lines below the table: known failures, domains, what was not tried, and levels."""
    remarks = {
        "fails nothing, because a file says that it is known:": describe_known_failures(verdicts),
        "holds now, and is listed as failing: remove the line, or run with --update-known": describe_stale_entries(verdicts),
        "taken under other names:": describe_names(verdicts),
        "tried only within this domain:": describe_domains(verdicts),
        "judged by itself:": [ORACLE_WARNING] * any(v.oracle for v in verdicts),
    }
    lines = [line for title, found in remarks.items() if found for line in (title, *_wrap_sentences(found))]
    if refused := describe_refused_variants(verdicts):
        lines = [*_wrap(f"refuses these optional variants: {'; '.join(refused)}"), *lines]
    if not_tried := describe_not_tried(verdicts, MAX_ABSENT_NAMES):
        has_code = any("\n" in sentence for sentence in not_tried)  # which is to be copied
        lines += ["not tried:", *_wrap_sentences(not_tried)] if has_code else _wrap(f"not tried: {'; '.join(not_tried)}")
    if doubles := describe_undeclared_double(verdicts):
        lines += ["computes float64 in float32:", *_wrap_advised(doubles)]
    if found := describe_conventions(verdicts):
        lines += ["conventions that it does not state:", *_wrap_advised(found)]
    if shortfalls := describe_shortfalls(verdicts):
        lines += ["answered too little to conform:", *_wrap_advised(shortfalls)]
    if counts := count_levels(verdicts):
        held_in = ", ".join(f"{level} {held} of {tried}" for level, (held, tried) in counts.items())
        sentence = f"levels, which are optional properties, and in how many of their laws they hold: {held_in}"
        lines += _wrap(sentence)
    return lines


def _wrap(sentence: str) -> list[str]:
    return textwrap.wrap(sentence, 120, subsequent_indent="  ", break_on_hyphens=False)


def _wrap_advised(sentences: list[tuple[str, str]]) -> list[str]:
    """Return the sentences, and below each its line of advice, which is not wrapped so that it can be copied."""
    return [
        line
        for sentence, advice in sentences
        for line in (*_wrap_sentences([sentence]), *([f"    {_begin(advice)}{advice}"] if advice else []))
    ]


def _begin(advice: str) -> str:
    """Return what stands before a line to add to a file: nothing before another sentence."""
    return "" if advice.startswith("leave ") else "add: "


def _wrap_sentences(sentences: Iterable[str]) -> list[str]:
    """Return the sentences as lines of at most 120 characters. Lines of code, which follow a line break, stay as they are."""
    lines: list[str] = []
    for sentence in sentences:
        text, _, code = sentence.partition("\n")
        lines += textwrap.wrap(text, 120, initial_indent="  ", subsequent_indent="    ")
        lines += [f"      {line}" for line in code.splitlines()]
    return lines
