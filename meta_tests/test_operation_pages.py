"""The pages of the operations say what the tests run, and what they say can be run."""

import importlib.util
import re
import shlex
from pathlib import Path
from types import ModuleType

import pytest

from spec_tests.deviation import own
from spec_tests.specification import gradients, operations

from .commanding import ROOT, suite
from .running import invariants

EVERY = (*operations(), *gradients())


def extension() -> ModuleType:
    spec = importlib.util.spec_from_file_location("operation_pages", ROOT / "docs" / "_extensions" / "operation_pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PAGES = extension()


@pytest.mark.parametrize("operation", EVERY)
def test_a_page_has_every_law_and_every_deviation_of_its_operation(operation: str) -> None:
    text = PAGES.page(operation)
    headings = re.findall(r"^### (.*)$", text, re.MULTILINE)
    laws = [one.of(operation).partition(".")[2] for one in PAGES.laws(operation)]
    special, shared = PAGES.deviations(operation)
    assert headings == [*laws, *(one.name for one in special)]
    assert {one.id for one in own(operation)} == {one.id for one in (*special, *shared)}
    assert all(f"- `{one.id}`: " in text for one in shared)
    targets = re.findall(r"^\((.*)\)=$", text, re.MULTILINE)
    assert len(set(targets)) == len(targets)
    assert set(re.findall(r"\]\(#([^)]*)\)", text)) <= set(targets)


def test_the_pages_have_every_invariant() -> None:
    shown = {law.id for operation in EVERY for law in PAGES.laws(operation)}
    assert shown == {test.invariant.id for test in invariants()}


def test_a_page_says_what_catches_what() -> None:
    page = PAGES.page("rms_norm")
    law = page[page.index("### eps_is_inside_the_root") :].partition("\n### ")[0]
    assert "[eps-outside-sqrt](#rms_norm-eps-outside-sqrt)" in law
    wrong = page[page.index("### eps-outside-sqrt") :].partition("\n### ")[0]
    assert "[eps_is_inside_the_root](#rms_norm-eps_is_inside_the_root)" in wrong
    assert "Epsilon stands outside the square root: x / (sqrt(mean(x²)) + eps)." in wrong
    assert "```python\ndef eps_outside_sqrt(" in wrong


def test_what_a_matrix_has_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (file := tmp_path / "kill_matrix.json").write_text(
        '[{"id": "rms_norm/eps-outside-sqrt", "caught": {"rms_norm.odd": {"float32": 1}}, "levels": {}}]'
    )
    pages = extension()
    monkeypatch.setattr(pages, "MATRIX", file)
    page = pages.page("rms_norm")
    assert "[eps-outside-sqrt]" in page[page.index("### odd") :].partition("\n### ")[0]


def test_a_deviation_s_command_shows_it(tmp_path: Path) -> None:
    page = PAGES.page("relu")
    command = re.findall(r"^pytest --pyargs spec_tests (--backend=deviation:.*)$", page, re.MULTILINE)[0]
    run = suite(tmp_path, *shlex.split(command), "--hypothesis-seed=1")
    assert run.code == 1
    assert run.count("failed")


def test_prose_is_no_markup() -> None:
    assert PAGES.prose("a_b * c <d> `e` [f](g) | h") == r"a\_b \* c \<d\> \`e\` \[f\](g) \| h"
