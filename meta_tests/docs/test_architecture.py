"""Test that ARCHITECTURE.md, CONTRIBUTING.md and the glossary agree with the source."""

import re
from pathlib import Path
from types import ModuleType

import pytest

from ..support.docs_scripts import import_script
from ..support.paths import DOCS, ROOT

SUITE = ROOT / "spec_tests"
PAGES = [ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "RELEASING.md", "SECURITY.md")]
READMES = sorted([*SUITE.rglob("README.md"), *(ROOT / "meta_tests").rglob("README.md")])
NAMED = re.compile(r"`((?:[\w.<>*-]+/)+[\w.<>*-]*|[\w<>*-]+\.(?:py|md|toml|txt|in|cff))`")  # with a folder, or with a suffix
MADE = {"dist/", "spec_tests/backends", ".nox/nightly/"}  # by building the package, or by a session: not in a checkout
QUESTIONS = {  # the beginning of each, and a file that its answer must name
    "Where is a call's time limit set": "specification/run_settings.py",
    "Where are the input regimes": "inputs/regimes.py",
    "What decides whether an answer passes": "helpers/assertions.py",
    "Where does an error bound come from": "bounds/bounded.py",
    "Where is a deviation named": "deviations/<operation>.py",
    "How does a backend's text become an object": "implementation/lookup.py",
    "What runs in the isolated process": "processes/python_server.py",
    "Who writes `report.jsonl`": "running/recording.py",
    "Where is an option parsed": "running/options.py",
    "What must I add for a new operation": "reference_numpy/<operation>.py",
}
TERMS = {
    "backend", "operation", "reference", "oracle", "invariant", "law", "level", "trial", "example", "example row",
    "choice sequence", "call", "error bound", "precision class", "share", "regime", "mark", "deviation", "near miss", "verdict",
    "effort", "domain", "convention", "isolation", "report", "cotangent", "VJP",
}  # fmt: skip


def packages() -> ModuleType:
    """Return docs/packages.py as a module."""
    pytest.importorskip("grimp")
    return import_script("packages")


def exists(name: str, folder: Path) -> bool:
    """Whether a path exists: a file for each operation, in that of rms_norm; a backend, in that of torch_cpu."""
    for placeholder, instance in {"<operation>": "rms_norm", "<library>_<mode>": "torch_cpu"}.items():
        name = name.replace(placeholder, instance)
    return name in MADE or any(any(base.glob(name.rstrip("/"))) for base in (ROOT, SUITE, folder))


@pytest.mark.parametrize("page", [*PAGES, *READMES], ids=lambda page: str(page.relative_to(ROOT)))
def test_every_path_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = [name for name in NAMED.findall(text) if "its-name" not in name and "eps-outside" not in name]
    assert [name for name in named if not exists(name, page.parent)] == []
    linked = re.findall(r"\]\(([^)#:]+)[^):]*\)", text)
    assert [link for link in linked if not (page.parent / link).exists()] == []
    in_commands = re.findall(r"\b(?:meta_tests|docs|spec_tests)/[\w/]+\.py", text)
    assert [name for name in in_commands if not (ROOT / name).is_file()] == []


def test_the_table_and_the_picture_are_those_of_the_source() -> None:
    """Where this fails, run `python docs/packages.py`."""
    script = packages()
    text = script.PAGE.read_text(encoding="utf-8")
    assert script.page(text) == text
    assert script.PICTURE.read_text(encoding="utf-8") == script.picture()


def test_the_picture_shows_the_imports() -> None:
    script = packages()
    pairs = script.imports()
    assert {("calls", "bounds"), ("processes", "implementation"), ("bounds", "reference_numpy")} <= pairs
    shown = set(script.arrows(pairs))
    assert {one: script.reachable(one, shown) for one, _ in pairs} == {one: script.reachable(one, pairs) for one, _ in pairs}
    assert {name for row in script.rows() for name in row} == set(script.COLUMNS)


def test_every_package_has_a_sentence() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\|(?: \d+ \|)? `([\w/.]+)` \| (.+) \|$", text, re.MULTILINE))
    folders = {f"spec_tests/{path.parent.name}/" for path in SUITE.glob("*/__init__.py")} - {"spec_tests/backends/"}
    others = {"spec_tests/", "reference_numpy/", "backends/", "meta_tests/", "benchmarks/", "docs/", "examples/"}
    assert rows.keys() == {*folders, *others, "spec_tests/plugin.py"}
    assert all(sentence.endswith(".") or "`." in sentence for sentence in rows.values()), rows


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_questions_are_answered(question: str) -> None:
    _, _, answers = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("## Where is")
    answer = answers.partition(f"**{question}?**\n")[2].partition("\n\n**")[0]
    assert f"`{QUESTIONS[question]}`" in answer


def test_the_glossary_has_the_words() -> None:
    text = (DOCS / "glossary.md").read_text(encoding="utf-8").partition("```{glossary}\n")[2].partition("```")[0]
    terms = [line for line in text.splitlines() if line and not line.startswith(" ")]
    assert set(terms) >= TERMS
    assert len(terms) == len(set(terms))


def test_the_glossary_is_linked() -> None:
    for name in ("ARCHITECTURE.md", "CONTRIBUTING.md"):
        assert "](docs/glossary.md)" in (ROOT / name).read_text(encoding="utf-8"), name
    assert "\nglossary\n" in (DOCS / "index.md").read_text(encoding="utf-8")


def test_the_commands_are_listed() -> None:
    """The sessions of noxfile.py, each with a docstring; `.ci/run` names no other."""
    source = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    sessions = re.findall(r'^@nox\.session(?:\(.*\))?\ndef (\w+)\(.*\n    """[A-Z].+\."""$', source, re.MULTILINE)
    assert sessions == re.findall(r"^@nox\.session(?:\(.*\))?\ndef (\w+)", source, re.MULTILINE)
    daily = ["lint", "types", "imports", "main", "tests_complete", "libraries"]
    assert {*daily, "tests", "nightly", "docs", "measure", "mutations", "floors", "strange", "release_check"} == set(sessions)
    run = re.findall(r"^\.venv/bin/nox .*-s (.+)$", (ROOT / ".ci" / "run").read_text(encoding="utf-8"), re.MULTILINE)
    assert " ".join(run).split() == daily  # the tests build the docs
