"""Tests of --example, with the line that a failure prints, and of the files of known failures."""

import json
import re
import shlex
from pathlib import Path

import pytest

from spec_tests import check, parametrize
from spec_tests.inputs.choices import NoExample
from spec_tests.report import read
from spec_tests.report.backend_results import build_results, find_differences
from spec_tests.running.check import DoesNotConform

from ..support.paths import ROOT
from ..support.pytest_process import (
    EPS_OUTSIDE,
    NUMPY,
    RELU,
    RMS_NORM,
    Run,
    complaints,
    environment,
    pytest_run,
    suite,
    suite_of_each,
    write,
)

LAWS = ("-k", "rms_norm.reference or rms_norm.scale or relu.reference")
SELECTION = ("--backend=mine.py", *LAWS)
EVERY_FIFTH = """
COUNT = []

def relu(x):
    COUNT.append(1)
    return np.maximum(x, 0) + (len(COUNT) % 5 == 0)
"""


def read_lines(file: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


# --- examples ---------------------------------------------------------------------------------------------------------


def extract_inputs(run: Run) -> str:
    """Return the inputs that a failure of rms_norm prints."""
    return run.text.partition("rms_norm(\n")[2].partition("\n  explains")[0]


@pytest.mark.rotating
def test_a_failure_replays_from_its_printed_line_alone(tmp_path: Path) -> None:
    """The line works in another folder, without the database of examples, and with another seed."""
    for folder in ((here := tmp_path / "here"), (there := tmp_path / "there")):
        folder.mkdir()
        write(folder, mine=NUMPY + EPS_OUTSIDE)
    run = suite(here, "--backend=mine.py", "--effort=default", "--hypothesis-seed=5", "-k", "rms_norm.not_centred")
    words = shlex.split(re.findall(r"^again: pytest (.*)$", run.text, re.MULTILINE)[-1])
    words = ["-p", "spec_tests.plugin", "-p", "no:cacheprovider", "--hypothesis-seed=77", *words]
    again = pytest_run(there, *words, env=environment(ROOT))
    assert again.code == run.code == 1
    assert extract_inputs(again) == extract_inputs(run) != ""
    assert again.facts[0]["example"] == run.facts[0]["example"]
    assert not (there / ".hypothesis" / "examples").exists()
    write(there, mine=NUMPY + RMS_NORM)
    assert pytest_run(there, *words, env=environment(ROOT)).code == 0


def test_an_object_replays_by_its_printed_line(tmp_path: Path) -> None:
    import numpy as np

    backend = {"framework": "numpy", "dtypes": ("float32",), "relu": lambda x: np.abs(x)}
    with pytest.raises(DoesNotConform) as failure:
        check(backend, "relu.reference", effort="smoke")
    (row,) = re.findall(r"example='([\d.]+)'", str(failure.value))
    with pytest.raises(DoesNotConform, match="1 of 1 elements are wrong"):
        check(backend, "relu.reference", effort="smoke", example=row)
    with pytest.raises(ValueError, match="an example is of one invariant in one dtype"):
        check(backend, "relu", effort="smoke", example=row)


@pytest.mark.rotating
def test_what_is_no_example_is_one_sentence(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + EPS_OUTSIDE + RELU)
    (complaint,) = complaints(tmp_path, ("--example=1.x", "--backend=mine.py"))
    assert complaint.startswith("--example=1.x: an example is numbers")
    many = suite(tmp_path, "--example=0.0", "--backend=mine.py", "-k", "rms_norm")
    assert many.code == 4
    assert re.search(r"--example is of one invariant in one dtype, and \d+ are selected", many.text)
    run = suite(tmp_path, "--example=0.0", "--backend=mine.py", "-k", "rms_norm.reference")
    assert run.code == 1
    assert "--example makes no example of this invariant, in this version of the suite: it ends after 2 choices" in run.text
    with pytest.raises(NoExample, match="its choice 1 is 999999, of"):
        check(str(tmp_path / "mine.py"), "rms_norm.reference", effort="smoke", example="999999")


# --- after the repair -------------------------------------------------------------------------------------------------


@pytest.mark.rotating
@pytest.mark.parametrize(
    "processes", [pytest.param((), id="serial"), pytest.param(("-n2",), id="parallel", marks=pytest.mark.nightly)]
)
def test_a_mended_kernel_conforms_although_the_list_is_stale(processes: tuple[str, ...], tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + EPS_OUTSIDE)
    known = ("--known-failing=known.jsonl", "--hypothesis-seed=2", "--backend=mine.py", "--effort=default")
    env = environment(ROOT, GITHUB_STEP_SUMMARY="")
    first = suite(tmp_path, *known, "-k", "rms_norm.reference", "--update-known", "--report=before", env=env)
    assert first.code == 1
    write(tmp_path, mine=NUMPY + RMS_NORM)
    mended = suite(tmp_path, *known, "--report=after", *processes, env=env)
    assert mended.code == 6, mended.text
    before, after = (build_results([read(tmp_path / name)])[0] for name in ("before", "after"))
    assert json.loads((tmp_path / "after" / "badge.json").read_text())["message"] == "1 operation conforms"
    assert ("fails → holds (fused)", "rms_norm", {"reference": ["float32"]}) in find_differences(before, after)
    assert after.remarks["Holds now, and is listed as failing"] == ["known.jsonl, line 1: rms_norm.reference in float32"]
    footer = after.report.footer
    assert footer is not None
    assert (footer.stale, footer.exit_status, footer.totals.failed, footer.complete) == (1, 6, 0, True)
    (stale,) = [v for v in after.verdicts if v.stale]
    assert stale.examples > 50  # not the known example alone


@pytest.mark.rotating
def test_what_fails_wins_over_what_is_stale(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + EPS_OUTSIDE + RELU)
    (tmp_path / "known.jsonl").write_text('{"id": "relu.reference", "reason": "r"}\n')
    run = suite(tmp_path, *SELECTION, "--known-failing=known.jsonl")
    assert run.code == 1
    assert "known.jsonl, line 1: relu.reference in float32" in run.text


PATTERNS = [
    {"operation": "rms_norm"},
    {"id": "rms_norm.*"},
    {"id": "*", "dtype": "float32"},
    {"deviation": "rms_norm/eps-outside-sqrt"},
    {"deviation": "rms_norm/eps-outside-sqrt", "id": "rms_norm.*", "dtype": "float32"},
]
OTHER_PATTERNS = [
    {"operation": "relu"},
    {"id": "rms_norm.*", "dtype": "float64"},
    {"operation": "rms_norm", "backend": "other"},
    {"deviation": "rms_norm/sums-of-16-in-16-bits"},
]


@pytest.mark.rotating
@pytest.mark.parametrize(("patterns", "known"), [(PATTERNS, "failing"), (OTHER_PATTERNS, "")], ids=["covers", "covers nothing"])
def test_an_entry_may_be_a_pattern(patterns: list[dict[str, str]], known: str, tmp_path: Path) -> None:
    """Each backend has the same bug, and one pattern."""
    stated = {f"mine{number}": pattern for number, pattern in enumerate(patterns)}
    lines = [json.dumps({"backend": name, **pattern, "reason": "r"}) for name, pattern in stated.items()]
    (tmp_path / "known.jsonl").write_text("\n".join(lines))
    known_failing = ("--known-failing=known.jsonl", "--hypothesis-seed=2")
    run = suite_of_each(tmp_path, dict.fromkeys(stated, EPS_OUTSIDE + RELU), *LAWS, *known_failing)
    assert run.code == (0 if known else 1), run.text
    for name, pattern in stated.items():
        facts = [fact for fact in run.facts if fact["backend"] == name]
        assert {fact["known"] for fact in facts if fact["status"] == "failed"} == {known}, pattern
        passed = {fact["id"] for fact in facts if fact["status"] == "passed"}
        assert {"relu.reference"} <= passed <= {"relu.reference", "rms_norm.scale"}  # few examples of the latter may show nothing
        assert not any(fact["stale"] for fact in facts), pattern  # a law that holds makes no pattern stale


@pytest.mark.rotating
def test_a_pattern_that_a_whole_run_shows_to_be_stale(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RELU)
    (tmp_path / "known.jsonl").write_text('{"operation": "relu", "reason": "r"}\n{"operation": "silu", "reason": "not tried"}\n')
    known = ("--backend=mine.py", "--known-failing=known.jsonl")
    run = suite(tmp_path, *known, "--effort=default")
    assert run.code == 6, run.text
    assert "known.jsonl, line 1: nothing that it is about fails now; remove the line" in run.text
    assert "line 2:" not in run.text
    for partial in (("--effort=smoke",), ("-k", "relu.reference", "--effort=default")):
        assert suite(tmp_path, *known, *partial).code == 0


@pytest.mark.rotating
def test_an_update_keeps_patterns_and_adds_nothing_that_they_cover(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + EPS_OUTSIDE + RELU)
    line = '{"deviation": "rms_norm/eps-outside-sqrt", "reason": "r"}\n'
    (tmp_path / "known.jsonl").write_text(line)
    assert suite(tmp_path, *SELECTION, "--known-failing=known.jsonl", "--update-known").code == 0
    assert (tmp_path / "known.jsonl").read_text() == line


DECORATED = """
from mine import relu, rms_norm
from spec_tests import parametrize

BACKEND = {"framework": "numpy", "dtypes": ("float32",), "rms_norm": rms_norm, "relu": relu}
NAMES = ("rms_norm.reference", "rms_norm.scale", "relu.reference")
"""
DECORATOR_KEYS = {
    "rms_norm": "passes",
    "rms_norm[float32]": "passes",
    "rms_norm.*": "passes",
    "*[float32]": "passes",
    "rms_norm/eps-outside-sqrt": "passes",
    "rms_norm/eps-outside-sqrt[float32]": "passes",
    "rms_norm/sums-of-16-in-16-bits": "fails",
    "relu": "fails",
    "rms_norm.scale": "fails",
}


@pytest.mark.rotating
def test_the_decorator_takes_patterns_too(tmp_path: Path) -> None:
    arguments = [f"BACKEND, NAMES, effort='smoke', known_failing={{{key!r}: 'a reason'}}" for key in DECORATOR_KEYS]
    tests = [f"@parametrize({each})\ndef test_{number}(check):\n    check()\n" for number, each in enumerate(arguments)]
    write(tmp_path, mine=NUMPY + EPS_OUTSIDE + RELU, test_it="\n\n".join([DECORATED, *tests]))
    run = pytest_run(tmp_path, "-p", "no:cacheprovider", "test_it.py", env=environment(ROOT))
    for number, key in enumerate(DECORATOR_KEYS):
        tags = [tag for node, tag in run.nodes.items() if f"::test_{number}[" in node]
        assert len(tags) == 3
        assert ("failure" in tags) is (DECORATOR_KEYS[key] == "fails"), (key, tags)
    backend = {"framework": "numpy", "dtypes": ("float32",), "relu": lambda x: x}
    for key in ("silu", "relu[float64]", "relu.nothing"):
        with pytest.raises(ValueError, match=re.escape(f"known_failing names {key}, which is not among")):
            parametrize(backend, "relu", effort="smoke", known_failing={key: "a reason"})


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.rotating
def test_what_is_known_to_fail_must_fail(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + EPS_OUTSIDE + RELU)
    known = ("--known-failing=known.jsonl", "--hypothesis-seed=2")
    first = suite(tmp_path, *SELECTION, *known, "--update-known")
    assert first.code == 1  # they were not known before
    written = read_lines(tmp_path / "known.jsonl")
    assert [entry["id"] for entry in written] == ["rms_norm.reference", "rms_norm.scale"]
    assert all(re.fullmatch(r"\d+(\.\d+)*", entry["example"]) for entry in written)
    assert all(entry["reason"].startswith("matches: epsilon stands outside") for entry in written)
    assert {entry["backend"] for entry in written} == {"mine"}

    run = suite(tmp_path, *SELECTION, *known)
    assert run.code == 0, run.text
    assert [fact["known"] for fact in run.facts if fact["status"] == "failed"] == ["failing", "failing"]
    assert "fails nothing, because a file says that it is known:\n  failing: rms_norm.reference in float32" in run.text

    write(tmp_path, mine=NUMPY + RMS_NORM + RELU)
    run = suite(tmp_path, *SELECTION, *known)
    assert run.code == 6
    assert [(fact["id"], fact["status"], fact["stale"]) for fact in run.facts if fact["stale"]] == [
        ("rms_norm.reference", "passed", "known.jsonl, line 1"),
        ("rms_norm.scale", "passed", "known.jsonl, line 2"),
    ]
    lines = "  known.jsonl, line 1: rms_norm.reference in float32\n  known.jsonl, line 2: rms_norm.scale in float32\n"
    assert f"holds now, and is listed as failing: remove the line, or run with --update-known\n{lines}" in run.text
    assert "2 holds now" in run.text
    assert suite(tmp_path, *SELECTION, *known, "--update-known").code == 0
    assert (tmp_path / "known.jsonl").read_text() == ""
    assert suite(tmp_path, *SELECTION, *known).code == 0


@pytest.mark.nightly
def test_what_is_known_is_not_left_to_chance(tmp_path: Path) -> None:
    """The backend is wrong for one number, which the recorded example has. At smoke effort few seeds find it."""
    rare = "\n\ndef relu(x):\n    y = np.maximum(x, 0)\n    return np.where(x == np.float32(0.75), 2, y).astype(x.dtype)\n"
    write(tmp_path, mine=NUMPY + rare)
    args = ("--backend=mine.py", "-k", "relu.reference", "--known-failing=known.jsonl")
    found = suite(tmp_path, *args, "--update-known", "--effort=thorough", "--hypothesis-seed=0")
    if found.code == 0:
        pytest.skip("not found with this seed")
    assert {suite(tmp_path, *args, f"--hypothesis-seed={seed}").code for seed in (3, 4, 5)} == {0}


@pytest.mark.nightly
def test_what_is_known_to_be_flaky_may_hold_or_fail(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + EVERY_FIFTH)
    args = ("--backend=mine.py", "-k", "relu.reference", "--hypothesis-seed=2")
    assert suite(tmp_path, *args).code == 1
    suite(tmp_path, *args, "--known-flaky=flaky.jsonl", "--known-failing=failing.jsonl", "--update-known")
    assert [entry["id"] for entry in read_lines(tmp_path / "flaky.jsonl")] == ["relu.reference"]
    assert (tmp_path / "failing.jsonl").read_text() == ""
    assert suite(tmp_path, *args, "--known-flaky=flaky.jsonl").code == 0
    write(tmp_path, mine=NUMPY + RELU)
    assert suite(tmp_path, *args, "--known-flaky=flaky.jsonl").code == 0


MALFORMED = {
    '{"id": "relu.reference", "reason": "r"}\n{"id"': "line 2: it is no JSON",
    "[1]": "line 1: it is no entry",
    '{"id": "relu.reference"}': "line 1: it has no reason",
    '\n\n{"reason": "r"}': "line 3: it has no id",
    '{"id": "relu.reference", "reason": "r", "dtyp": "float32"}': "line 1: it has 'dtyp' for 'dtype'",
    '{"id": "relu.reference", "reason": "r", "dtype": "float31"}': "line 1: its dtype is 'float31'; there are float64",
    '{"id": "relu.reference", "reason": 3}': "line 1: its reason is 3; give a string",
    '{"id": "relu.reference", "reason": "r", "example": "1,2"}': "line 1: an example is numbers with points between",
    "[" * 100_000: "line 1: it is nested too deeply",
    '{"id": "relu.reference", "reason": "r", "example": {"x": []}}': "line 1: its example is {'x': []}; give a string",
    '{"id": "relu.reference", "reason": "\\ud800"}': "line 1: its reason has a character that is none",
    '{"id": "relu.reference", "reason": "r"}\n{"id": "relu.reference", "reason": "s"}': "line 2: line 1 speaks of the same",
}


def test_a_malformed_line_is_refused_with_its_number(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RELU)
    names = [f"known{number}.jsonl" for number in range(len(MALFORMED))]
    for name, text in zip(names, MALFORMED, strict=True):
        (tmp_path / name).write_text(text)
    found = complaints(tmp_path, *(("--backend=mine.py", f"--known-failing={name}") for name in names))
    for complaint, (text, said) in zip(found, MALFORMED.items(), strict=True):
        assert said in complaint, text[:100]


@pytest.mark.rotating
def test_a_line_that_names_nothing_is_refused(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RELU)
    (tmp_path / "known.jsonl").write_text('{"id": "relu.refrence", "reason": "r"}\n')
    run = suite(tmp_path, "--backend=mine.py", "--known-failing=known.jsonl", "-k", "relu")
    assert run.code == 4
    assert "known.jsonl, line 1: there is no invariant relu.refrence; did you mean relu.reference" in run.text.replace("\n", " ")
    (tmp_path / "known.jsonl").write_text('{"id": "rope.relative_position", "reason": "of another backend"}\n')
    assert suite(tmp_path, "--backend=mine.py", "--known-failing=known.jsonl", "-k", "relu.reference").code == 0


def test_a_file_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    absent, nameless = complaints(tmp_path, "--known-failing=nowhere.jsonl", "--update-known")
    assert "cannot be read (No such file or directory)" in absent
    assert "name the file to write" in nameless


@pytest.mark.rotating
def test_workers_know_it_too(tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    write(tmp_path, mine=NUMPY + EPS_OUTSIDE + RELU)
    known = (*SELECTION, "--known-failing=known.jsonl", "--hypothesis-seed=2", "-n2")
    suite(tmp_path, *known, "--update-known")
    assert len(read_lines(tmp_path / "known.jsonl")) == 2
    assert suite(tmp_path, *known).code == 0


@pytest.mark.rotating
def test_a_deviation_that_the_catalogue_lacks_is_refused(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RELU)
    (tmp_path / "known.jsonl").write_text('{"deviation": "rms_norm/eps-outside-sqr", "reason": "r"}\n')
    run = suite(tmp_path, "--backend=mine.py", "--known-failing=known.jsonl", "-k", "relu.reference")
    assert run.code == 4, run.text
    assert (
        "known.jsonl, line 1: there is no deviation rms_norm/eps-outside-sqr; did you mean rms_norm/eps-outside-sqrt" in run.text
    )
