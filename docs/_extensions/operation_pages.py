"""A Sphinx extension that writes a page for each operation and each gradient from the code that the tests run.

The top of a page has the signature, the equation (docs/proofs/<operation>.md), the backends that conform (docs/measured/),
the bug that is reported most (spec_tests/deviations/<operation>.py), and a table of the laws (spec_tests/test_<operation>.py).
What follows is folded: the NumPy code, the derivation of the error bound, why each law holds, and the code of each deviation.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from conformance_grid import find_link
from derivation import keep_derivation
from folded_sections import fold
from markdown_text import (
    AT_THE_TOP,
    escape_markdown,
    find_section,
    format_docstring,
    join_lines,
    make_label,
    source_without_docstring,
)
from operation_facts import (
    find_most_reported,
    first_sentence,
    list_general_laws,
    list_kills,
    list_laws,
    read_reached,
    split_deviations,
)
from operation_sections import (
    format_command,
    format_deviation,
    format_faults,
    format_general_law,
    format_law,
    link_to_law,
)
from proofs import read_equation

from spec_tests.deviations import Deviation
from spec_tests.specification.registry import gradients, operations, specification
from spec_tests.trials.invariant import KINDS as CLAIMS

FOLDER = Path(__file__).parent.parent / "operations"
JUDGED = CLAIMS | {"B": "bound"}  # the words of a narrow column
SHARED = {"every_operation": operations, "every_gradient": gradients}  # the pages of the laws that many have, and who has them


def format_page(operation: str) -> str:
    return "\n".join(_format_lines(operation)) + "\n"


def _format_lines(operation: str) -> Iterator[str]:
    special, shared = split_deviations(operation)
    yield from _format_top(operation)
    yield from _format_reached(operation)
    yield from _format_most_reported(find_most_reported(operation), special)
    yield from _format_law_table(operation)
    yield from _format_code(operation)
    yield from _format_bound(operation)
    yield from _format_proofs(operation)
    if special:
        yield from ("## What goes wrong", "", f"The catalogue has {_count(special, 'bug')} of this operation.", "")
        yield from ("Each is a backend, which `--backend=deviation:NAME` runs, and names the laws that must catch it.", "")
        yield from (fold("all of them: the code, and the laws that catch each"), "")
        yield from (f"```{{picture}} kill_matrix {operation}", "```", "")
    for deviation in special:
        yield from format_deviation(deviation, operation)
    if shared:
        yield from format_faults(shared, operation)


def _format_proofs(operation: str) -> Iterator[str]:
    caught, laws = list_kills(operation), list_laws(operation)
    own = [law for law in laws if not law.is_general]
    shared = "every_gradient" if specification(operation).is_gradient else "every_operation"
    yield from ("## Why the laws hold", "")
    shared_laws = f"[laws of {shared.replace('_', ' ')}]({shared}.md)"
    yield from (f"{len(laws) - len(own)} of the {len(laws)} laws are {shared_laws}.", "")
    if own:
        yield from (fold(f"the {_count(own, 'law')} of {operation} alone: the proof, the source, the bugs that each catches"), "")
    for law in own:
        yield from format_law(law, operation, caught.get(law.id_for(operation), []))


# --- the top of the page ----------------------------------------------------------------------------------------------


def _format_top(operation: str) -> Iterator[str]:
    spec = specification(operation)
    yield from ("---", "tocdepth: 2", "---", "")  # a table of contents with all laws would be copied into every page
    yield from (f"# {operation}", "", escape_markdown(first_sentence(operation)), "")
    yield from ("```python", format_signature(operation), "```", "")
    yield from (r"The cotangent is $c=\partial L/\partial y$.", "") * spec.is_gradient
    yield from (read_equation(operation), "")
    docstring = inspect.getdoc(spec.reference) or ""
    for section in AT_THE_TOP:
        if text := find_section(docstring, section):
            yield from (f"**{section}.**", "", "```text", text, "```", "")
    gradient = f"{operation}_vjp"
    also = f" Its gradient is [`{gradient}`]({gradient}.md)." if gradient in gradients() else ""
    of = f" It is the gradient of [`{spec.forward}`]({spec.forward}.md)." if spec.is_gradient else ""
    yield from (f"The loosest [precision class](../glossary.md) that passes by default is `{spec.precision}`.{also}{of}", "")


def format_signature(operation: str) -> str:
    """Return the signature of an operation, without annotations, in lines of at most 100 characters."""
    function = specification(operation).reference
    parameters = [p.replace(annotation=p.empty) for p in inspect.signature(function).parameters.values()]
    signature = inspect.Signature(parameters)
    line = f"{operation}{signature}"
    if len(line) <= 100:
        return line
    inside = str(signature)[1:-1].split(", ")
    return "\n".join([f"{operation}(", *(f"    {part}," for part in inside), ")"])


def _format_law_table(operation: str) -> Iterator[str]:
    caught = list_kills(operation)
    laws = list_laws(operation)
    words = ["*bound*: within the derived [error bound](../bounds.md)"] * any(law.kind == "B" for law in laws)
    words += ["*[level](../glossary.md)*: fails a run only if required"] * any(law.level for law in laws)
    yield from ("## What must hold", "", "The numbers are the bugs of the catalogue that each law catches.", "")
    yield from ("| law | what it says | judged | bugs |", "|---|---|---|---:|")
    for law in laws:
        name = law.id_for(operation)
        judged = JUDGED[law.kind] + ", level" * bool(law.level)
        yield f"| {link_to_law(law)} | {join_lines(law.statement)} | {judged} | {len(caught.get(name, ()))} |"
    yield from ("", *(f"{word}.  " for word in words), "")


def _format_reached(operation: str) -> Iterator[str]:
    results = "../gradients.md" if specification(operation).is_gradient else "../conformance.md"
    reached = read_reached(operation)
    yield from ("## Who conforms", "")
    if not (reached.conforming or reached.deviating):
        yield from (f"The [measured results]({results}) of the backends that ship do not have this operation yet.", "")
        return
    conforming = [f"`{name}`" for name in reached.conforming]
    deviating = [_describe_deviating(name, operation, broken) for name, broken in reached.deviating.items()]
    yield from (f"The [measured results]({results}) of the backends that ship, each in the dtypes that it takes:", "")
    yield f"- conform: {', '.join(conforming) or 'none'}"
    yield f"- deviate: {', '.join(deviating) or 'none'}"
    yield from (f"- do not have it: {_count(reached.without, 'other backend')}",) * bool(reached.without)
    yield ""


def _describe_deviating(backend: str, operation: str, broken: dict[str, list[str]]) -> str:
    """Return a backend with the dtypes in which it deviates, each a link to the finding that explains it."""
    dtypes = []
    for dtype, laws in broken.items():
        link = find_link(backend, operation, dtype, {"broken": laws}).replace(".html#", ".md#")
        dtypes.append(f"[{dtype}](../{link})" if link else dtype)
    return f"`{backend}` in {', '.join(dtypes)}"


def _format_most_reported(bug: Deviation | None, special: Sequence[Deviation]) -> Iterator[str]:
    yield from ("## The most common bug", "")
    if bug is None:
        yield from ("The catalogue knows no public thread about a bug of this operation.", "")
        return
    target = bug.id if bug in special else f"{bug.operation}-faults"
    threads = ", ".join(f"[{number}]({address})" for number, address in enumerate(bug.seen, 1))
    yield from (f"[{bug.name}](#{make_label(target)}): {escape_markdown(bug.what)}.", "")
    yield from (f"The catalogue cites {_count(bug.seen, 'public thread')} about it: {threads}.", "")
    yield from ("```text", format_command(bug.id, bug.operation), "```", "")


def _count(things: Any, noun: str) -> str:
    return f"{len(things)} {noun}{'s' * (len(things) != 1)}"


# --- what is folded ---------------------------------------------------------------------------------------------------


def _format_code(operation: str) -> Iterator[str]:
    reference = specification(operation).reference
    yield from ("## The equation in NumPy", "", "These lines, in float64, are the [oracle](../glossary.md).", "")
    yield from (fold("the code, domain, edge cases and source"), "")
    yield from ("```python", source_without_docstring(reference), "```", "")
    yield from format_docstring(inspect.cleandoc(reference.__doc__ or "").partition("\n")[2])
    yield ""


def _format_bound(operation: str) -> Iterator[str]:
    spec = specification(operation)
    yield from ("## How far off it may be", "")
    yield from ("The [error bound](../bounds.md) comes from the same lines, evaluated on numbers that carry an error.", "")
    yield from (fold("how the bound is derived, step by step"), "", keep_derivation(operation))
    reached = read_reached(operation)
    if spec.dtype not in ("bool", "int64") and (reached.conforming or reached.deviating):
        yield from ("The backends that ship use this part of it:", "")
        yield from (f"```{{picture}} shares {operation}", "```", "")


# --- all pages --------------------------------------------------------------------------------------------------------


def format_index() -> str:
    lines = [
        "# The operations",
        "",
        "What each computes, what must hold of it, and what goes wrong with it: written from what the tests run.",
        "",
    ]
    for title, (module, names) in zip(("Operations", "Gradients"), SHARED.items(), strict=True):
        laws = f"{_count(list_general_laws(module), 'law')}]({module}.md)"
        lines += [f"## {title}", "", f"[{laws} hold of many of them.", "", "| | | laws | deviations |", "|---|---|---|---|"]
        for name in names():
            counts = f"{len(list_laws(name))} | {sum(map(len, split_deviations(name)))}"
            lines.append(f"| [`{name}`]({name}.md) | {escape_markdown(first_sentence(name))} | {counts} |")
        lines += ["", "```{toctree}", ":hidden:", "", module, *names(), "```", ""]
    return "\n".join(lines)


def format_general_page(module: str) -> str:
    """Return the page with the laws of every operation, or with those of every gradient."""
    title = f"The laws of {module.replace('_', ' ')}"
    lines = ["---", "tocdepth: 2", "---", "", f"# {title}", "", "## Why they hold", ""]
    for law in list_general_laws(module):
        lines += format_general_law(law, SHARED[module]())
    return "\n".join(lines) + "\n"


def write_pages(*_: Any) -> None:
    """Write the pages whose text has changed, so that Sphinx reads only these again, and delete pages without an operation."""
    FOLDER.mkdir(exist_ok=True)
    pages = {"index": format_index(), **{name: format_page(name) for name in (*operations(), *gradients())}}
    pages |= {name: format_general_page(name) for name in SHARED}
    for path in FOLDER.glob("*.md"):
        if path.stem not in pages:
            path.unlink()
    for name, text in pages.items():
        path = FOLDER / f"{name}.md"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def link_to_pages(_: Any, page: str, source: list[str]) -> None:
    """Let links to the equations lead to the operations' pages. In a checkout, which has no such pages, they lead to the code."""
    folder = "../" * page.count("/") + "operations"
    text = re.sub(r"\]\((?:\.\./)+reference_numpy/(\w+)\.py\)", rf"]({folder}/\1.md)", source[0])
    source[0] = re.sub(r"\]\((?:\.\./)+reference_numpy/\)", f"]({folder}/index.md)", text)


def setup(app: Any) -> dict[str, bool]:
    app.connect("builder-inited", write_pages)
    app.connect("source-read", link_to_pages)
    return {"parallel_read_safe": True}
