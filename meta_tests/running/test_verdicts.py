"""Tests of a whole run: pytest's own options keep their meaning, and the exit status and the table show the verdicts."""

import re
from pathlib import Path

import pytest

from ..support.pytest_process import EPS_OUTSIDE, NUMPY, RELU, RMS_NORM, SOFTMAX, Run, suite, suite_of_each, write

RECORDING = """
def softmax(x, *, axis):
    with open(f"{dtypes[0]}.txt", "a") as file:
        print(x.shape, axis, x.tobytes().hex()[:64], file=file)
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)
"""

pytestmark = [pytest.mark.rotating, pytest.mark.xdist_group("running/verdicts")]  # which share a run


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return the run of a backend whose softmax is right, whose rms_norm is wrong, whose relu refuses, and which has no more."""
    refusing_relu = '\n\ndef relu(x):\n    raise NotImplementedError("relu comes next week")\n'
    write(folder := tmp_path_factory.mktemp("mixed"), mine=NUMPY + SOFTMAX + EPS_OUTSIDE + refusing_relu)
    return suite(folder, "--backend=mine.py", "--hypothesis-seed=3", "-k", "every_operation")


def test_k_selects_by_the_id_of_a_law_and_by_the_operation(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RMS_NORM + SOFTMAX + RELU)
    run = suite(tmp_path, "--backend=mine.py", "-k", "softmax.reference or (rms_norm.odd and float32)")
    assert {fact["id"] for fact in run.facts} == {"softmax.reference", "rms_norm.odd"}
    ids = suite(tmp_path, "--backend=mine.py", "--hypothesis-seed=3", "-k", "rms_norm").ids  # a law may draw nothing to call
    assert {name.partition(".")[0] for name in ids} == {"rms_norm"}
    assert {"rms_norm.reference", "rms_norm.scale", "rms_norm.not_an_alias"} <= ids


def test_what_is_not_implemented_is_skipped_with_its_reason(mixed: Run) -> None:
    relu = [fact for fact in mixed.facts if fact["operation"] == "relu"]
    assert {fact["status"] for fact in relu} == {"skipped"}
    assert all("not implemented in any variant tried: relu comes next week" in fact["reason"] for fact in relu)
    silu = [fact for fact in mixed.facts if fact["operation"] == "silu"]
    assert all(fact["reason"] == "Skipped: mine does not implement silu" for fact in silu)


def test_one_broken_operation_takes_no_other_along(mixed: Run) -> None:
    assert mixed.code == 1
    broken = {fact["operation"] for fact in mixed.facts if fact["status"] == "failed"}
    assert broken == {"rms_norm"}
    assert all(fact["status"] == "passed" for fact in mixed.facts if fact["operation"] == "softmax" and not fact["level"])


def test_the_table_says_what_was_reached(mixed: Run) -> None:
    table = mixed.text.partition("mine: precision class reached")[2]
    assert re.search(r"^ +class +worst +median\s*\nrms_norm .*\nsoftmax +fused +0\.\d\d +0\.\d\d\b", table, re.MULTILINE)
    assert re.search(r"^rms_norm +\d of \d+ FAIL", table, re.MULTILINE)
    assert not re.search(r"^(relu|silu)", table, re.MULTILINE)
    remarks = table.partition("not tried:")[2]
    counted = r"mine does not implement \d\d other operations \(see spec-tests list operations\)"
    assert re.search(counted, " ".join(remarks.split()))
    assert "relu (relu comes next week)" in " ".join(remarks.split())
    assert re.search(r"effort smoke, \d+ examples; smoke supports no claim of conformance", remarks)


@pytest.mark.parametrize("parallel", [(), pytest.param(("-n", "2"), marks=pytest.mark.nightly)], ids=["serial", "parallel"])
def test_a_run_in_which_nothing_ran_is_not_green(parallel: tuple[str, ...], tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + "\n\ndef relu(x):\n    raise NotImplementedError")
    run = suite(tmp_path, "--backend=mine.py", "-k", "relu.reference or silu.reference", *parallel)  # refused, and absent
    assert run.code == 5, run.text
    assert run.count("skipped") == len(run.facts) == 2


def test_q_x_and_lf_mean_what_they_mean(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + EPS_OUTSIDE)
    args = (
        "cacheprovider",
        "--backend=mine.py",
        "--hypothesis-seed=3",
        "-k",
        "rms_norm and (odd or eps_is_inside or not_centred)",
    )
    everything = suite(tmp_path, *args)
    failed = {name for name, status in everything.statuses.items() if status == "failed"}
    assert 0 < len(failed) < len(everything.statuses)
    again = suite(tmp_path, *args, "--lf", "-q")
    assert set(again.statuses) == failed
    assert "test session starts" not in again.text
    stopped = suite(tmp_path, *args, "-x")
    assert stopped.count("failed") == 1
    assert "stopping after 1 failures" in stopped.text


@pytest.mark.nightly
def test_two_processes_come_to_the_verdicts_of_one(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + EPS_OUTSIDE + SOFTMAX)
    args = ("--backend=mine.py", "--hypothesis-seed=3", "-k", "rms_norm and test_rms_norm or softmax.reference")
    alone, together = suite(tmp_path, *args), suite(tmp_path, *args, "-n", "2")
    assert alone.code == together.code == 1
    assert alone.statuses == together.statuses
    assert len(alone.facts) == len(together.facts) > 10
    assert "mine: precision class reached" in together.text


def test_a_seed_gives_the_same_examples_again(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RECORDING)
    runs = []
    for seed in (1, 1, 2):
        run = suite(tmp_path, "--backend=mine.py", f"--hypothesis-seed={seed}", "-k", "softmax.reference or softmax.repeatable")
        runs.append((run.statuses, (calls := tmp_path / "float32.txt").read_text()))
        calls.unlink()
    assert runs[0] == runs[1] != runs[2]


def test_more_gradients_than_arrays_are_too_many(tmp_path: Path) -> None:
    body = """
def softmax_vjp(cotangent, x, *, axis):
    y, c = softmax(x.astype(np.float64), axis=axis), cotangent.astype(np.float64)
    dx = (y * c - y * np.sum(y * c, axis=axis, keepdims=True)).astype(x.dtype)
    return GRADIENTS
"""
    bodies = {"one": SOFTMAX + body.replace("GRADIENTS", "(dx,)"), "two": SOFTMAX + body.replace("GRADIENTS", "(dx, dx)")}
    run = suite_of_each(tmp_path, bodies, "-k", "softmax_vjp.reference")
    assert run.statuses == {
        "softmax_vjp.reference one float32": "passed",
        "softmax_vjp.reference two float32": "failed",
    }, run.text
    assert "the result has 2 gradients" in run.text
