"""The rules of the house, as they stand in the folders."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from spec_tests.specification.version import __version__

from ..support.in_process import invariants
from ..support.paths import ROOT
from ..support.pytest_process import environment

SUITE, REFERENCE, BACKENDS = ROOT / "spec_tests", ROOT / "reference_numpy", ROOT / "backends"
GENERAL = {"every_operation", "every_gradient"}
HELPERS = {"d_ff"}  # a rule of design, not an operation of the protocol
SOURCES = sorted([*SUITE.rglob("*.py"), *REFERENCE.glob("*.py")])


def stems(folder: Path, prefix: str = "") -> set[str]:
    return {
        path.stem.removeprefix(prefix).partition("__")[0]
        for path in folder.glob(f"{prefix}*.py")
        if not path.stem.startswith("_")
    }


def imported(path: Path) -> set[str]:
    """The top-level names of what a file imports; "." for a sibling."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add("." if node.level else (node.module or "").partition(".")[0])
    return names - {"__future__"}


def libraries(path: Path) -> set[str]:
    """What a backend's file imports, and the framework that it states, its siblings' included."""
    text = path.read_text()
    siblings = re.findall(r"^from \.(\w+) import", text, re.MULTILINE) + re.findall(r"^from \. import (\w+)", text, re.MULTILINE)
    stated = set(re.findall(r'^framework = "(\w+)"', text, re.MULTILINE))
    return imported(path).union(stated, *(libraries(path.with_name(f"{sibling}.py")) for sibling in siblings))


def test_every_operation_has_a_file_in_each_wing() -> None:
    equations = {name for name in stems(REFERENCE) - HELPERS if not name.endswith("_vjp")}
    assert stems(SUITE / "operations") == equations
    assert {name for name in stems(SUITE, "test_") if not name.endswith("_vjp")} - GENERAL == equations


def test_every_gradient_is_one_of_an_operation() -> None:
    gradients = {f"{name}_vjp" for name in stems(SUITE / "operations")} & stems(REFERENCE)
    assert {name for name in stems(REFERENCE) if name.endswith("_vjp")} == gradients
    assert {name for name in stems(SUITE, "test_") if name.endswith("_vjp")} <= gradients


@pytest.mark.parametrize("path", sorted(BACKENDS.glob("*.py")), ids=lambda path: path.name)
def test_a_backend_is_read_at_one_sitting(path: Path) -> None:
    assert len(path.read_text().splitlines()) < 200


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_file_is_long(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 300


def test_there_is_no_tolerance() -> None:
    for path in SUITE.rglob("*.py"):
        assert not re.search(r"\b(rtol|atol|allclose|isclose|approx)\b|assert_close", path.read_text()), path


def test_the_suite_favours_no_backend() -> None:
    names = [name for stem in stems(BACKENDS) for name in (stem, stem.replace("_", "-"))]
    for path in SUITE.rglob("*.py"):
        lines = [line for line in path.read_text().splitlines() if any(name in line for name in names)]
        allowed = {"session.py": ['DEFAULT = "numpy-cpu"'], "options.py": lines}  # where it is explained
        assert lines == allowed.get(path.name, []), path


def test_the_reference_is_numpy_alone() -> None:
    for path in REFERENCE.glob("*.py"):
        assert imported(path) <= {"numpy", "math", "typing", "collections", "reference_numpy", "."}, path


def test_backends_know_nobody() -> None:
    for path in BACKENDS.rglob("*.py"):
        assert not imported(path) & {"spec_tests", "reference_numpy", "hypothesis", "pytest"}, path
        named = any(path.stem.startswith(f"{library}_") for library in libraries(path))
        assert named or path.stem.startswith("_"), f"{path}: a backend's file is <library>_<mode>.py"
    assert not (BACKENDS / "__init__.py").exists()


def test_arrows_run_one_way() -> None:
    for path in SUITE.rglob("*.py"):
        assert not imported(path) & {"meta_tests", "backends", "conftest", "torch", "jax"}, path


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
    assert {path.name for path in SUITE.glob("*.py") if not path.name.startswith("test_")} == {"__init__.py", "plugin.py"}


def test_the_citation_has_the_version() -> None:
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_every_invariant_states_itself() -> None:
    described = [test.invariant for test in invariants()]
    assert len({one.id for one in described}) == len(described)
    for one in described:
        assert one.statement.endswith((".", ")")), f"{one.id}: {one.statement!r}"
        assert one.kind in "EBSF"
        assert re.fullmatch(r"[a-z_0-9]+\.[a-z_0-9]+", one.id)


def test_every_test_of_the_suite_is_an_invariant() -> None:
    stated = {(test.__module__.rpartition(".")[2], test.__name__) for test in invariants()}
    for path in SUITE.glob("test_*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                assert (path.stem, node.name) in stated
