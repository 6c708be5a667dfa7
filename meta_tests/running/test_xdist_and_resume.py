"""Tests of pytest-xdist and --resume: any number of processes gives the same verdicts, and an interrupted run continues."""

import json
import re
from pathlib import Path

import pytest

from spec_tests.report import read
from spec_tests.running.xdist_workers import list_devices, rotate

from ..support.paths import ROOT
from ..support.pytest_process import EPS_OUTSIDE, NUMPY, RELU, SOFTMAX, complaints, environment, suite, write

pytest.importorskip("xdist")

NO_SUMMARY = environment(ROOT, GITHUB_STEP_SUMMARY="")
RECORDING = """
import os

def relu(x):
    with open(f"{os.getpid()}.txt", "a") as file:
        print(os.environ["PYTEST_CURRENT_TEST"].split()[0], x.shape, x.tobytes().hex()[:64], file=file)
    return np.maximum(x, 0)
"""


@pytest.mark.rotating
def test_every_verdict_is_that_of_a_serial_run(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + EPS_OUTSIDE + SOFTMAX + RELU)
    args = ("--backend=mine.py", "--hypothesis-seed=3", "-k", "rms_norm or softmax or relu")
    alone, together = suite(tmp_path, *args), suite(tmp_path, *args, "-n", "2")
    assert alone.code == together.code == 1
    compared_fields = ("status", "reason", "examples", "worst", "median", "class")
    holds = [[fact for fact in run.facts if fact["status"] != "failed"] for run in (alone, together)]
    serial, parallel = ({fact["id"]: [fact[key] for key in compared_fields] for fact in facts} for facts in holds)
    assert serial == parallel
    assert alone.statuses == together.statuses  # how far a failing example is shrunk is a matter of time
    assert len(alone.statuses) > 50


def read_examples(folder: Path) -> dict[str, list[str]]:
    """Return the examples of each test in their order, and delete the files in which the backend recorded them."""
    examples: dict[str, list[str]] = {}
    for file in folder.glob("*.txt"):
        for line in file.read_text().splitlines():
            node, _, example = line.partition(" ")
            examples.setdefault(node.rpartition("::")[2], []).append(example)
        file.unlink()
    return examples


@pytest.mark.nightly
def test_a_seed_gives_the_same_examples_in_any_number_of_processes(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RECORDING)
    args = ("--backend=mine.py", "--effort=default", "-k", "relu and not vjp")
    found = []
    for more in (("--hypothesis-seed=4",), ("--hypothesis-seed=4", "-n", "3"), ("--hypothesis-seed=5",)):
        assert suite(tmp_path, *args, *more).code == 0
        found.append(read_examples(tmp_path))
    assert found[0] == found[1]
    assert found[0] != found[2]
    assert sum(map(len, found[0].values())) > 300


def test_in_ci_the_examples_are_always_the_same(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RECORDING)
    args = ("--backend=mine.py", "-k", "relu.reference", "--hypothesis-profile=ci")
    found = []
    for _ in range(2):
        assert suite(tmp_path, *args).code == 0
        found.append(read_examples(tmp_path))
    assert found[0] == found[1]


# --- a worker that dies -----------------------------------------------------------------------------------------------


@pytest.mark.rotating
def test_a_worker_that_dies_is_replaced_and_reported_once(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RELU + SOFTMAX + "\n\nimport os\n\ndef sigmoid(x):\n    os._exit(0)\n")
    args = ("--backend=mine.py", "-n", "2", "-k", "relu or softmax.reference or sigmoid.reference")
    run = suite(tmp_path, *args)
    assert run.code == 1
    assert len(re.findall(r"^FAILED .*test_reference\[sigmoid", run.text, re.MULTILINE)) == 1
    assert "crashed while running" in run.text
    kept = {fact["id"]: fact["status"] for fact in run.facts}
    assert kept["softmax.reference"] == "passed"
    assert {status for name, status in kept.items() if name.startswith("relu.")} == {"passed"}


@pytest.mark.rotating
def test_isolated_no_worker_dies(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RELU + "\n\nimport os\n\ndef sigmoid(x):\n    os._exit(0)\n")
    run = suite(tmp_path, "--backend=mine.py", "-n", "2", "--isolate", "-k", "relu.reference or sigmoid.reference")
    assert {fact["id"]: fact["status"] for fact in run.facts if fact["status"] != "skipped"} == {
        "relu.reference": "passed",
        "sigmoid.reference": "failed",
    }
    assert "crashed" not in run.text


# --- devices ----------------------------------------------------------------------------------------------------------


def test_the_devices_of_each_worker_begin_with_another(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [rotate(["0", "1", "3"], worker)[0] for worker in range(5)] == ["0", "1", "3", "0", "1"]
    assert rotate(["0", "1", "3"], 4) == ["1", "3", "0"]
    assert rotate(["0"], 2) == ["0"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-a, GPU-b")
    assert list_devices() == ["GPU-a", "GPU-b"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert list_devices() == []


def test_the_workers_see_theirs(tmp_path: Path) -> None:
    recording = "\n\nimport os\n\nopen(os.environ['PYTEST_XDIST_WORKER'], 'w').write(os.environ['CUDA_VISIBLE_DEVICES'])\n"
    write(tmp_path, mine=NUMPY + RELU + recording)
    run = suite(
        tmp_path, "--backend=mine.py", "-n", "2", "-k", "relu.reference", env=environment(ROOT, CUDA_VISIBLE_DEVICES="5,7")
    )
    assert run.code == 0
    assert [(tmp_path / name).read_text() for name in ("gw0", "gw1")] == ["5,7", "7,5"]


# --- going on ---------------------------------------------------------------------------------------------------------

RESUMABLE = ("--backend=mine.py", "--report=out", "--hypothesis-seed=1", "-k", "rms_norm or relu or softmax")


@pytest.mark.rotating
@pytest.mark.parametrize(
    "processes", [pytest.param((), id="serial", marks=pytest.mark.nightly), pytest.param(("-n", "2"), id="parallel")]
)
def test_a_run_that_was_cut_goes_on_with_what_is_left(processes: tuple[str, ...], tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + EPS_OUTSIDE + SOFTMAX + RELU)
    whole = suite(tmp_path, *RESUMABLE, env=NO_SUMMARY)
    file = tmp_path / "out" / "report.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    kept = next(i for i, line in enumerate(lines) if '"failed"' in line) + 2
    file.write_text("".join(lines[:kept]) + lines[kept][:30])  # as after a power failure
    done = [json.loads(line)["node"] for line in lines[2:kept]]

    run = suite(tmp_path, *RESUMABLE, "--resume", *processes, env=NO_SUMMARY)
    report = read(tmp_path / "out")
    assert run.code == whole.code == 1
    assert report.complete
    assert sorted(verdict.node for verdict in report.verdicts) == sorted(json.loads(line)["node"] for line in lines[2:-1])
    assert not {verdict.node for verdict in report.verdicts[len(done) :]} & set(done)
    assert len(run.facts) == len(whole.facts) - len(done)
    assert report.footer is not None
    assert report.footer.selected == len(whole.facts)
    assert sum(vars(report.footer.totals).values()) == len(whole.facts)
    assert re.search(r"^rms_norm +\d+ of \d+ FAIL", run.text, re.MULTILINE)

    again = suite(tmp_path, *RESUMABLE, "--resume", *processes, env=NO_SUMMARY)
    assert again.code == 1  # the earlier failures still count
    assert not again.facts


@pytest.mark.rotating
def test_what_does_not_go_together_is_one_sentence(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RELU)
    words = ("--backend=mine.py", "--report=out", "-k", "relu.reference")
    nameless, absent = complaints(tmp_path, ("--backend=mine.py", "--resume"), (*words, "--resume"), env=NO_SUMMARY)
    assert "name the report to go on with" in nameless
    assert "there is no report" in absent
    assert suite(tmp_path, *words, env=NO_SUMMARY).code == 0
    assert suite(tmp_path, *words, "--resume", env=NO_SUMMARY).code == 0
    (other,) = complaints(tmp_path, (*words, "--dtype=float32", "--resume"), env=NO_SUMMARY)
    assert other == "--resume: out is of a run with other dtypes: none, now ['float32']"
    write(tmp_path, mine=NUMPY + RELU + "\n# better\n")
    (changed,) = complaints(tmp_path, (*words, "--resume"), env=NO_SUMMARY)
    assert "mine.py has changed since out was written; start anew" in changed
