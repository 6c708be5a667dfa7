"""Tests of the options' spellings: with the prefix in every run, without it in runs of the suite, and beside others' options."""

import re
from pathlib import Path

import pytest

from spec_tests.inputs.effort import EFFORTS
from spec_tests.running.options import OPTIONS
from spec_tests.specification.formats import DTYPES, PRECISIONS

from ..support.pytest_process import NUMPY, RELU, pytest_run, write

ONE = ("-q", "-k", "relu.reference")
THEIR_OPTIONS = """
def pytest_addoption(parser):
    parser.addoption("--backend", default="cpu")
    parser.addoption("--report")
"""
THEIR_TEST = """
def test_theirs(request):
    assert request.config.getoption("backend") == "gpu"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, mine=NUMPY + RELU)
    return tmp_path


def test_every_option_is_listed_with_its_prefix_in_any_run(folder: Path) -> None:
    found = pytest_run(folder, "-p", "spec_tests.plugin", "--help")
    assert {*re.findall(r"--spec-([\w-]+)", found.text.partition("spec_tests: ")[2].partition("\n\n")[0])} == {
        name.partition("=")[0] for name in OPTIONS
    }


@pytest.mark.parametrize(("option", "names"), [("dtype", DTYPES), ("precision", PRECISIONS), ("effort", EFFORTS)])
def test_the_help_of_an_option_names_its_values(option: str, names: tuple[str, ...]) -> None:
    assert [name for name in names if name not in OPTIONS[option]["help"]] == []


@pytest.mark.parametrize("spelling", ["--spec-backend=mine.py", "--backend=mine.py"])
def test_a_run_that_names_the_suite_takes_both_spellings(folder: Path, spelling: str) -> None:
    found = pytest_run(folder, "-p", "spec_tests.plugin", "--pyargs", "spec_tests", spelling, *ONE)
    assert found.code == 0, found.text
    assert found.statuses == {"relu.reference mine float32": "passed"}


@pytest.mark.parametrize("spelling", ["--spec-backend=mine.py", "--backend=mine.py"])
def test_a_backend_in_a_run_that_does_not_name_the_suite_says_what_to_add(folder: Path, spelling: str) -> None:
    complaint = pytest_run(folder, "-p", "spec_tests.plugin", spelling).complaint
    assert complaint.startswith(f"{spelling} is an option of spec_tests, and this run does not name it: write ")
    command = complaint.partition(": write pytest ")[2].split()
    assert pytest_run(folder, *command, *ONE).statuses == {"relu.reference mine float32": "passed"}


def test_options_of_the_project_with_the_same_names_stay_its_own(folder: Path) -> None:
    write(folder, conftest=THEIR_OPTIONS, test_theirs=THEIR_TEST)
    plugin = ("-p", "spec_tests.plugin")
    assert pytest_run(folder, *plugin, "--backend=gpu").code == 0
    refused = pytest_run(folder, *plugin, "--pyargs", "spec_tests", "--backend=mine.py", *ONE).complaint
    assert refused == (
        "--backend=mine.py: --backend is also an option of a conftest.py or of another plugin here; "
        "write --spec-backend=mine.py for that of spec_tests"
    )
    both = ("spec_tests", "test_theirs.py", "--spec-backend=mine.py", "--backend=gpu")
    found = pytest_run(folder, *plugin, "--pyargs", *both, "-q", "-k", "relu.reference or theirs")
    assert (found.code, found.ids, len(found.nodes)) == (0, {"relu.reference"}, 2), found.text


def test_the_workers_of_xdist_take_both_spellings(folder: Path) -> None:
    found = pytest_run(folder, "-p", "spec_tests.plugin", "--pyargs", "spec_tests", "--spec-backend=mine.py", *ONE, "-n", "1")
    assert found.statuses == {"relu.reference mine float32": "passed"}, found.text
