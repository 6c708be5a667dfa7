"""The sections of an operation's page that say all: each law with its proof, and each deviation with its code.

What is long is folded: see folded_sections.py.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from folded_sections import fold
from markdown_text import escape_markdown, join_lines, make_label, source_without_docstring
from operation_facts import list_catchers, list_laws, read_matrix, split_deviations
from proofs import read_proof

from spec_tests.deviations import KINDS, Deviation
from spec_tests.specification.formats import DTYPES
from spec_tests.trials.invariant import KINDS as CLAIMS
from spec_tests.trials.invariant import Invariant

EARLY_EXAMPLES = 3  # an invariant that needs fewer examples shows the bug at once


def format_law(law: Invariant, operation: str, caught: list[str]) -> Iterator[str]:
    """Yield the section of a law, given the ids of the deviations that it catches."""
    name = law.id_for(operation)
    yield from (f"({make_label(name)})=", "", f"### {name.partition('.')[2]}", "", join_lines(law.statement), "")
    yield from (fold("why it holds, and what it catches"), "")
    yield from (f"*Why.* {read_proof(law)}", "")
    claims = [
        CLAIMS[law.kind],
        escape_markdown(law.source),
        f"the level `{law.level}`, which fails a run only if required" * bool(law.level),
    ]
    yield from (f"*{claims[0]}*" + "".join(f"; {claim}" for claim in claims[1:] if claim), "")
    own = {deviation.id for deviation in split_deviations(operation)[0]}
    special = [bug for bug in caught if bug in own]
    others = len(caught) - len(special)
    links = [f"[{bug.partition('/')[2]}](#{make_label(bug)})" for bug in special]
    links += [f"{others} [fault{'s' * (others != 1)}](#{make_label(f'{operation}-faults')})"] * bool(others)
    if links:
        yield from (f"Catches {', '.join(links)}.", "")
        yield from ("```text", format_command(_choose_deviation(special or caught, name), name), "```", "")


def format_deviation(deviation: Deviation, operation: str) -> Iterator[str]:
    """Yield the section of a deviation."""
    first, *paragraphs = inspect.cleandoc(deviation.function.__doc__ or "").split("\n\n")
    yield from (f"({make_label(deviation.id)})=", "", f"### {deviation.name}", "", _capitalize(join_lines(first)), "")
    yield from (fold("its code, and what catches it"), "")
    for paragraph in paragraphs:
        yield from (_capitalize(join_lines(paragraph)), "")
    where = f"; it shows in {', '.join(deviation.dtypes)}" if deviation.dtypes != DTYPES else ""
    seen = f"; seen in {', '.join(map(escape_markdown, deviation.seen))}" if deviation.seen else ""
    yield from (f"*{deviation.kind}*: {KINDS[deviation.kind]}{where}{seen}.", "")
    known = {law.id_for(operation) for law in list_laws(operation)}
    caught = (link_to_law(name) if name in known else f"`{name}`" for name in list_catchers(deviation))
    yield from (f"Caught by {', '.join(caught)}.", "")
    yield from ("```python", source_without_docstring(deviation.function), "```", "")
    yield from ("```text", format_command(deviation.id, operation), "```", "")


def format_faults(faults: list[Deviation], operation: str) -> Iterator[str]:
    """Yield the section of the faults that an operation shares with every operation."""
    yield from (f"({make_label(f'{operation}-faults')})=", "", "## Faults of every operation", "")
    yield from ("Each computes the right equation, but mishandles memory, state or shapes. Each is a backend too.", "")
    yield from (fold(f"the {len(faults)} faults"), "")
    yield from (f"- `{fault.id}`: {escape_markdown(fault.what)}" for fault in faults)
    yield ""


def format_command(deviation: str, selection: str) -> str:
    """Return a command that runs a wrong implementation and fails."""
    return f"pytest --pyargs spec_tests --backend=deviation:{deviation} -k {selection}"


def link_to_law(name: str) -> str:
    """Return a link to a law's section on the same page, given the law's id."""
    return f"[{name.partition('.')[2]}](#{make_label(name)})"


def _choose_deviation(deviations: list[str], law: str) -> str:
    """Choose the deviation that the fewest other invariants catch, preferably one that the law catches at once."""

    def order(deviation: str) -> tuple[bool, int, str]:
        caught = read_matrix().get(deviation, {})
        return caught.get(law, EARLY_EXAMPLES) >= EARLY_EXAMPLES, len(caught), deviation

    return min(deviations, key=order)


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]
