"""An exception inside the suite is no finding about a backend: its traceback is printed, without any option."""

import re
from pathlib import Path

import pytest

from spec_tests.report import read
from spec_tests.report.backend_results import build_results

from ..support.pytest_process import EPS_OUTSIDE, NUMPY, RELU, suite, write

BROKEN = """
from spec_tests.calls.operation import Operation


def broken(self, *arguments, **keywords):
    raise RuntimeError("a bug of the suite")


Operation.call = broken
"""
BROKEN_FOR_RELU = """
from spec_tests.calls.operation import Operation

call = Operation.call


def broken(self, *arguments, **keywords):
    if self.name == "relu":
        raise RuntimeError("a bug of the suite")
    return call(self, *arguments, **keywords)


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


@pytest.mark.rotating
def test_the_verdict_counts_an_error_of_the_suite_as_what_it_is(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RELU + EPS_OUTSIDE, conftest=BROKEN_FOR_RELU)
    found = suite(tmp_path, "--backend=mine.py", "--effort=smoke", "-k", "(relu or rms_norm) and not vjp", "--report=report")
    verdict = found.text.rpartition("= verdict =")[2]
    assert "mine: 1 cause of failures in 1 operation\n" in verdict
    assert re.search(
        r"^  \d+ tests of relu ended with an error outside of the backend; at first RuntimeError: a bug of the", verdict, re.M
    )
    assert "1. rms_norm (" in verdict
    assert "2. " not in verdict
    (results,) = build_results([read(tmp_path / "report")])
    assert (results.deviating_operations, len(results.bugs), results.has_errors) == (["rms_norm"], 1, True)

    alone = suite(tmp_path, "--backend=mine.py", "--effort=smoke", "-k", "relu and not vjp", "--report=alone").text
    verdict = alone.rpartition("= verdict =")[2]
    assert "mine: no verdict\n" in verdict
    assert "nothing wrong found" not in verdict
    assert "next: look at the traceback above; if it ends in spec_tests, report it there\n" in verdict
    (results,) = build_results([read(tmp_path / "alone")])
    assert (results.tone, results.sentence, results.bugs) == ("bad", "the run had errors", [])
