"""Test that a run that was cut claims nothing, wherever its verdict is read: it says what cut it, and what failed until then."""

import json
import re
from dataclasses import asdict
from pathlib import Path

import pytest

from spec_tests.report import read
from spec_tests.report.backend_results import build_results
from spec_tests.report.badge import format_badge
from spec_tests.report.cut import Cut
from spec_tests.report.github_step import format_step_summary
from spec_tests.report.score import compute_score

from ..support.handmade_reports import FOOTER, failed, report, verdict
from ..support.paths import BACKENDS, ROOT
from ..support.pytest_process import NUMPY, RELU, Run, environment, suite, write

SELECTION = "relu.reference or sigmoid.reference or silu.reference"
SIGMOID = "\ndef sigmoid(x):\n    return (1 / (1 + np.exp(-x.astype(np.float64)))).astype(x.dtype)\n"
WRONG_RELU = "\ndef relu(x):\n    return x\n"
SELF_KILL = "\nimport os, signal\n\ndef sigmoid(x):\n    os.kill(os.getpid(), signal.{})\n    return x\n"
CLAIMS = ("conforms", "nothing wrong found", "keep the verdict")


def run(folder: Path, *args: str, backend: str = "mine.py") -> Run:
    options = (f"--backend={backend}", "--hypothesis-seed=1", "--effort=default", "--report=out", *args)
    return suite(folder, *options, env=environment(ROOT, folder, GITHUB_STEP_SUMMARY=str(folder / "step.md")))


def assert_claims_nothing(folder: Path, done: Run, *sentences: str) -> None:
    """Assert that every place in which the verdict is read says these sentences, and that none claims conformance."""
    words = " ".join(done.text.split())
    _, _, verdict_block = words.partition(" verdict ===")
    assert verdict_block, done.text
    places = {
        "last lines": verdict_block,
        "badge": (folder / "out" / "badge.json").read_text(),
        "page": (folder / "out" / "report.html").read_text(),
        "step": re.sub(r"\\(.)", r"\1", (folder / "step.md").read_text()),
    }
    for place, text in places.items():
        for sentence in sentences:
            assert sentence in text, (place, sentence, text[:1000])
    for place in ("last lines", "badge", "step"):
        assert not any(claim in places[place] for claim in CLAIMS), (place, places[place])
    assert "brightgreen" not in places["badge"]
    found = read(folder / "out")
    assert not found.complete
    assert all(sentence in found.ending for sentence in sentences)
    assert 'class="conforms"' not in places["page"]
    assert compute_score(found, "relu", [], 1, exit_status=2).value == 0


@pytest.mark.rotating
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal(name: str, tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RELU + SELF_KILL.format(name))
    done = run(tmp_path, "-k", SELECTION)
    assert done.code == 2
    assert_claims_nothing(tmp_path, done, f"cut by {name} in sigmoid.reference (float32) after 1 of 3 laws")
    assert "until then nothing failed" in " ".join(done.text.split())


def test_a_signal_before_any_verdict(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + SELF_KILL.format("SIGTERM"))
    done = run(tmp_path, "-k", "sigmoid.reference")
    assert done.code == 2
    assert "cut by SIGTERM in sigmoid.reference (float32) after 0 of 1 law" in " ".join(done.text.split())


@pytest.mark.rotating
def test_what_failed_until_then_is_said(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + WRONG_RELU + SELF_KILL.format("SIGTERM"))
    done = run(tmp_path, "-k", SELECTION)
    assert_claims_nothing(tmp_path, done, "cut by SIGTERM in sigmoid.reference (float32) after 1 of 3 laws")
    words = " ".join(done.text.split())
    assert "until then 1 cause of failures in 1 operation" in words
    assert "1 of 1 operations deviates; cut by SIGTERM" in (tmp_path / "out" / "badge.json").read_text()


@pytest.mark.rotating
@pytest.mark.parametrize("options", [(), ("-n", "2", "--dist=loadfile")], ids=["one process", "xdist"])
def test_the_first_failure_ends_the_run(options: tuple[str, ...], tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + WRONG_RELU + SIGMOID)
    done = run(tmp_path, "-x", "-k", "relu or sigmoid", *options)
    assert done.code == (2 if options else 1)
    found = read(tmp_path / "out")
    (cut,) = found.footer.cuts.values() if found.footer else ()
    assert cut.by == "--maxfail=1"
    assert 0 < cut.judged < cut.selected
    assert_claims_nothing(tmp_path, done, f"cut by --maxfail=1 after {cut.judged} of {cut.selected} laws")


STOPPING = """
import pytest

@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report):
    if report.when == "call":
        SESSION.shouldstop = "session timeout: 7.0 sec exceeded"

def pytest_sessionstart(session):
    global SESSION
    SESSION = session
"""


@pytest.mark.parametrize("attribute", ["shouldstop", "shouldfail"])
def test_a_session_timeout(attribute: str, tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RELU + SIGMOID, timing=STOPPING.replace("shouldstop", attribute))
    done = run(tmp_path, "-p", "timing", "-k", SELECTION)
    assert done.code in (1, 2)
    text = " ".join(done.text.split())
    assert 'cut by "session timeout: 7.0 sec exceeded" after 1 of 3 laws' in text
    assert not any(claim in text for claim in CLAIMS)


def test_pytest_exit(tmp_path: Path) -> None:
    leaving = "import pytest\n\ndef pytest_runtest_teardown(item):\n    if 'relu' in item.name:\n        pytest.exit('enough')\n"
    write(tmp_path, mine=NUMPY + RELU + SIGMOID, leaving=leaving)
    done = run(tmp_path, "-p", "leaving", "-k", SELECTION)
    assert "cut by pytest.exit (enough)" in " ".join(done.text.split())


@pytest.mark.rotating
def test_a_worker_that_ends(tmp_path: Path) -> None:
    ending = "\nimport os\n\ndef sigmoid(x):\n    os._exit(3)\n"
    write(tmp_path, mine=NUMPY + RELU + ending)
    done = run(tmp_path, "-n", "2", "-k", SELECTION)
    assert done.code == 1
    assert_claims_nothing(tmp_path, done, "cut by the end of a worker in sigmoid.reference (float32) after 2 of 3 laws")


def test_an_error_before_a_law(tmp_path: Path) -> None:
    raising = "def pytest_runtest_setup(item):\n    if 'sigmoid' in item.name:\n        raise ValueError('of a hook')\n"
    write(tmp_path, mine=NUMPY + RELU + SIGMOID, raising=raising)
    done = run(tmp_path, "-p", "raising", "-k", SELECTION)
    assert done.code == 1
    assert "mine: cut by an error in a fixture or a hook after 2 of 3 laws" in " ".join(done.text.split())
    assert not any(claim in done.text for claim in CLAIMS)


@pytest.mark.rotating
def test_a_lost_device(tmp_path: Path) -> None:
    losing = BACKENDS / "devices" / "loses_its_context_unnoticed.py"
    done = run(tmp_path, "-k", SELECTION, backend=str(losing))
    assert done.code == 1
    assert_claims_nothing(tmp_path, done, "cut by a lost device after 2 of 3 laws")


@pytest.mark.rotating
@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["one process", "xdist"])
def test_a_limit_of_calls(options: tuple[str, ...], tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RELU + SIGMOID)
    done = run(tmp_path, "--max-calls=10", "-k", SELECTION, *options)
    assert done.code == 2
    assert_claims_nothing(tmp_path, done, "cut by --max-calls after 1 of 3 laws")  # silu, which the backend lacks, is declined


@pytest.mark.rotating
def test_a_limit_that_is_not_reached_cuts_nothing(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RELU + SIGMOID)
    done = run(tmp_path, "--max-calls=100000", "-k", SELECTION)
    assert done.code == 0
    assert "conforms: relu, sigmoid" in done.text
    footer = read(tmp_path / "out").footer
    assert footer is not None
    assert (footer.complete, footer.cuts) == (True, {})


@pytest.mark.rotating
def test_a_failure_is_explained_although_the_limit_is_reached(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + WRONG_RELU + SIGMOID)
    done = run(tmp_path, "--max-calls=1", "-k", SELECTION)
    assert done.code == 1
    assert_claims_nothing(tmp_path, done, "cut by --max-calls after 2 of 3 laws")
    (cause,) = next(fact["causes"] for fact in done.facts if fact["status"] == "failed")
    assert cause["kind"] != "unexplained"


@pytest.mark.rotating
def test_resuming_tries_what_was_cut(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RELU + SIGMOID)
    assert run(tmp_path, "--max-calls=10", "-k", SELECTION).code == 2
    done = run(tmp_path, "--resume", "-k", SELECTION)
    assert done.code == 0
    found = read(tmp_path / "out")
    assert found.complete
    assert {v.id: v.status for v in found.verdicts} == {
        "relu.reference": "passed", "sigmoid.reference": "passed", "silu.reference": "skipped",
    }  # fmt: skip
    assert "conforms: relu, sigmoid" in done.text


@pytest.mark.rotating
def test_each_backend_is_cut_by_itself(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RELU + SELF_KILL.format("SIGTERM"), whole=NUMPY + RELU)
    done = run(tmp_path, "--backend=mine.py", "-k", "relu.reference or sigmoid.reference and mine", backend="whole.py")
    words = " ".join(done.text.partition(" verdict ")[2].split())
    assert "mine: cut by SIGTERM in sigmoid.reference (float32) after 1 of 2 laws" in words
    assert "whole: nothing wrong found conforms: relu" in words


def test_a_bad_limit_is_one_sentence(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RELU)
    done = run(tmp_path, "--max-calls=none")
    assert done.complaint == "--max-calls=none: give a whole number greater than 0, of calls of each backend"


# --- reports ------------------------------------------------------------------------------------------------------------


CUT = Cut("SIGTERM", "silu.zero (float32)", 1, 20)
CUT_FOOTER = {**FOOTER, "complete": False, "reason": "interrupted", "selected": 20, "cuts": {"mine": asdict(CUT)}}


def test_a_report_that_was_cut_claims_nothing(tmp_path: Path) -> None:
    found = report(tmp_path, verdict(), footer=CUT_FOOTER)
    (result,) = build_results([found])
    assert result.tone == "open"
    assert result.sentence == "cut by SIGTERM in silu.zero (float32) after 1 of 20 laws; until then nothing failed"
    assert result.cell("relu", "float32").state == "held"
    assert json.loads(format_badge([result]))["color"] == "lightgrey"
    assert format_step_summary([result]).startswith("## ⚪")
    assert found.ending == CUT.sentence


def test_a_failure_of_a_report_that_was_cut_stands(tmp_path: Path) -> None:
    (result,) = build_results([report(tmp_path, failed(), footer=CUT_FOOTER)])
    assert result.tone == "bad"
    assert result.sentence == f"1 of 1 operations deviates; {CUT.sentence}"


def test_another_backend_of_a_report_that_was_cut_may_be_whole(tmp_path: Path) -> None:
    footer = {**CUT_FOOTER, "cuts": {"other": asdict(CUT)}}
    (result, *_) = build_results([report(tmp_path, verdict(), footer=footer)])
    assert (result.tone, result.sentence) == ("good", "1 operation conforms")


def test_an_older_report_that_was_cut_has_fewer_details(tmp_path: Path) -> None:
    older = {**FOOTER, "complete": False, "reason": "stopped", "selected": 20}
    (result,) = build_results([report(tmp_path / "older", verdict(), footer=older)])
    assert result.sentence == "cut after 1 of 20 laws; until then nothing failed"
    (result,) = build_results([report(tmp_path / "killed", verdict(), footer=None)])
    assert result.sentence == "cut by an end without a footer after 1 law; until then nothing failed"


def test_a_merged_report_that_lacks_items_claims_nothing(tmp_path: Path) -> None:
    (result,) = build_results([report(tmp_path, verdict(), footer={**FOOTER, "complete": False, "reason": "items are missing"})])
    assert result.tone == "open"
    assert result.sentence == "cut by missing items of the campaign after 1 law; until then nothing failed"


@pytest.mark.rotating
@pytest.mark.parametrize("workers", [(), ("-n1",)])
def test_operations_that_the_backend_lacks_were_not_cut(workers: tuple[str, ...], tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + WRONG_RELU + SIGMOID)
    done = run(tmp_path, "-x", "-k", "relu or sigmoid or swiglu or rope", *workers)
    (line,) = re.findall(r"^  cut before their last law: (.*)$", done.text, re.MULTILINE)
    assert line == "relu, sigmoid"
