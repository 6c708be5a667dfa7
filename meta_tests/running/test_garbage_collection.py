"""Test that the garbage collector is off while tests are collected, and looks more rarely than by default when they run."""

from pathlib import Path

import pytest

from spec_tests.running.garbage_collection import MANY_NEW_OBJECTS

from ..support.pytest_process import NUMPY, RELU, pytest_run, suite

CONFTEST = """
import atexit
import gc

{before}


def pytest_collection_modifyitems():
    print("collected with", gc.isenabled())


def pytest_sessionfinish():
    print("run with", gc.isenabled(), gc.get_threshold())


atexit.register(lambda: print("left with", gc.isenabled(), gc.get_threshold()))
"""


@pytest.mark.parametrize(("before", "is_on"), [("", True), ("gc.disable()", False)])
def test_the_collector_is_off_until_the_tests_are_collected(tmp_path: Path, before: str, is_on: bool) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST.format(before=f"gc.set_threshold(600, 9, 8)\n{before}"))
    (tmp_path / "relu.py").write_text(NUMPY + RELU)
    run = suite(tmp_path, "--backend=relu.py", "-k", "relu.reference", "-s")
    assert run.code == 0, run.text
    assert "collected with False" in run.text
    assert f"run with {is_on} ({MANY_NEW_OBJECTS}, 9, 8)" in run.text
    assert f"left with {is_on} (600, 9, 8)" in run.text


@pytest.mark.parametrize("threshold", [0, 70_000])
def test_a_threshold_that_is_none_or_higher_is_left_alone(tmp_path: Path, threshold: int) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST.format(before=f"gc.set_threshold({threshold}, 9, 8)"))
    (tmp_path / "relu.py").write_text(NUMPY + RELU)
    assert f"run with True ({threshold}, 9, 8)" in suite(tmp_path, "--backend=relu.py", "-k", "relu.reference", "-s").text


def test_the_collector_is_on_again_after_an_error_before_the_collection(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST.format(before=""))
    run = suite(tmp_path, "--backend=absent.py", "-s")
    assert run.code == 4, run.text
    assert "collected with" not in run.text
    assert "left with True" in run.text


def test_a_run_of_other_tests_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST.format(before=""))
    (tmp_path / "test_other.py").write_text("def test_other():\n    pass\n")
    run = pytest_run(tmp_path, "-s", "test_other.py")
    assert run.code == 0, run.text
    assert "collected with True" in run.text
    assert "run with True" in run.text
