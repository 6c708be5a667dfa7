"""Test how the project runs its own tests: skips are named, what has passed is kept, and each folder has its seconds."""

import ast
import json
import subprocess
from pathlib import Path

import pytest

from ..measure import seconds_of_tests
from ..support import kept_results, rotation
from ..support.paths import MEASURED, ROOT
from ..support.pytest_process import environment, python, write
from ..support.servers import SERVERS
from ..support.skipped_tests import PACKAGES, find_lack

SKIPPING = """
import pytest

def test_passes():
    pass

def test_lacks_a_tool():
    pytest.skip("rustc is not installed")

def test_lacks_a_library():
    pytest.importorskip("a_library_that_is_not_there")

def test_is_of_another_system():
    pytest.skip("there is a GPU")
"""

ROTATING = """
import pytest

@pytest.mark.rotating
@pytest.mark.parametrize("number", range(150))
def test_alone(number):
    pass

@pytest.mark.rotating
@pytest.mark.xdist_group("together")
@pytest.mark.parametrize("number", range(9))
def test_of_a_group(number):
    pass

@pytest.mark.rotating(one_in=3)
@pytest.mark.parametrize("number", range(150))
def test_more_often(number):
    pass

def test_always():
    pass
"""


def run_own(folder: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    """Run the tests of a folder with the plugins of this project's tests."""
    (folder / "conftest.py").write_text("from meta_tests.conftest import *\n")
    return python(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, env=environment(ROOT))


# --- what is skipped --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reason", "name", "remedy"),
    [
        ("could not import 'jax': No module named 'jax'", "jax", "pip install -e"),
        ("rustc is not installed", "rustc", "apt-get install rustc"),
        ("liger_kernel is not installed here", "liger_kernel", "pip install -e"),
        ("--backend=x: it imports 'mlx', which is not installed here", "mlx", "pip install -e"),
        ("there is no Chromium here, and playwright install chromium has brought none", "Chromium", "apt-get install chromium"),
        ("TensorFlow.js is not installed", "TensorFlow.js", "npm install in examples/tensorflow_js"),
    ],
)
def test_what_is_missing_is_named_with_how_to_get_it(reason: str, name: str, remedy: str) -> None:
    found = find_lack(reason)
    assert found is not None
    assert found[0] == name
    assert found[1].startswith(remedy)


def test_a_test_of_another_system_lacks_nothing() -> None:
    assert find_lack("there is a GPU") is None
    assert find_lack("other systems end the process group alone") is None


def test_every_tool_of_the_examples_has_a_package_that_ci_installs() -> None:
    tools = {tool for server in SERVERS for tool in server.tools}
    assert tools <= {*PACKAGES}
    script = (ROOT / ".ci" / "run").read_text()
    assert [tool for tool in (*tools, "chromium") if f"[{tool}]=" not in script] == []


@pytest.mark.rotating
@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["serial", "workers"])
def test_the_last_lines_say_what_was_skipped(workers: tuple[str, ...], tmp_path: Path) -> None:
    write(tmp_path, test_it=SKIPPING)
    told = run_own(tmp_path, *workers)
    assert told.returncode == 0, told.stdout
    closing = told.stdout.partition("not tested, because something is missing here:\n")[2].splitlines()
    assert closing[0].startswith("  a_library_that_is_not_there (1 skipped): pip install -e")
    assert closing[1] == "  rustc (1 skipped): apt-get install rustc"
    assert closing[2] == "not tested on this system (1 skipped): there is a GPU"
    strict = run_own(tmp_path, *workers, "--fail-if-lacking")
    assert strict.returncode == 1, strict.stdout
    assert "ERROR: not tested, because something is missing here:" in strict.stdout
    assert run_own(tmp_path, *workers, "--fail-if-lacking", "-k", "passes or another_system").returncode == 0


# --- what has passed --------------------------------------------------------------------------------------------------


@pytest.mark.rotating
def test_a_run_that_was_cut_goes_on_with_what_has_not_passed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tests = "import os\n\ndef test_one():\n    pass\n\ndef test_two():\n    os.path.exists('right') or os._exit(3)\n"
    write(tmp_path, test_it=tests)
    kept = ("--keep-passed=kept/passed.txt",)
    before = kept_results.hash_sources()
    assert run_own(tmp_path, *kept).returncode == 3
    sources, *passed = (tmp_path / "kept" / "passed.txt").read_text().splitlines()
    assert sources in (before, kept_results.hash_sources())  # another test may put a file into the checkout meanwhile
    assert passed == ["test_it.py::test_one"]
    (tmp_path / "right").touch()
    again = run_own(tmp_path, *kept)
    assert (again.returncode, "1 passed, 1 deselected" in again.stdout) == (0, True), again.stdout
    nothing = run_own(tmp_path, *kept, "-n", "1")
    assert nothing.returncode == 0, nothing.stdout
    (tmp_path / "kept" / "passed.txt").write_text("other sources\ntest_it.py::test_one\ntest_it.py::test_two\n")
    assert "2 passed" in run_own(tmp_path, *kept).stdout


@pytest.mark.rotating
def test_a_test_that_fails_is_tried_again(tmp_path: Path) -> None:
    write(tmp_path, test_it="def test_fails():\n    assert False\n")
    for _ in range(2):
        assert run_own(tmp_path, "--keep-passed=passed.txt").returncode == 1


# --- what is due ------------------------------------------------------------------------------------------------------


def test_each_test_of_a_rotation_is_due_after_some_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    names, due = [f"test {number}" for number in range(30)], set[str]()
    for sources in map(str, range(40)):
        monkeypatch.setattr(rotation, "hash_judging_sources", lambda sources=sources: sources)
        today = {name for name in names if rotation.is_due(name, 3)}
        assert 0 < len(today) < len(names)
        due |= today
    assert due == {*names}


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "workers"])
def test_one_in_ten_of_the_rotating_tests_runs_daily(workers: tuple[str, ...], tmp_path: Path) -> None:
    write(tmp_path, test_it=ROTATING)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    rotating\n    nightly\n    xdist_group\n")
    daily, nightly = run_own(tmp_path, *workers, "-m", "not nightly", "-rA"), run_own(tmp_path, *workers)
    ran = [line for line in daily.stdout.splitlines() if line.startswith("PASSED")]
    assert 4 < len([line for line in ran if "test_alone" in line]) < 30
    assert 30 < len([line for line in ran if "test_more_often" in line]) < 75
    assert len([line for line in ran if "test_of_a_group" in line]) in (0, 9)
    assert len([line for line in ran if "test_always" in line]) == 1
    assert "310 passed" in nightly.stdout


def test_what_kills_a_mutation_runs_daily(request: pytest.FixtureRequest) -> None:
    outcomes = json.loads((MEASURED / "mutations.json").read_text(encoding="utf-8"))["outcomes"]
    killers = {outcome["by"].partition("[")[0] for outcome in outcomes if outcome.get("by")}
    assert len(killers) > 100
    assert [killer for killer in sorted(killers) if is_rotating(*killer.partition("::")[::2])] == []


def is_rotating(name: str, function: str) -> bool:
    for node in ast.parse((ROOT / name).read_text(encoding="utf-8")).body:
        marks = node.decorator_list if isinstance(node, ast.FunctionDef) and node.name == function else []
        marks += [node.value] if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark" else []
        if any("mark.rotating" in ast.unparse(mark) for mark in marks):
            return True
    return False


# --- the seconds ------------------------------------------------------------------------------------------------------


def test_every_row_of_the_seconds_is_measured_and_the_other_folders_are_named() -> None:
    """Where this fails, run `python -m meta_tests.measure.seconds_of_tests --only FOLDER`."""
    rows = seconds_of_tests.read_rows()
    others = {*seconds_of_tests.list_folders()} - {*rows}
    assert {*rows} <= {*seconds_of_tests.list_folders()}
    assert all(f"`{folder}/`" in seconds_of_tests.format_table(rows).partition("Not measured yet: ")[2] for folder in others)
    for folder, (_, tests, quick, slow, commit, date, machine) in rows.items():
        assert int(tests) > 0, folder
        assert int(quick) + int(slow or 0) > 0, folder
        assert len(date.split("-")) == 3, folder
        assert commit, folder
        assert machine, folder


def test_the_table_is_written_as_it_is_read() -> None:
    page = seconds_of_tests.PAGE.read_text(encoding="utf-8")
    assert seconds_of_tests.format_table(seconds_of_tests.read_rows()) in page
