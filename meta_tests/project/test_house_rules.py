"""Test that files and folders keep the project's rules: which files exist, and what they import."""

import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from spec_tests.specification.version import __version__

from ..support.in_process import invariants
from ..support.paths import ROOT
from ..support.pytest_process import environment

SUITE, REFERENCE, BACKENDS = ROOT / "spec_tests", ROOT / "reference_numpy", ROOT / "backends"
FOLDERS = ("spec_tests", "reference_numpy", "backends", "meta_tests", "benchmarks", "examples", "docs", ".ci", ".github")
GENERAL = {"every_operation", "every_gradient"}
HELPERS = {"d_ff"}  # the size of a hidden layer, not an operation of the protocol


def list_operations(folder: Path, prefix: str = "") -> set[str]:
    """Return the names of the operations that have a file in the folder."""
    return {
        path.stem.removeprefix(prefix).partition("__")[0]
        for path in folder.glob(f"{prefix}*.py")
        if not path.stem.startswith("_")
    }


def list_imports(path: Path) -> set[str]:
    """Return the top-level names of the modules that a file imports; "." stands for a relative import."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add("." if node.level else (node.module or "").partition(".")[0])
    return names - {"__future__"}


def list_libraries(path: Path) -> set[str]:
    """Return what a backend's file imports and the framework that it names, including those of the siblings it imports."""
    text = path.read_text()
    siblings = re.findall(r"^from \.(\w+) import", text, re.MULTILINE) + re.findall(r"^from \. import (\w+)", text, re.MULTILINE)
    stated = set(re.findall(r'^framework = "(\w+)"', text, re.MULTILINE))
    return list_imports(path).union(stated, *(list_libraries(path.with_name(f"{sibling}.py")) for sibling in siblings))


def test_every_operation_has_an_equation_a_strategy_and_laws() -> None:
    equations = {name for name in list_operations(REFERENCE) - HELPERS if not name.endswith("_vjp")}
    assert list_operations(SUITE / "operations") == equations
    assert {name for name in list_operations(SUITE, "test_") if not name.endswith("_vjp")} - GENERAL == equations


def test_every_gradient_belongs_to_an_operation() -> None:
    gradients = {f"{name}_vjp" for name in list_operations(SUITE / "operations")} & list_operations(REFERENCE)
    assert {name for name in list_operations(REFERENCE) if name.endswith("_vjp")} == gradients
    assert {name for name in list_operations(SUITE, "test_") if name.endswith("_vjp")} <= gradients


@pytest.mark.parametrize("path", sorted(BACKENDS.glob("*.py")), ids=lambda path: path.name)
def test_no_backend_is_long(path: Path) -> None:
    assert len(path.read_text().splitlines()) < 200


def find_clashes(paths: Iterable[str]) -> list[str]:
    """Return the paths that are those of others where names that differ in case only are one name."""
    counts = Counter(path.casefold() for path in {*paths})
    return sorted(path for path in {*paths} if counts[path.casefold()] > 1)


def test_no_two_paths_differ_in_case_only() -> None:
    """On macOS and Windows they would be one file."""
    paths = [
        path.relative_to(ROOT).as_posix()
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if not {"__pycache__", "_build", "node_modules"} & {*path.parts}
    ]
    assert len(paths) > 1000
    assert find_clashes(paths) == []
    assert find_clashes(["a/b.py", "A/c.py", "a/B.py", "a/d.py"]) == ["a/B.py", "a/b.py"]


def test_there_is_no_tolerance() -> None:
    for path in SUITE.rglob("*.py"):
        assert not re.search(r"\b(rtol|atol|allclose|isclose|approx)\b|assert_close", path.read_text()), path


def test_the_suite_favours_no_backend() -> None:
    names = [name for stem in list_operations(BACKENDS) for name in (stem, stem.replace("_", "-"))]
    for path in SUITE.rglob("*.py"):
        lines = [line for line in path.read_text().splitlines() if any(name in line for name in names)]
        allowed = {"session.py": ['DEFAULT_BACKEND = "numpy-cpu"'], "options.py": lines}  # where it is explained
        assert lines == allowed.get(path.name, []), path


def test_the_reference_imports_numpy_only() -> None:
    """Beside NumPy there is the standard library alone."""
    for path in REFERENCE.glob("*.py"):
        assert list_imports(path) <= {"numpy", "math", "types", "typing", "collections", "inspect", "reference_numpy", "."}, path


def test_backends_do_not_import_the_suite() -> None:
    for path in BACKENDS.rglob("*.py"):
        assert not list_imports(path) & {"spec_tests", "reference_numpy", "hypothesis", "pytest"}, path
        starts_with_library = any(path.stem.startswith(f"{library}_") for library in list_libraries(path))
        assert starts_with_library or path.stem.startswith("_"), f"{path}: a backend's file is <library>_<mode>.py"
    assert not (BACKENDS / "__init__.py").exists()


def test_the_suite_imports_no_framework_and_no_test() -> None:
    for path in SUITE.rglob("*.py"):
        assert not list_imports(path) & {"meta_tests", "backends", "conftest", "torch", "jax"}, path


@pytest.mark.parametrize("path", sorted(SUITE.glob("test_*.py")), ids=lambda path: path.name)
def test_no_law_file_imports_another(path: Path) -> None:
    """What laws share is in helpers/ and operations/."""
    imports = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Import | ast.ImportFrom)]
    modules = [name for node in imports for name in (getattr(node, "module", None) or "", *(alias.name for alias in node.names))]
    assert not [name for name in modules if re.search(r"(^|\.)test_", name)]


def test_packages_import_lower_floors_only() -> None:
    """The contracts in pyproject.toml, as `lint-imports` checks them."""
    pytest.importorskip("importlinter")
    check = "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True))"
    command = [sys.executable, "-c", check]
    done = subprocess.run(command, cwd=ROOT, env=environment(ROOT), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    assert f"Contracts: {len(contracts)} kept, 0 broken." in done.stdout


def test_every_folder_of_the_suite_has_a_floor() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = (contract["layers"] for contract in contracts if contract["id"] == "floors")
    floors = [name.strip() for layer in layers for name in layer.split("|")]
    folders = {path.parent.name for path in SUITE.glob("*/*.py")} - {"backends"}  # which an installed suite has, without imports
    assert sorted(floors) == sorted({*folders, "plugin"})
    assert {path.name for path in SUITE.glob("*.py") if not path.name.startswith("test_")} == {
        "__init__.py",
        "__main__.py",
        "plugin.py",
    }


def test_the_citation_has_the_version() -> None:
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_every_invariant_has_a_statement_a_kind_and_a_unique_id() -> None:
    described = [test.invariant for test in invariants()]
    assert len({invariant.id for invariant in described}) == len(described)
    for invariant in described:
        assert invariant.statement.endswith((".", ")")), f"{invariant.id}: {invariant.statement!r}"
        assert invariant.kind in "EBSF"
        assert re.fullmatch(r"[a-z_0-9]+\.[a-z_0-9]+", invariant.id)


def test_every_test_of_the_suite_is_an_invariant() -> None:
    stated = {(test.__module__.rpartition(".")[2], test.__name__) for test in invariants()}
    for path in SUITE.glob("test_*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                assert (path.stem, node.name) in stated
