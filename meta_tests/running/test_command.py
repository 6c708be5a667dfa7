"""Tests of the command `spec-tests`: its subcommands, what they pass on, and how they refuse."""

import subprocess
from pathlib import Path

import pytest

from spec_tests import commands
from spec_tests.specification.levels import LEVELS
from spec_tests.specification.registry import gradients, operations
from spec_tests.trials.collection import invariants

from ..support.pytest_process import EPS_OUTSIDE, NUMPY, RELU, python, write


def spec_tests(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return python(folder, "-m", "spec_tests", *words)


def test_the_help_names_every_subcommand(tmp_path: Path) -> None:
    printed = spec_tests(tmp_path, "--help").stdout
    assert [name for name in commands.subcommands() if f"\n  {name} " not in printed] == []
    assert {"run", "list", "report"} <= {*commands.subcommands()}


@pytest.mark.parametrize("name", commands.subcommands())
def test_every_subcommand_has_help_and_refuses_in_one_sentence(name: str, tmp_path: Path) -> None:
    assert spec_tests(tmp_path, name, "--help").stdout.startswith(f"usage: spec-tests {name} ")
    refused = spec_tests(tmp_path, name, "--no-such-option")
    assert (refused.returncode, len(refused.stderr.splitlines())) == (4, 1), refused.stderr
    assert refused.stderr.startswith("ERROR: ")


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("rum", "did you mean spec-tests run?"),
        ("mine.py", "to test a file, write spec-tests run mine.py"),
        ("xyzzy", "there are "),
    ],
)
def test_an_unknown_subcommand_is_one_sentence(word: str, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.main([word]) == 4
    assert hint in capsys.readouterr().err


@pytest.mark.rotating
def test_run_is_a_pytest_run_of_the_suite(tmp_path: Path) -> None:
    write(tmp_path, right=NUMPY + RELU, wrong=NUMPY + EPS_OUTSIDE)
    right = spec_tests(tmp_path, "run", "right.py", "--effort=smoke", "-k", "relu.reference", "-p", "no:cacheprovider")
    assert (right.returncode, "1 passed" in right.stdout) == (0, True), right.stdout + right.stderr
    both = ("right.py", "wrong.py", "-k", "relu.reference or rms_norm.reference", "--spec-effort=smoke")
    wrong = spec_tests(tmp_path, "run", *both, "-p", "no:cacheprovider")
    assert wrong.returncode == 1
    assert "wrong breaks rms_norm.reference" in wrong.stdout
    assert spec_tests(tmp_path, "run", "nowhere.py").returncode == 4


def test_run_asks_for_the_backend_before_the_options(tmp_path: Path) -> None:
    refused = spec_tests(tmp_path, "run", "-k", "softmax.")
    assert refused.returncode == 4
    assert "as in spec-tests run my_backend.py -k softmax." in refused.stderr


def test_list_prints_what_can_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    for kind, names in {"operations": (*operations(), *gradients()), "levels": tuple(LEVELS), "backends": ("numpy-cpu",)}.items():
        assert commands.main(["list", kind]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [name for name in names if not any(line.startswith((f"{name}(", f"{name} ")) for line in lines)] == []
    assert commands.main(["list", "deviations"]) == 0
    assert "deviation:softmax/no-maximum-subtracted" in capsys.readouterr().out


def test_every_level_is_described_and_tested() -> None:
    assert {test.invariant.level for test in invariants()} - {None} == {*LEVELS}


def test_report_writes_the_page(tmp_path: Path) -> None:
    write(tmp_path, right=NUMPY + RELU)
    spec_tests(tmp_path, "run", "right.py", "--effort=smoke", "-k", "relu.", "--report=first", "-p", "no:cacheprovider")
    written = spec_tests(tmp_path, "report", "first", "-o", "page.html")
    assert (written.returncode, written.stdout) == (0, "page.html\n"), written.stderr
    assert "relu" in (tmp_path / "page.html").read_text(encoding="utf-8")
    missing = spec_tests(tmp_path, "report", "second")
    assert (missing.returncode, len(missing.stderr.splitlines())) == (4, 1)
