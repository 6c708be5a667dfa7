"""Test that the operations' pages agree with the tests, and that their commands work."""

import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from spec_tests.deviations import deviations_of
from spec_tests.specification.registry import gradients, operations

from ..support.in_process import invariants
from ..support.pytest_process import suite
from ..support.sphinx_extensions import import_extension

EVERY = (*operations(), *gradients())

FACTS, PAGES, PROOFS = (import_extension(name) for name in ("operation_facts", "operation_pages", "proofs"))


@pytest.mark.rotating(one_in=4)
@pytest.mark.parametrize("operation", EVERY)
def test_a_page_has_every_law_and_every_deviation_of_its_operation(operation: str) -> None:
    text = PAGES.format_page(operation)
    headings = re.findall(r"^### (.*)$", text, re.MULTILINE)
    laws = FACTS.list_laws(operation)
    own = [law.id.partition(".")[2] for law in laws if not law.is_general]
    special, shared = FACTS.split_deviations(operation)
    assert headings == [*own, *(deviation.name for deviation in special)]
    assert len(re.findall(r"^\| \[\w+\]\(every_(?:operation|gradient)\.md#", text, re.MULTILINE)) == len(laws) - len(own)
    assert {deviation.id for deviation in deviations_of(operation)} == {deviation.id for deviation in (*special, *shared)}
    assert all(f"- `{deviation.id}`: " in text for deviation in shared)
    targets = re.findall(r"^\((.*)\)=$", text, re.MULTILINE)
    assert len(set(targets)) == len(targets)
    assert set(re.findall(r"\]\(#([^)]*)\)", text)) <= set(targets)


@pytest.mark.parametrize("module", ["every_operation", "every_gradient"])
def test_the_laws_that_many_have_are_proven_on_one_page(module: str) -> None:
    text = PAGES.format_general_page(module)
    laws = [test.invariant for test in invariants() if test.invariant.module == module]
    assert sorted(re.findall(r"^### (.*)$", text, re.MULTILINE)) == sorted(law.id.partition(".")[2] for law in laws)
    assert all(PROOFS.read_proof(law) in text for law in laws)
    links = {
        link for name in PAGES.SHARED[module]() for link in re.findall(rf"\({module}\.md#([^)]*)\)", PAGES.format_page(name))
    }
    assert links == set(re.findall(r"^\((.*)\)=$", text, re.MULTILINE))


def test_a_page_begins_with_a_sentence() -> None:
    assert [op for op in EVERY if not FACTS.first_sentence(op).endswith(".")] == []
    assert FACTS.first_sentence("rms_norm_vjp") == "Gradients of rms_norm."


def test_the_pages_have_every_invariant() -> None:
    on_pages = {law.id for operation in EVERY for law in FACTS.list_laws(operation)}
    assert on_pages == {test.invariant.id for test in invariants()}


def test_every_law_has_a_proof_and_every_proof_a_law() -> None:
    laws = {(test.invariant.module, test.invariant.id.partition(".")[2]) for test in invariants()}
    assert PROOFS.list_proven_laws() == laws
    assert all(PROOFS.read_equation(operation) for operation in EVERY)


def test_a_missing_proof_is_an_error() -> None:
    law = replace(invariants()[0].invariant, id="relu.is_new", module="relu")
    with pytest.raises(LookupError, match=r"docs/proofs/relu\.md does not say why relu\.is_new holds: add a section «## is_new»"):
        PROOFS.read_proof(law)


def test_a_page_links_laws_and_deviations() -> None:
    page = PAGES.format_page("rms_norm")
    law = page[page.index("### eps_is_inside_the_root") :].partition("\n### ")[0]
    assert "[eps-outside-sqrt](#rms_norm-eps-outside-sqrt)" in law
    wrong = page[page.index("### eps-outside-sqrt") :].partition("\n### ")[0]
    assert "[eps_is_inside_the_root](#rms_norm-eps_is_inside_the_root)" in wrong
    assert "Epsilon stands outside the square root: x / (sqrt(mean(x²)) + eps)." in wrong
    assert "```python\ndef eps_outside_sqrt(" in wrong


def test_a_page_shows_the_kills_of_the_matrix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (file := tmp_path / "kill_matrix.json").write_text(
        '[{"id": "rms_norm/eps-outside-sqrt", "caught": {"rms_norm.odd": {"float32": 1}}, "levels": {}}]'
    )
    monkeypatch.setattr(FACTS, "MATRIX", file)
    FACTS.read_matrix.cache_clear()
    try:
        page = PAGES.format_page("rms_norm")
    finally:
        FACTS.read_matrix.cache_clear()
    assert "[eps-outside-sqrt]" in page[page.index("### odd") :].partition("\n### ")[0]


def test_the_top_of_a_page_says_signature_conformance_the_common_bug_and_every_law() -> None:
    top = PAGES.format_page("rms_norm").partition("## The equation in NumPy")[0]
    assert "```python\nrms_norm(x, weight, *, eps)\n```" in top
    conform = next(line for line in top.splitlines() if line.startswith("- conform:"))
    assert "`torch-cpu`" in conform
    reported = max(deviations_of("rms_norm"), key=lambda bug: len(bug.seen))
    assert f"[{reported.name}](#" in top.partition("## The most common bug")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| \[(\w+)\]\([\w.]*#", top, re.MULTILINE)
    assert rows == [law.id_for("rms_norm").partition(".")[2] for law in FACTS.list_laws("rms_norm")]


def test_the_top_of_a_page_links_deviations_of_backends_to_their_findings() -> None:
    (operation, backend), *_ = (
        (operation, backend) for operation in operations() for backend in FACTS.read_reached(operation).deviating
    )
    deviating = re.findall(r"^- deviate: (.*)$", PAGES.format_page(operation), re.MULTILINE)[0]
    assert re.search(rf"`{backend}` in \[\w+\]\(\.\./findings/\w+\.md#", deviating)


def test_a_backend_conforms_deviates_or_lacks_an_operation(monkeypatch: pytest.MonkeyPatch) -> None:
    right, wrong = {"class": "fused", "broken": []}, {"class": None, "broken": ["odd"]}
    cells = {
        "right": {"float32": right},
        "half": {"float32": right, "float16": wrong},
        "unclaimed": {"float32": right | {"class": None}},
    }
    results = {name: {"cells": {"relu": by_dtype}} for name, by_dtype in cells.items()} | {"none": {"cells": {}}}
    monkeypatch.setattr(FACTS, "_read_results", lambda of_gradients: results)
    reached = FACTS.read_reached("relu")
    assert reached.conforming == {"right": ["float32"]}
    assert reached.deviating == {"half": {"float16": ["odd"]}}
    assert reached.without == ["none", "unclaimed"]


@pytest.mark.rotating
@pytest.mark.parametrize("section", ["a bug", "a law", "a deviation"])
def test_the_command_for_a_wrong_implementation_fails(section: str, tmp_path: Path) -> None:
    titles = {"a bug": "## The most common bug", "a law": "## Why the laws hold", "a deviation": "## What goes wrong"}
    part = PAGES.format_page("relu").partition(titles[section])[2]
    command = re.findall(r"^pytest --pyargs spec_tests (--backend=deviation:.*)$", part, re.MULTILINE)[0]
    run = suite(tmp_path, *shlex.split(command), "--effort=default", "--hypothesis-seed=1")
    assert run.code == 1
    assert run.count("failed")


def test_prose_is_escaped() -> None:
    assert import_extension("markdown_text").escape_markdown("a_b * c <d> `e` [f](g) | h") == r"a\_b \* c \<d\> `e` \[f\](g) \| h"
