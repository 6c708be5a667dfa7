"""A Sphinx extension: a page for each operation and each gradient, written from what the tests run.

The equation and its docstring (reference_numpy), the invariants and theirs (spec_tests/test_<operation>.py), why they hold
(docs/proofs/<operation>.md), how the bound derives itself, the deviations and theirs (spec_tests/deviations/<operation>.py), and
which catches which: docs/measured/kill_matrix.json, and what the deviations state.
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

from derivation import derived
from proofs import equation, why

from spec_tests.deviations import KINDS, Deviation, deviations_of
from spec_tests.specification.formats import DTYPES
from spec_tests.specification.registry import gradients, operations, specification
from spec_tests.trials.collection import invariants
from spec_tests.trials.invariant import KINDS as CLAIMS
from spec_tests.trials.invariant import Invariant
from spec_tests.trials.trial import GENERAL

HERE = Path(__file__).parent.parent
FOLDER, MATRIX = HERE / "operations", HERE / "measured" / "kill_matrix.json"
SHARED = "every_operation"  # the files of faults that strike in the same way everywhere

SOON = 3  # examples

Kills = dict[str, list[str]]  # an invariant, and the deviations that it catches


# --- what is known of an operation --------------------------------------------------------------------------------------


def laws(operation: str) -> list[Invariant]:
    """Those of the operation alone; of several operations with it; of every operation."""
    kind = "gradient" if operation in gradients() else "operation"
    described = [test.invariant for test in invariants()]
    fitting = [one for one in described if one.operations[0] == kind and one.applies_to(operation)]
    return [one for one in described if one.module == operation and one.operations[0] not in GENERAL] + fitting


def deviations(operation: str) -> tuple[list[Deviation], list[Deviation]]:
    """Its own, and the faults that strike every operation."""
    found = deviations_of(operation)
    shared = [one for one in found if one.function.__module__.rpartition(".")[2].startswith(SHARED)]
    return [one for one in found if one not in shared], shared


@cache
def matrix() -> dict[str, dict[str, int]]:
    """Of each deviation the invariants that were seen to catch it, and after how many examples in the dtype that takes most."""
    if not MATRIX.exists():
        return {}
    rows = json.loads(MATRIX.read_text())
    return {row["id"]: {law: max(of.values()) for law, of in (row["caught"] | row.get("levels", {})).items()} for row in rows}


def kills(operation: str) -> Kills:
    found: Kills = defaultdict(list)
    for one in deviations_of(operation):
        for law in sorted({*matrix().get(one.id, ()), *one.caught_by}):
            found[law].append(one.id)
    return found


# --- its page ---------------------------------------------------------------------------------------------------------------


def page(operation: str) -> str:
    return "\n".join(_lines(operation)) + "\n"


def _lines(operation: str) -> Iterator[str]:
    spec, caught = specification(operation), kills(operation)
    special, shared = deviations(operation)
    yield from (f"# {operation}", "", prose(headline(operation)), "")
    yield from (r"The cotangent is $c=\partial L/\partial y$.", "") * spec.is_gradient
    yield from (equation(operation), "", *documented(inspect.cleandoc(spec.reference.__doc__ or "").partition("\n")[2]), "")
    yield from (
        "The oracle is these lines of NumPy, in float64; the bounds are the same lines on numbers that know their error.",
        "",
    )
    yield from ("```python", body(spec.reference), "```", "")
    others = [f"`{name}`" for name in (f"{operation}_vjp",) if name in gradients()]
    also = f" Its gradient is [{others[0]}]({operation}_vjp.md)." if others else ""
    of = f" It is the gradient of [`{spec.forward}`]({spec.forward}.md)." if spec.is_gradient else ""
    yield from (f"The loosest precision class that passes by default is `{spec.precision}`.{also}{of}", "")
    yield from ("## How far off it may be", "", *derived(operation))
    if spec.dtype not in ("bool", "int64"):
        run = "../gradients.md" if spec.is_gradient else "../conformance.md"
        yield from (f"So much of it do the backends [that ship]({run}) use:", "", f"```{{picture}} shares {operation}", "```", "")
    yield from ("## What must hold", "")
    for law in laws(operation):
        yield from _law(law, operation, caught.get(law.of(operation), []))
    if special:
        yield from ("## What goes wrong", "", "Each of these is a backend, and caught by the invariants that it names.", "")
        yield from (f"```{{picture}} kill_matrix {operation}", "```", "")
    for one in special:
        yield from _deviation(one, operation)
    if shared:
        yield from (f"({_label(f'{operation}-faults')})=", "", "## Faults that strike every operation", "")
        yield from ("The right equation in code that mishandles memory, state or shapes; each is a backend too.", "")
        yield from (f"- `{one.id}`: {prose(one.what)}" for one in shared)
        yield ""


def headline(operation: str) -> str:
    """What a reference's docstring says first; not what only leads on to its equation."""
    first = inspect.cleandoc(specification(operation).reference.__doc__ or "").partition("\n")[0]
    return first if first.endswith(".") else f"{first.partition(':')[0]}."


def documented(text: str) -> Iterator[str]:
    """A reference's docstring below its equation: the sections, and the examples."""
    _, *sections = re.split(r"^(?=[A-Z][a-z]+\n    )", text.strip("\n"), flags=re.MULTILINE)
    for section in sections:
        title, _, content = section.partition("\n")
        inside = re.match(r"(?:    [^\n]*\n?|\n)*", content)[0]  # type: ignore[index]
        outside, inside = content[len(inside) :], textwrap.dedent(inside).strip()
        whole = (
            ("**Shapes.**", "", "```text", inside, "```")
            if title == "Shapes"
            else (f"**{title}.** {prose(' '.join(inside.split()))}",)
        )
        yield from (*whole, "")
        for paragraph in filter(None, re.split(r"\n\n+", outside.strip())):
            example = paragraph.startswith(">>>")
            yield from (("```pycon", paragraph, "```", "") if example else (prose(" ".join(paragraph.split())), ""))


def _law(law: Invariant, operation: str, caught: list[str]) -> Iterator[str]:
    name = law.of(operation)
    yield from (f"({_label(name)})=", "", f"### {name.partition('.')[2]}", "", prose(" ".join(law.statement.split())), "")
    yield from (f"*Why.* {why(law)}", "")
    claims = [
        CLAIMS[law.kind],
        prose(law.source),
        f"the level `{law.level}`, which fails a run only if required" * bool(law.level),
    ]
    yield from (f"*{claims[0]}*" + "".join(f"; {claim}" for claim in claims[1:] if claim), "")
    special = [one for one in caught if one in {each.id for each in deviations(operation)[0]}]
    others = len(caught) - len(special)
    links = [f"[{one.partition('/')[2]}](#{_label(one)})" for one in special]
    links += [f"{others} [faults](#{_label(f'{operation}-faults')})"] * bool(others)
    if links:
        yield from (f"Catches {', '.join(links)}.", "")
        yield from ("```text", command(_most_telling(special or caught, name), name), "```", "")


def _deviation(one: Deviation, operation: str) -> Iterator[str]:
    text = inspect.cleandoc(one.function.__doc__ or "").split("\n\n")
    yield from (f"({_label(one.id)})=", "", f"### {one.name}", "")
    for paragraph in text:
        yield from (_sentence(prose(" ".join(paragraph.split()))), "")
    where = f"; it shows in {', '.join(one.dtypes)}" if one.dtypes != DTYPES else ""
    seen = f"; seen in {', '.join(map(prose, one.seen))}" if one.seen else ""
    yield from (f"*{one.kind}*: {KINDS[one.kind]}{where}{seen}.", "")
    known = {law.of(operation) for law in laws(operation)}
    caught = sorted({*matrix().get(one.id, ()), *one.caught_by})
    yield from (f"Caught by {', '.join(_linked(name) if name in known else f'`{name}`' for name in caught)}.", "")
    yield from ("```python", body(one.function), "```", "")
    yield from ("```text", command(one.id, operation), "```", "")


def command(deviation: str, selection: str) -> str:
    """What runs a wrong implementation, and fails."""
    return f"pytest --pyargs spec_tests --backend=deviation:{deviation} -k {selection}"


def _most_telling(deviations: list[str], law: str) -> str:
    """The one that the fewest other invariants catch, of those that show at once."""

    def order(one: str) -> tuple[bool, int, str]:
        caught = matrix().get(one, {})
        return caught.get(law, SOON) >= SOON, len(caught), one

    return min(deviations, key=order)


def _linked(name: str) -> str:
    return f"[{name.partition('.')[2]}](#{_label(name)})"


def _label(name: str) -> str:
    return re.sub(r"[^a-z0-9_]+", "-", name)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def prose(text: str) -> str:
    """Plain text, in Markdown."""
    return re.sub(r"([\\`*_{}\[\]<>#|~$])", r"\\\1", text)


def body(function: Callable[..., Any]) -> str:
    """The lines of a function without its docstring and its decorators."""
    source = textwrap.dedent(inspect.getsource(function))
    (node,) = ast.parse(source).body
    assert isinstance(node, ast.FunctionDef)
    lines, first = source.splitlines(), node.body[0]
    start = first.end_lineno if ast.get_docstring(node) and first.end_lineno else first.lineno - 1
    head = lines[node.lineno - 1 : first.lineno - 1]
    return "\n".join([*head, *lines[start:]])


# --- all of them --------------------------------------------------------------------------------------------------------------


def index() -> str:
    listed = [
        "# The operations",
        "",
        "What each computes, what must hold of it, and what goes wrong with it: written from what the tests run.",
        "",
    ]
    for title, names in (("Operations", operations()), ("Gradients", gradients())):
        listed += [f"## {title}", "", "| | | invariants | deviations |", "|---|---|---|---|"]
        for name in names:
            counts = f"{len(laws(name))} | {sum(map(len, deviations(name)))}"
            listed.append(f"| [`{name}`]({name}.md) | {prose(headline(name))} | {counts} |")
        listed += ["", "```{toctree}", ":hidden:", "", *names, "```", ""]
    return "\n".join(listed)


def write(*_: Any) -> None:
    """Only what has changed, so that Sphinx reads no more than that again."""
    FOLDER.mkdir(exist_ok=True)
    pages = {"index": index(), **{name: page(name) for name in (*operations(), *gradients())}}
    for path in FOLDER.glob("*.md"):
        if path.stem not in pages:
            path.unlink()
    for name, text in pages.items():
        path = FOLDER / f"{name}.md"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def setup(app: Any) -> dict[str, bool]:
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True}
