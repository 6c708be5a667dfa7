"""One page has the lines that install the suite; the line that a message prints works from a checkout, a wheel and an index."""

import json
import re
import shlex
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

from spec_tests.specification import installation
from spec_tests.specification.version import __version__

from ..support.paths import ROOT


@pytest.mark.parametrize(
    ("origin", "line"),
    [
        ({"url": "file:///home/me/spec%20tests", "dir_info": {"editable": True}}, "pip install -e '/home/me/spec tests[report]'"),
        ({"url": "file:///home/me/suite", "dir_info": {}}, "pip install '/home/me/suite[report]'"),
        ({"url": "file:///tmp/suite.whl", "archive_info": {}}, "pip install '/tmp/suite.whl[report]'"),
        (None, "pip install 'spec-tests[report]'"),
    ],
)
def test_the_line_names_where_the_suite_was_installed_from(origin: Any, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps(origin) if origin else None
    monkeypatch.setattr(installation, "distribution", lambda name: SimpleNamespace(read_text=lambda file: text))
    assert installation.install_line("report") == line


PAGES = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.*")]
INSTALL = ROOT / "docs" / "guides" / "install.md"


def list_lines(path: Path) -> set[str]:
    """Return the commands of a file that install the suite, with the extra `report`."""
    text = path.read_text(encoding="utf-8", errors="replace")
    commands = re.findall(r"pip install [^`#\n]*(?:spec-tests|spec_tests-)[^`#\n]*", text)
    return {re.sub(r"\[[\w,-]+\]", "[report]", command.strip()) for command in commands}


def test_pages_and_examples_install_the_suite_by_the_lines_of_one_page() -> None:
    lines = list_lines(INSTALL)
    assert len(lines) == 2, "from a wheel and from the repository; the line of a checkout does not name the suite"
    pages = [path for path in PAGES if path.is_file() and path != INSTALL and "_build" not in path.parts]
    found = {path.relative_to(ROOT).as_posix(): list_lines(path) for path in pages}
    assert {path: others - lines for path, others in found.items() if others - lines} == {}
    assert found["docs/guides/ci.md"]
    assert found["examples/campaign/github.yml"]


def test_the_lines_of_the_page_name_what_exists() -> None:
    text = INSTALL.read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    table = [row.partition("| ")[2].partition(" |")[0] for row in text.splitlines() if row.startswith("| `")]
    extras = {extra for row in table for extra in re.findall(r"`([\w-]+)`", row)}
    assert extras - set(project["optional-dependencies"]) == set()
    words = [shlex.split(line)[-1] for line in sorted(list_lines(INSTALL))]
    wheel, repository = words
    name, version, *_ = parse_wheel_filename(wheel.partition("[")[0].rpartition("/")[2])
    assert (name, str(version)) == (canonicalize_name(project["name"]), __version__)
    assert Requirement(repository).url == "git+https://github.com/OWNER/spec-tests@main"
    assert project["requires-python"] == ">=3.11"
    assert "Python 3.11 or later" in text
