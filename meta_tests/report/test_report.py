"""Tests of --report=DIR: every line matches the schema, and the report can be read however the run ends."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from spec_tests.report import Report, ReportError, format_record, read
from spec_tests.report.records import to_record
from spec_tests.report.schema import FILE, format_schema
from spec_tests.report.verdict import Message
from spec_tests.specification.installation import install_line
from spec_tests.tampering.detector import WITH_A_REPORT

from ..support.paths import ROOT
from ..support.pytest_process import EPS_OUTSIDE, NUMPY, RELU, Run, environment, python, suite, write

SCHEMA = json.loads(FILE.read_text())
SELECTION = ("-k", "rms_norm or relu.reference or softmax.reference", "--hypothesis-seed=1")
NO_SUMMARY = {"GITHUB_STEP_SUMMARY": ""}  # where these tests run in CI, their runs must not write to its summary


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Report]:
    """Return a run, and its report, in which something fails, something holds, and something is absent."""
    folder = tmp_path_factory.mktemp("failing")
    write(folder, mine=NUMPY + EPS_OUTSIDE + RELU)
    run = suite(folder, "--backend=mine.py", "--report=out/of/it", *SELECTION, env=environment(ROOT, **NO_SUMMARY))
    return run, read(folder / "out" / "of" / "it")


# --- the data ---------------------------------------------------------------------------------------------------------


def test_a_report_has_the_verdicts_of_the_run(failing: tuple[Run, Report]) -> None:
    run, report = failing
    assert run.code == 1
    assert report.complete
    assert report.footer is not None
    assert report.footer.exit_status == 1
    assert [{key: to_record(v)[key] for key in fact} for v, fact in zip(report.verdicts, run.facts, strict=True)] == run.facts
    totals = {status: run.count(status) for status in ("passed", "failed", "skipped", "not held")}
    assert to_record(report.footer.totals) == {**totals, "error": 0}
    assert report.footer.selected == len(run.facts)
    assert all(totals[status] for status in ("passed", "failed", "skipped"))
    assert report.header.seed == "1"
    assert report.header.command[-1] == "--hypothesis-seed=1"
    assert re.search(r"^report: out/of/it/report.html, out/of/it/report.jsonl, out/of/it/badge.json$", run.text, re.MULTILINE)


def test_a_report_says_what_was_tried(failing: tuple[Run, Report]) -> None:
    (backend,) = failing[1].backends
    assert (backend.name, backend.file, backend.dtypes) == ("mine", "mine.py", ("float32",))
    assert backend.operations == ("relu", "rms_norm")
    assert re.fullmatch("[0-9a-f]{64}", backend.sha256 or "")
    assert backend.framework.name == "numpy"


def test_a_failure_is_kept_part_by_part(failing: tuple[Run, Report]) -> None:
    run, report = failing
    (verdict,) = [v for v in report.verdicts if v.id == "rms_norm.reference"]
    failure = verdict.failure
    assert isinstance(failure, Message)
    assert "rms_norm/eps-outside-sqrt" in [candidate.id for candidate in failure.diagnosis]
    assert verdict.reason.startswith("matches: epsilon stands outside the square root")
    assert [label for label, _ in failure.facts] == ["expected", "got", "error", "bound"]
    assert failure.again in run.text
    (cause,) = verdict.causes
    assert (cause.key, cause.kind, cause.operation) == ("rms_norm/eps-outside-sqrt", "deviation", "rms_norm")
    assert cause.wrong > 0 < cause.failing
    assert f"rms_norm: {cause.what}" in run.text
    assert "backend.rms_norm(" in failure.script


def test_the_hardest_example_is_kept(failing: tuple[Run, Report]) -> None:
    by_id = {v.id: v for v in failing[1].verdicts}
    hardest = by_id["relu.reference"].hardest
    assert hardest is not None
    assert hardest.share == by_id["relu.reference"].worst
    assert hardest.arguments.keys() == {"x"}
    assert hardest.got == hardest.expected
    wrong = by_id["rms_norm.reference"].hardest
    assert wrong is not None
    assert wrong.arguments.keys() == {"x", "weight", "eps"}
    assert abs(wrong.got - wrong.expected) > wrong.bound
    assert by_id["softmax.reference"].hardest is None


def test_the_schema_is_made_of_the_dataclasses() -> None:
    assert FILE.read_text() == format_schema(), "run python -m spec_tests.report.schema"


def test_every_line_is_as_the_schema_says(failing: tuple[Run, Report]) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    validator = jsonschema.Draft202012Validator(SCHEMA)
    lines = failing[1].path.read_text().splitlines()
    for text in lines:
        validator.validate(json.loads(text))
    verdict = next(json.loads(text) for text in lines if '"failed"' in text)
    for wrong in ({"status": "lost"}, {"worst": "much"}, {"surprise": 1}, {"kind": None}):
        assert not validator.is_valid({**verdict, **wrong}), wrong
    assert not validator.is_valid({key: value for key, value in verdict.items() if key != "id"})


def test_whatever_a_record_holds_is_one_line_of_ascii() -> None:
    record = {"a": float("nan"), "b": [float("inf"), -float("inf")], "c": "\n\r\u2028\x00\ud800 é", 1: {2, 3} & {3}, "d": None}
    text = format_record(record)
    assert text.isascii()
    assert text.count("\n") == 1
    assert json.loads(text) == {"a": "NaN", "b": ["Infinity", "-Infinity"], "c": record["c"], "1": "{3}", "d": None}


# --- what becomes of the run ------------------------------------------------------------------------------------------


def test_a_line_that_was_cut_is_left_out(failing: tuple[Run, Report], tmp_path: Path) -> None:
    report = failing[1]
    text = report.path.read_text()
    lines = text.splitlines(keepends=True)
    whole = "".join(lines[:5])
    for cut in (0, 1, 20, len(lines[5]) // 2):
        (tmp_path / "report.jsonl").write_text(whole + lines[5][:cut])
        cut_report = read(tmp_path)
        assert not cut_report.complete
        assert cut_report.ending == "killed, or still running"
        assert cut_report.verdicts == report.verdicts[:3]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "there is no report (No such file or directory); --report=DIR writes one"),
        ("", "its first line is no header"),
        ("[1]\n", "line 1 is no record"),
        ('{"record": "header", "schema": 1}\n{"record"\n{}\n', "line 2 is no JSON"),
        ('{"record": "header", "schema": 999}\n', "has schema 999, and this version reads 1: install a newer one"),
    ],
)
def test_what_is_no_report_is_one_sentence(text: str | None, sentence: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "report.jsonl").write_text(text)
    with pytest.raises(ReportError, match=re.escape(sentence)):
        read(tmp_path / "report.jsonl")


HANGING = RELU + "\n\nimport pathlib, time\n\ndef sigmoid(x):\n    pathlib.Path('hangs').touch()\n    time.sleep(120)\n"


@contextmanager
def start_hanging_run(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Start a run, and yield it when it hangs in its second invariant."""
    write(folder, mine=NUMPY + HANGING)
    words = ("-p", "spec_tests.plugin", "-p", "no:cacheprovider", "--pyargs", "spec_tests", "--effort=smoke", "--backend=mine.py")
    command = [sys.executable, "-m", "pytest", *words, "--report=out", "-k", "relu.reference or sigmoid.reference"]
    env, data, deadline = environment(ROOT, **NO_SUMMARY), folder / "out" / "report.jsonl", time.monotonic() + 120
    with subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.PIPE, text=True) as run:
        try:
            while not (data.exists() and '"relu.reference"' in data.read_text() and (folder / "hangs").exists()):
                assert run.poll() is None, run.communicate()[0]
                assert time.monotonic() < deadline
                time.sleep(0.05)
            yield run
        finally:
            run.kill()


def test_a_killed_run_is_readable(tmp_path: Path) -> None:
    with start_hanging_run(tmp_path) as run:
        run.kill()
    report = read(tmp_path / "out")
    assert not report.complete
    assert report.footer is None
    assert [(v.id, v.status) for v in report.verdicts] == [("relu.reference", "passed")]
    assert [backend.name for backend in report.backends] == ["mine"]


def test_an_interrupted_run_says_so(tmp_path: Path) -> None:
    with start_hanging_run(tmp_path) as run:
        run.send_signal(signal.SIGINT)
        text = run.communicate(timeout=120)[0]
    report = read(tmp_path / "out")
    assert not report.complete
    assert report.ending == "cut by SIGINT in sigmoid.reference (float32) after 1 of 2 laws"
    assert report.footer is not None
    assert report.footer.exit_status == run.returncode == 2
    assert len(report.verdicts) == 1
    assert "report: out/" in text


def test_a_run_that_stops_at_the_first_failure_is_incomplete(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + EPS_OUTSIDE + RELU)
    run = suite(tmp_path, "--backend=mine.py", "--report=out", "-x", *SELECTION, env=environment(ROOT, **NO_SUMMARY))
    report = read(tmp_path / "out")
    assert run.code == 1
    assert not report.complete
    assert re.fullmatch(r"cut by --maxfail=1 after \d+ of \d+ laws", report.ending)
    assert report.verdicts[-1].status == "failed"


def test_what_is_no_verdict_is_an_error_in_the_report(tmp_path: Path) -> None:
    hook = "def pytest_runtest_teardown(item):\n    if 'relu' in item.name:\n        raise ValueError('of a fixture')\n"
    write(tmp_path, mine=NUMPY + RELU, theirs=hook)
    suite(
        tmp_path,
        "--backend=mine.py",
        "--report=out",
        "-p",
        "theirs",
        *SELECTION,
        env=environment(ROOT, tmp_path, **NO_SUMMARY),
    )
    report = read(tmp_path / "out")
    assert re.fullmatch(r"cut by an error in a fixture or a hook after \d+ of \d+ laws", report.ending)
    assert report.errors[0].when == "teardown"
    assert "of a fixture" in report.errors[0].message
    assert "relu" in report.errors[0].node
    assert [v.id for v in report.verdicts if v.status == "passed"] == ["relu.reference"]


def test_an_internal_error_loses_nothing(tmp_path: Path) -> None:
    hook = "def pytest_runtest_logfinish(nodeid):\n    if 'softmax' in nodeid:\n        raise ValueError('of a plugin')\n"
    write(tmp_path, mine=NUMPY + RELU, theirs=hook)
    run = suite(
        tmp_path,
        "--backend=mine.py",
        "--report=out",
        "-p",
        "theirs",
        *SELECTION,
        env=environment(ROOT, tmp_path, **NO_SUMMARY),
    )
    report = read(tmp_path / "out")
    assert run.code == 3, run.text
    assert report.ending.startswith("cut by an internal error")
    assert not report.complete
    assert "of a plugin" in report.errors[-1].message
    assert "relu.reference" in {v.id for v in report.verdicts}


@pytest.mark.rotating
def test_workers_findings_come_together(tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    write(tmp_path, mine=NUMPY + EPS_OUTSIDE + RELU, other=NUMPY + RELU)
    args = ("--backend=mine.py", "--backend=other.py", "--report=out", "-n2", "-k", "relu.reference or rms_norm.reference")
    run = suite(tmp_path, *args, env=environment(ROOT, **NO_SUMMARY))
    report = read(tmp_path / "out")
    assert report.complete
    assert sorted(backend.name for backend in report.backends) == ["mine", "other"]
    assert {(v.id, v.backend): v.status for v in report.verdicts if v.status != "skipped"} == {
        ("relu.reference", "mine"): "passed",
        ("relu.reference", "other"): "passed",
        ("rms_norm.reference", "mine"): "failed",
    }
    (failed,) = [v for v in report.verdicts if v.status == "failed"]
    assert failed.failure.diagnosis[0].id == "rms_norm/eps-outside-sqrt"
    assert "rms_norm: epsilon stands outside the square root" in run.text


def test_a_worker_that_dies_is_in_the_report(tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    write(tmp_path, mine=NUMPY + RELU + "\n\nimport os\n\ndef sigmoid(x):\n    os._exit(3)\n")
    args = ("--backend=mine.py", "--report=out", "-n1", "-k", "relu.reference or sigmoid.reference")
    suite(tmp_path, *args, env=environment(ROOT, **NO_SUMMARY))
    report = read(tmp_path / "out")
    assert not report.complete  # the test that it was running has no verdict
    assert report.ending == "cut by the end of a worker in sigmoid.reference (float32) after 1 of 2 laws"
    assert [v.id for v in report.verdicts if v.status == "passed"] == ["relu.reference"]
    (error,) = report.errors
    assert "crashed while running" in error.message
    assert "sigmoid" in error.node


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RELU)
    (tmp_path / "taken").write_text("")
    run = suite(tmp_path, "--backend=mine.py", "--report=taken", *SELECTION)
    assert run.complaint.startswith("--report=taken: nothing can be written there (")


def test_a_run_without_a_report_imports_nothing_of_it(tmp_path: Path) -> None:
    loaded = f"[name for name in sys.modules if name in {('jinja2', *(f'spec_tests.{name}' for name in WITH_A_REPORT))!r}]"
    probe = f"import sys\n\n\ndef pytest_unconfigure():\n    print('imported:', {loaded})\n"
    write(tmp_path, mine=NUMPY + RELU, probe=probe)
    run = suite(tmp_path, "-p", "probe", "--backend=mine.py", "-k", "relu.reference", env=environment(ROOT, tmp_path))
    assert "imported: []" in run.text, run.text


def test_the_page_of_a_report_is_made_again(failing: tuple[Run, Report], tmp_path: Path) -> None:
    done = python(tmp_path, "-m", "spec_tests.report", str(failing[1].path.parent), "-o", "page.html", env=environment(ROOT))
    assert done.stdout == "page.html\n"
    assert (tmp_path / "page.html").read_text() == (failing[1].path.parent / "report.html").read_text()
    done = python(tmp_path, "-m", "spec_tests.report", "nowhere", env=environment(ROOT))
    assert done.returncode == 4
    assert done.stderr.startswith("ERROR: nowhere: there is no report")


def test_without_the_template_engine_the_data_are_there(tmp_path: Path) -> None:
    """A module jinja2 that raises an error stands for one that is not installed."""
    write(tmp_path, mine=NUMPY + RELU)
    (absent := tmp_path / "absent").mkdir()  # the suite imports nothing from the folder of the run itself
    write(absent, jinja2="raise ImportError('not installed')")
    run = suite(
        tmp_path, "--backend=mine.py", "--report=out", "-k", "relu.reference", env=environment(ROOT, absent, **NO_SUMMARY)
    )
    assert run.code == 0, run.text
    assert f"the page needs Jinja2, which is not installed: {install_line('report')}" in run.text
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["badge.json", "report.jsonl"]
    assert read(tmp_path / "out").complete
    done = python(tmp_path, "-m", "spec_tests.report", "out", env=environment(ROOT, absent))
    assert done.returncode == 4
    assert done.stderr.startswith("ERROR: the page needs Jinja2")
