"""The prose has none of the phrases that docs/vocabulary.txt bans, and the changelog is a list that a user can scan."""

import re
from pathlib import Path
from types import ModuleType

import pytest

from ..support.docs_scripts import import_script
from ..support.paths import ROOT

CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
RIDDLES = (  # sentences of earlier versions
    "97.1% and 100.0%, at 0.60 and 0.69 in a CPU second",
    "the suite shows on which few numbers one can see it",
    "Bounds that derive themselves",
    "Of each set every so manieth is taken.",
    "Of a kernel or a loop that they cannot differentiate some frameworks say so.",
    "A call that is late is told so.",
    "a table of what becomes of dishonest backends",
    "where two sides have the same bits, nobody asks",
)


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """Return docs/vocabulary.py as a module."""
    return import_script("vocabulary")


def test_the_prose_has_no_banned_phrase(script: ModuleType) -> None:
    assert script.complaints() == []


@pytest.mark.parametrize("riddle", RIDDLES)
def test_the_phrases_that_stopped_readers_are_banned(riddle: str, script: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(f"# Title\n\n{riddle}\n")
    assert {line.partition(": ")[0] for line in script.complaints(tmp_path)} == {"README.md:3"}


def test_code_is_not_prose(script: ModuleType, tmp_path: Path) -> None:
    riddle = RIDDLES[2]
    (tmp_path / "README.md").write_text(f"`{riddle}`\n\n```python\n{riddle}\n```\n\n    {riddle}\n\n{riddle}\n")
    assert [line.partition(": ")[0] for line in script.complaints(tmp_path)] == ["README.md:9"]


def test_help_and_docstrings_of_laws_are_prose(script: ModuleType, tmp_path: Path) -> None:
    files = [tmp_path / "spec_tests" / "running" / "options.py", tmp_path / "spec_tests" / "test_relu.py"]
    files[0].parent.mkdir(parents=True)
    files[0].write_text(f'add("--shapes", help="{RIDDLES[2]}")\n')
    files[1].write_text(f'def law():\n    """First.\n\n    {RIDDLES[2]}\n    """\n')
    assert [line.partition(": ")[0] for line in script.complaints(tmp_path)] == [
        "spec_tests/running/options.py:1",
        "spec_tests/test_relu.py:4",
    ]


def test_the_files_that_are_checked_exist(script: ModuleType) -> None:
    files = {file for file, *_ in script.prose(ROOT)}
    assert {"README.md", "CHANGELOG.md", "docs/bounds.md", "docs/guides/ci.md", "spec_tests/running/options.py"} <= files
    assert len(files) > 100


def test_no_advice_is_itself_banned(script: ModuleType) -> None:
    phrases = script.banned(script.VOCABULARY.read_text(encoding="utf-8"))
    assert len(phrases) > 10
    assert all(advice for _, advice in phrases)
    assert [advice for _, advice in phrases if any(phrase.search(advice) for phrase, _ in phrases)] == []


def test_the_changelog_can_be_scanned() -> None:
    versions = CHANGELOG.split("\n## ")[1:]
    for version in versions:
        assert re.findall(r"^### (.+)$", version, re.MULTILINE) == ["Added", "Changed", "Fixed", "Found in libraries"]
    body = CHANGELOG.partition("\n## ")[2].splitlines()[1:]
    assert [line for line in body if line and not re.match(r"- \S|### |[A-Z]", line)] == [], "an entry is one line"
    assert [line for line in body if len(line) > 160] == []


# --- proselint --------------------------------------------------------------------------------------------------------


@pytest.fixture
def prose(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return docs/prose.py as a module, which imports docs/vocabulary.py."""
    pytest.importorskip("proselint")
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    return import_script("prose")


def test_proselint_has_no_complaint(prose: ModuleType) -> None:
    assert prose.complaints() == []


def test_proselint_sees_prose_and_no_code(prose: ModuleType, tmp_path: Path) -> None:
    bad = "It is very unique"
    (tmp_path / "page.md").write_text(f"# Title\n\n`{bad}`\n\n    {bad}\n\n```\n{bad}\n```\n\n{bad} indeed.\n")
    found = prose.complaints(tmp_path)
    assert found
    assert [line for line in found if not line.startswith("page.md:11:")] == []
