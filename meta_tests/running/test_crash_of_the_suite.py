"""An exception inside the suite is no finding about a backend: its traceback is printed, without any option."""

from pathlib import Path

from ..support.pytest_process import NUMPY, RELU, suite, write

BROKEN = """
from spec_tests.calls.operation import Operation


def broken(self, *arguments, **keywords):
    raise RuntimeError("a bug of the suite")


Operation.call = broken
"""


def test_an_exception_inside_the_suite_prints_its_traceback(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RELU, conftest=BROKEN)
    found = suite(tmp_path, "--backend=mine.py", "--effort=smoke", "-k", "relu and not vjp")
    assert found.code == 1
    failures = found.text.partition("= FAILURES =")[2].partition("= verdict =")[0]
    assert "E       RuntimeError: a bug of the suite" in failures
    assert "conftest.py:" in failures
    assert "cause 1:" not in found.text
