"""A Sphinx extension that writes a page for each operation and each gradient from the code that the tests run.

A page shows the equation and its docstring (reference_numpy), the invariants (spec_tests/test_<operation>.py), why they hold
(docs/proofs/<operation>.md), how the error bound is derived, the deviations (spec_tests/deviations/<operation>.py), and which
invariant catches which deviation (docs/measured/kill_matrix.json, and the decorators of the deviations).
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from derivation import describe_derivation
from proofs import read_equation, read_proof

from spec_tests.deviations import KINDS, Deviation, deviations_of
from spec_tests.specification.formats import DTYPES
from spec_tests.specification.registry import gradients, operations, specification
from spec_tests.trials.collection import invariants
from spec_tests.trials.invariant import KINDS as CLAIMS
from spec_tests.trials.invariant import Invariant
from spec_tests.trials.trial import GENERAL

HERE = Path(__file__).parent.parent
FOLDER, MEASURED = HERE / "operations", HERE / "measured"
MATRIX = MEASURED / "kill_matrix.json"
SHARED_FAULTS = "every_operation"  # how the names of the files with faults of every operation begin
EARLY_EXAMPLES = 3  # an invariant that needs fewer examples shows the bug at once

Kills = dict[str, list[str]]  # invariant: the deviations that it catches


# --- what the code says of an operation -------------------------------------------------------------------------------


def list_laws(operation: str) -> list[Invariant]:
    """Return the invariants of the operation's own file, then those of every operation."""
    kind = "gradient" if operation in gradients() else "operation"
    every = [test.invariant for test in invariants()]
    general = [law for law in every if law.operations[0] == kind and law.applies_to(operation)]
    return [law for law in every if law.module == operation and law.operations[0] not in GENERAL] + general


def split_deviations(operation: str) -> tuple[list[Deviation], list[Deviation]]:
    """Return the operation's own deviations, and the faults that it shares with every operation."""
    found = deviations_of(operation)
    shared = [bug for bug in found if bug.function.__module__.rpartition(".")[2].startswith(SHARED_FAULTS)]
    return [bug for bug in found if bug not in shared], shared


@cache
def read_matrix() -> dict[str, dict[str, int]]:
    """Return, for each deviation, the invariants that caught it and the examples they needed in the dtype that needs most."""
    if not MATRIX.exists():
        return {}
    rows = json.loads(MATRIX.read_text())
    return {
        row["id"]: {law: max(by_dtype.values()) for law, by_dtype in (row["caught"] | row.get("levels", {})).items()}
        for row in rows
    }


def has_measured_shares(operation: str) -> bool:
    """Whether the measured results have this operation, for some backend."""
    results = json.loads((MEASURED / ("gradients.json" if operation in gradients() else "conformance.json")).read_text())
    return any(any(entry.get("cells", {}).get(operation, {}).values()) for entry in results.values())


def list_kills(operation: str) -> Kills:
    found: Kills = defaultdict(list)
    for deviation in deviations_of(operation):
        for law in sorted({*read_matrix().get(deviation.id, ()), *deviation.caught_by}):
            found[law].append(deviation.id)
    return found


# --- the page of an operation -----------------------------------------------------------------------------------------


def format_page(operation: str) -> str:
    return "\n".join(_format_lines(operation)) + "\n"


def _format_lines(operation: str) -> Iterator[str]:
    spec, caught = specification(operation), list_kills(operation)
    special, shared = split_deviations(operation)
    yield from (f"# {operation}", "", escape_markdown(first_sentence(operation)), "")
    yield from (r"The cotangent is $c=\partial L/\partial y$.", "") * spec.is_gradient
    docstring = inspect.cleandoc(spec.reference.__doc__ or "")
    yield from (read_equation(operation), "", *format_docstring(docstring.partition("\n")[2]), "")
    yield from (
        "The oracle is these lines of NumPy, in float64; the bounds are the same lines on numbers that know their error.",
        "",
    )
    yield from ("```python", source_without_docstring(spec.reference), "```", "")
    gradient = f"{operation}_vjp"
    also = f" Its gradient is [`{gradient}`]({gradient}.md)." if gradient in gradients() else ""
    of = f" It is the gradient of [`{spec.forward}`]({spec.forward}.md)." if spec.is_gradient else ""
    yield from (f"The loosest precision class that passes by default is `{spec.precision}`.{also}{of}", "")
    yield from ("## How far off it may be", "", *describe_derivation(operation))
    if spec.dtype not in ("bool", "int64"):
        results = "../gradients.md" if spec.is_gradient else "../conformance.md"
        if has_measured_shares(operation):
            yield from (f"The backends [that ship]({results}) use this part of it:", "")
            yield from (f"```{{picture}} shares {operation}", "```", "")
        else:
            yield from (f"The [measured results]({results}) of the backends that ship do not have this operation yet.", "")
    yield from ("## What must hold", "")
    for law in list_laws(operation):
        yield from _format_law(law, operation, caught.get(law.id_for(operation), []))
    if special:
        yield from ("## What goes wrong", "", "Each of these is a backend, and caught by the invariants that it names.", "")
        yield from (f"```{{picture}} kill_matrix {operation}", "```", "")
    for deviation in special:
        yield from _format_deviation(deviation, operation)
    if shared:
        yield from (f"({_make_label(f'{operation}-faults')})=", "", "## Faults that strike every operation", "")
        yield from ("The right equation in code that mishandles memory, state or shapes; each is a backend too.", "")
        yield from (f"- `{fault.id}`: {escape_markdown(fault.what)}" for fault in shared)
        yield ""


def first_sentence(operation: str) -> str:
    """Return the first line of the reference's docstring as a sentence, without the part that introduces the equation."""
    first = inspect.cleandoc(specification(operation).reference.__doc__ or "").partition("\n")[0]
    return first if first.endswith(".") else f"{first.partition(':')[0]}."


def format_docstring(text: str) -> Iterator[str]:
    """Yield, in Markdown, the sections and examples of a reference's docstring, given without its first line."""
    _, *sections = re.split(r"^(?=[A-Z][a-z]+\n    )", text.strip("\n"), flags=re.MULTILINE)
    for section in sections:
        title, _, content = section.partition("\n")
        inside = re.match(r"(?:    [^\n]*\n?|\n)*", content)[0]  # type: ignore[index]
        outside, inside = content[len(inside) :], textwrap.dedent(inside).strip()
        whole = (
            ("**Shapes.**", "", "```text", inside, "```")
            if title == "Shapes"
            else (f"**{title}.** {escape_markdown(' '.join(inside.split()))}",)
        )
        yield from (*whole, "")
        for paragraph in filter(None, re.split(r"\n\n+", outside.strip())):
            example = paragraph.startswith(">>>")
            yield from (("```pycon", paragraph, "```", "") if example else (escape_markdown(" ".join(paragraph.split())), ""))


def _format_law(law: Invariant, operation: str, caught: list[str]) -> Iterator[str]:
    name = law.id_for(operation)
    yield from (
        f"({_make_label(name)})=",
        "",
        f"### {name.partition('.')[2]}",
        "",
        escape_markdown(" ".join(law.statement.split())),
        "",
    )
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
    links = [f"[{bug.partition('/')[2]}](#{_make_label(bug)})" for bug in special]
    links += [f"{others} [faults](#{_make_label(f'{operation}-faults')})"] * bool(others)
    if links:
        yield from (f"Catches {', '.join(links)}.", "")
        yield from ("```text", format_command(_choose_deviation(special or caught, name), name), "```", "")


def _format_deviation(deviation: Deviation, operation: str) -> Iterator[str]:
    paragraphs = inspect.cleandoc(deviation.function.__doc__ or "").split("\n\n")
    yield from (f"({_make_label(deviation.id)})=", "", f"### {deviation.name}", "")
    for paragraph in paragraphs:
        yield from (_capitalize(escape_markdown(" ".join(paragraph.split()))), "")
    where = f"; it shows in {', '.join(deviation.dtypes)}" if deviation.dtypes != DTYPES else ""
    seen = f"; seen in {', '.join(map(escape_markdown, deviation.seen))}" if deviation.seen else ""
    yield from (f"*{deviation.kind}*: {KINDS[deviation.kind]}{where}{seen}.", "")
    known = {law.id_for(operation) for law in list_laws(operation)}
    caught = sorted({*read_matrix().get(deviation.id, ()), *deviation.caught_by})
    yield from (f"Caught by {', '.join(_link_to(name) if name in known else f'`{name}`' for name in caught)}.", "")
    yield from ("```python", source_without_docstring(deviation.function), "```", "")
    yield from ("```text", format_command(deviation.id, operation), "```", "")


def format_command(deviation: str, selection: str) -> str:
    """Return a command that runs a wrong implementation and fails."""
    return f"pytest --pyargs spec_tests --backend=deviation:{deviation} -k {selection}"


def _choose_deviation(deviations: list[str], law: str) -> str:
    """Choose the deviation that the fewest other invariants catch, preferably one that the law catches at once."""

    def order(deviation: str) -> tuple[bool, int, str]:
        caught = read_matrix().get(deviation, {})
        return caught.get(law, EARLY_EXAMPLES) >= EARLY_EXAMPLES, len(caught), deviation

    return min(deviations, key=order)


def _link_to(name: str) -> str:
    return f"[{name.partition('.')[2]}](#{_make_label(name)})"


def _make_label(name: str) -> str:
    return re.sub(r"[^a-z0-9_]+", "-", name)


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]


def escape_markdown(text: str) -> str:
    """Escape plain text for Markdown."""
    return re.sub(r"([\\`*_{}\[\]<>#|~$])", r"\\\1", text)


def source_without_docstring(function: Callable[..., Any]) -> str:
    """Return the lines of a function without its docstring and its decorators."""
    source = textwrap.dedent(inspect.getsource(function))
    (node,) = ast.parse(source).body
    assert isinstance(node, ast.FunctionDef)
    lines, first = source.splitlines(), node.body[0]
    start = first.end_lineno if ast.get_docstring(node) and first.end_lineno else first.lineno - 1
    head = lines[node.lineno - 1 : first.lineno - 1]
    return "\n".join([*head, *lines[start:]])


# --- all pages --------------------------------------------------------------------------------------------------------


def format_index() -> str:
    lines = [
        "# The operations",
        "",
        "What each computes, what must hold of it, and what goes wrong with it: written from what the tests run.",
        "",
    ]
    for title, names in (("Operations", operations()), ("Gradients", gradients())):
        lines += [f"## {title}", "", "| | | invariants | deviations |", "|---|---|---|---|"]
        for name in names:
            counts = f"{len(list_laws(name))} | {sum(map(len, split_deviations(name)))}"
            lines.append(f"| [`{name}`]({name}.md) | {escape_markdown(first_sentence(name))} | {counts} |")
        lines += ["", "```{toctree}", ":hidden:", "", *names, "```", ""]
    return "\n".join(lines)


def write_pages(*_: Any) -> None:
    """Write the pages whose text has changed, so that Sphinx reads only these again, and delete pages without an operation."""
    FOLDER.mkdir(exist_ok=True)
    pages = {"index": format_index(), **{name: format_page(name) for name in (*operations(), *gradients())}}
    for path in FOLDER.glob("*.md"):
        if path.stem not in pages:
            path.unlink()
    for name, text in pages.items():
        path = FOLDER / f"{name}.md"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def setup(app: Any) -> dict[str, bool]:
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True}
