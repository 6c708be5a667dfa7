"""The sections of the operations' pages that say all: each law with its proof, and each deviation with its code.

What is long is folded: see folded_sections.py.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator, Sequence

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
    """Yield the section of a law of an operation's own, given the ids of the deviations that it catches."""
    name = law.id_for(operation)
    yield from _format_proof(law, "why it holds, and what it catches")
    own = {deviation.id for deviation in split_deviations(operation)[0]}
    special = [bug for bug in caught if bug in own]
    others = len(caught) - len(special)
    links = [f"[{bug.partition('/')[2]}](#{make_label(bug)})" for bug in special]
    links += [f"{others} [fault{'s' * (others != 1)}](#{make_label(f'{operation}-faults')})"] * bool(others)
    if links:
        yield from (f"Catches {', '.join(links)}.", "")
        yield from ("```text", format_command(_choose_deviation(special or caught, name), name), "```", "")


def format_general_law(law: Invariant, names: Collection[str]) -> Iterator[str]:
    """Yield the section of a law of every operation, or of every gradient, given the names of all of these."""
    yield from _format_proof(law, "why it holds")
    holds = [name for name in names if law.applies_to(name)]
    if len(holds) < len(names):
        yield from (f"It is a law of {', '.join(f'[`{name}`]({name}.md)' for name in holds)}.", "")


def _format_proof(law: Invariant, folded: str) -> Iterator[str]:
    yield from (f"({_label(law)})=", "", f"### {law.id.partition('.')[2]}", "", join_lines(law.statement), "")
    yield from (fold(folded), "")
    yield from (f"*Why.* {read_proof(law)}", "")
    claims = [
        CLAIMS[law.kind],
        escape_markdown(law.source),
        f"the level `{law.level}`, which fails a run only if required" * bool(law.level),
    ]
    yield from (f"*{claims[0]}*" + "".join(f"; {claim}" for claim in claims[1:] if claim), "")


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
    known = {law.id_for(operation): law for law in list_laws(operation)}
    caught = (link_to_law(known[name]) if name in known else f"`{name}`" for name in list_catchers(deviation))
    yield from (f"Caught by {', '.join(caught)}.", "")
    yield from ("```python", source_without_docstring(deviation.function), "```", "")
    yield from ("```text", format_command(deviation.id, operation), "```", "")


def format_faults(faults: Sequence[Deviation], operation: str) -> Iterator[str]:
    """Yield the section of the faults that an operation shares with every operation."""
    yield from (f"({make_label(f'{operation}-faults')})=", "", "## Faults of every operation", "")
    yield from ("Each computes the right equation, but mishandles memory, state or shapes. Each is a backend too.", "")
    yield from (fold(f"the {len(faults)} faults"), "")
    yield from (f"- `{fault.id}`: {escape_markdown(fault.what)}" for fault in faults)
    yield ""


def format_command(deviation: str, selection: str) -> str:
    """Return a command that runs a wrong implementation and fails."""
    return f"pytest --pyargs spec_tests --backend=deviation:{deviation} -k {selection}"


def link_to_law(law: Invariant) -> str:
    """Return a link to a law's section: on the page of its operation, or on that of the laws of every operation."""
    page = f"{law.module}.md" if law.is_general else ""
    return f"[{law.id.partition('.')[2]}]({page}#{_label(law)})"


def _label(law: Invariant) -> str:
    return make_label(f"{law.module}-{law.id.partition('.')[2]}")


def _choose_deviation(deviations: list[str], law: str) -> str:
    """Choose the deviation that the fewest other invariants catch, preferably one that the law catches at once."""

    def order(deviation: str) -> tuple[bool, int, str]:
        caught = read_matrix().get(deviation, {})
        return caught.get(law, EARLY_EXAMPLES) >= EARLY_EXAMPLES, len(caught), deviation

    return min(deviations, key=order)


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]
