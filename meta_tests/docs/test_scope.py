"""The page on scope counts what is tested, and names every facility that a system may lack."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from spec_tests.specification.registry import gradients, operations

from ..support.other_systems import SYSTEMS, find_missing
from ..support.paths import DOCS, ROOT

SCOPE = (DOCS / "scope.md").read_text(encoding="utf-8")
SUITE = ROOT / "spec_tests"
FACILITIES = (  # what the stubs of the standard library do not say
    r"\bpass_fds\b", r"\bstart_new_session\b", r"\bselect\.select\b", r"\bprctl\b", r"/proc/[\w/]+", r"/sys/[\w/.]+",
)  # fmt: skip
ROWS = re.findall(r"^\| (`[^|]+) \(`([\w/.]+)`\) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", SCOPE, re.MULTILINE)


def test_the_numbers_of_operations_and_gradients() -> None:
    assert f"| operations | the {len(operations())} of" in SCOPE
    assert f"the vector-Jacobian products of {len(gradients())} of them" in SCOPE


def list_used(path: Path, missing: dict[str, list[str]]) -> Iterator[str]:
    """Yield what a file uses of the modules and names that a system lacks."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in missing.get(node.value.id, ()):
            yield f"{node.value.id}.{node.attr}"
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if missing.get(alias.name) == [])
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module in missing:
            names = missing[node.module]
            yield from (f"{node.module}.{alias.name}" for alias in node.names if not names or alias.name in names)


def find_unlisted(used: set[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return what files use and the table does not list for them."""
    listed = {file: " ".join(names for names, where, *_ in ROWS if where == file) for file, _ in used}
    return sorted((file, name) for file, name in used if name.removesuffix(".select") not in listed[file])


def test_every_facility_that_a_system_may_lack_is_listed() -> None:
    used = {
        (path.relative_to(SUITE).as_posix(), found)
        for path in SUITE.rglob("*.py")
        for pattern in FACILITIES
        for found in re.findall(pattern, path.read_text(encoding="utf-8"))
    }
    assert len(used) > 8
    assert find_unlisted(used) == []


@pytest.mark.rotating
@pytest.mark.parametrize("system", SYSTEMS)
def test_every_name_that_python_lacks_on_a_system_is_listed(system: str) -> None:
    pytest.importorskip("mypy")
    missing = find_missing(system)
    used = {(path.relative_to(SUITE).as_posix(), name) for path in SUITE.rglob("*.py") for name in list_used(path, missing)}
    assert used
    assert find_unlisted(used) == []


def test_a_name_that_python_lacks_on_a_system_is_seen(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    (source := tmp_path / "source.py").write_text("import os, pwd\nfrom os import getpid, getuid\nos.fork(), os.getpid()\n")
    assert set(list_used(source, find_missing("win32"))) == {"pwd", "os.getuid", "os.fork"}
    assert find_unlisted({("processes/survivors.py", "os.fork")})


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_row_names_what_its_file_uses(row: tuple[str, ...]) -> None:
    names, file, _, missing, _ = row
    text = (SUITE / file).read_text(encoding="utf-8")
    assert [name for name in re.findall(r"`([^`]+)`", names) if name not in text] == []
    assert set(missing.split(", ")) <= {"macOS", "Windows"}
