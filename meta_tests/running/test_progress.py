"""Tests of what the terminal shows during a run and in pytest's short summary."""

import re
from pathlib import Path

import pytest

from ..support.paths import ROOT
from ..support.pytest_process import EPS_OUTSIDE, NUMPY, RELU, environment, suite, write

WITHOUT_INTERVAL = "from spec_tests.running import progress\n\nprogress.INTERVAL_SECONDS = {True: 0.0, False: 0.0}"
LINE = r"^  test(?:ing|ed) (\w+\.\w+) in (\w+): (\d+) of (\d+) tests done(?:, (\d+) failed)?, \d+:\d\d elapsed"
LINE += r"(?:, about \d+:\d\d left)?$"


def run_with_all_lines(folder: Path, *args: str) -> str:
    """Return the output of a run that prints a line of progress at every test."""
    write(folder, mine=NUMPY + EPS_OUTSIDE + RELU, impatient=WITHOUT_INTERVAL)
    selection = ("-k", "relu.reference or rms_norm.scale or rms_norm.reference")
    seeded = ("--hypothesis-profile=default", "--hypothesis-seed=1")  # with another seed a law may miss the bug
    return suite(folder, "-p", "impatient", "--backend=mine.py", *seeded, *selection, *args, env=environment(ROOT, folder)).text


def test_a_run_says_what_it_tries_and_how_far_it_is(tmp_path: Path) -> None:
    lines = re.findall(LINE, run_with_all_lines(tmp_path), re.MULTILINE)
    assert [name for name, *_ in lines] == ["relu.reference", "rms_norm.reference", "rms_norm.scale"]
    assert {dtype for _, dtype, *_ in lines} == {"float32"}
    assert [counts for _, _, *counts in lines] == [["0", "3", ""], ["1", "3", ""], ["2", "3", "1"]]


@pytest.mark.rotating
@pytest.mark.parametrize("option", ["-q", "-v", "-pno:terminal"])
def test_a_run_is_quiet_where_pytest_is_or_speaks_itself(option: str, tmp_path: Path) -> None:
    assert not re.search("^  test(ing|ed) ", run_with_all_lines(tmp_path, option), re.MULTILINE)


def test_workers_say_it_too(tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    lines = re.findall(LINE, run_with_all_lines(tmp_path, "-n1"), re.MULTILINE)
    assert [(done, total) for _, _, done, total, _ in lines] == [("1", "3"), ("2", "3"), ("3", "3")]


def test_only_what_is_tried_is_named(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RELU, impatient=WITHOUT_INTERVAL)
    args = ("-p", "impatient", "--backend=mine.py", "-k", "test_reference")
    names = re.findall(LINE, suite(tmp_path, *args, env=environment(ROOT, tmp_path)).text, re.MULTILINE)
    assert [name for name, *_ in names] == ["relu.reference"]


def test_the_verdict_has_the_diagnosis(tmp_path: Path) -> None:
    text = run_with_all_lines(tmp_path)
    assert text.count("cause 1: rms_norm: epsilon stands outside the square root") == 1
    assert not re.search(r"^FAILED ", text, re.MULTILINE)
    verdict = text.rpartition("= verdict =")[2]
    assert re.search(r"^  1\. rms_norm \(\d+ failed tests.*\): epsilon stands outside", verdict, re.MULTILINE)
    assert re.search(r"^next: pytest .* -k rms_norm\.", verdict, re.MULTILINE)
