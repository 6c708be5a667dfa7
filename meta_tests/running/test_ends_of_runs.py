"""How a run ends: its exit status, what the ledger misses, and what the report says of its end. No process is started."""

from __future__ import annotations

import atexit
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from spec_tests.report import format_record
from spec_tests.report.records import from_record
from spec_tests.report.run_lines import StatedBackend
from spec_tests.report.verdict import RecordedVerdict
from spec_tests.running import exit_status
from spec_tests.running.exit_status import ExitStatus, find_dispatchers
from spec_tests.running.last_words import LastWords
from spec_tests.running.ledger import MAX_NAMED, OUTPUT_KEY, Ledger
from spec_tests.running.recording import Recorder

from ..support.handmade_reports import BACKEND, find_complaint, judged, verdict

OK, FAILED, INTERRUPTED, USAGE = (
    pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED, pytest.ExitCode.USAGE_ERROR
)  # fmt: skip
A, B, C, D, E = (f"spec_tests/test_relu.py::test_{name}" for name in "abcde")


class Plugins:
    """The part of pluggy's manager that is asked."""

    def __init__(self, **plugins: Any) -> None:
        self.plugins = plugins

    def get_plugin(self, name: str) -> Any:
        return self.plugins.get(name.rpartition(".")[2])

    def get_plugins(self) -> list[Any]:
        return list(self.plugins.values())

    def list_plugin_distinfo(self) -> list[Any]:
        return []


def make_config(plugins: Plugins | None = None, **options: Any) -> Any:
    return SimpleNamespace(
        args=["spec_tests"],
        invocation_params=SimpleNamespace(dir=Path("/nowhere"), args=()),
        getoption=lambda name, default=None: {"pyargs": True, "spec_operation": [], **options}.get(name, default),
        pluginmanager=plugins or Plugins(),
    )


def make_session(status: int = OK, **more: Any) -> Any:
    return SimpleNamespace(exitstatus=status, shouldstop=False, shouldfail=False, testscollected=0, **more)


# --- the exit status -------------------------------------------------------------------------------------------------


@pytest.fixture
def at_exit(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a plugin has registered for the end of the process, which this process never runs."""
    registered: list[Any] = []
    monkeypatch.setattr(threading, "_register_atexit", registered.append)
    return registered


@pytest.mark.parametrize(("of_session", "known", "expected"), [(0, None, 0), (1, None, 1), (2, 0, 2), (0, 1, 1), (5, None, 5)])
def test_the_status_is_that_of_the_session_or_a_worse_one(
    of_session: int, known: int | None, expected: int, at_exit: list[Any]
) -> None:
    plugin, session = ExitStatus(LastWords(list), is_worker=True), make_session(of_session)
    plugin.pytest_sessionstart(session)
    assert plugin.status is None
    plugin.status = known
    plugin.pytest_unconfigure()
    assert plugin.status == session.exitstatus == expected
    assert at_exit == [plugin.end_process]


def test_a_run_without_a_session_was_refused(at_exit: list[Any]) -> None:
    plugin = ExitStatus(LastWords(list), is_worker=True)
    plugin.pytest_unconfigure()
    assert plugin.status == USAGE
    assert at_exit == [plugin.end_process]


def test_a_caller_of_pytest_main_goes_on_with_what_was_registered(at_exit: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = ExitStatus(LastWords(list))
    monkeypatch.setattr("spec_tests.running.exit_status.is_command_line", lambda: False)
    register, kept = atexit.register, []
    plugin.originals = lambda f, *a, **k: kept.append((f, a, k)), atexit.unregister  # type: ignore[assignment]
    plugin.install()
    try:
        atexit.register(print, 1, end="")
    finally:
        plugin.pytest_unconfigure()
        atexit.register = register
    assert at_exit == []
    assert kept == [(print, (1,), {"end": ""})]
    assert plugin.functions == []


def test_what_others_register_is_kept_apart() -> None:
    plugin, kept, dropped = ExitStatus(LastWords(list)), [], []
    plugin.originals = lambda *a: kept.append(a), dropped.append  # type: ignore[assignment]
    plugin._register(print, 1)
    plugin._register(repr)
    plugin._register(print, 2)
    plugin._unregister(print)
    assert kept == []
    assert [entry[0] for entry in plugin.functions] == [repr]
    assert dropped == [print]


def test_a_fork_that_would_run_code_of_others_is_not_made() -> None:
    plugin, made = ExitStatus(LastWords(list)), []
    plugin.register_at_fork = lambda **functions: made.append(functions)
    lock = threading.Lock()
    plugin._register_at_fork(before=lock.acquire, after_in_parent=lock.release)
    assert not plugin.runs_others_at_fork
    plugin._register_at_fork(after_in_child=print)
    assert not plugin.runs_others_at_fork, "it would run in the copy"
    plugin._register_at_fork(before=lambda: None)
    assert plugin.runs_others_at_fork
    assert len(made) == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_copy_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    monkeypatch.setattr(exit_status, "EXIT_SECONDS", 0.0)
    monkeypatch.setattr(os, "killpg", lambda child, number: ended.append(child))
    child = os.fork()
    if child == 0:
        time.sleep(20)
        os._exit(0)
    exit_status._wait(child)
    assert ended == [child]


def test_the_dispatchers_of_the_standard_library_are_found() -> None:
    names = {getattr(function, "__qualname__", "") for function in find_dispatchers()}
    assert {"finalize._exitfunc", "shutdown"} <= names


# --- the ledger ------------------------------------------------------------------------------------------------------


def make_ledger(outcomes: dict[str, str], reported: dict[str, str] | None = None, **options: Any) -> Ledger:
    """Return the ledger of laws with these outcomes, all of which were collected, were due and are reported as they were."""
    ledger = Ledger(make_config(**options))
    ledger.collected = ledger.due = list(outcomes)
    ledger.outcomes = {node: outcome for node, outcome in outcomes.items() if outcome}
    ledger.reported = dict(ledger.outcomes) if reported is None else reported
    return ledger


def test_nothing_is_missed_where_nothing_was_changed() -> None:
    assert make_ledger({A: "passed", B: "failed", C: "skipped"}).find_complaints(make_session(FAILED)) == []


BY_OTHERS = "by a conftest.py or a plugin of another project"
NOT_TRIED = "not tried, because of a mark, a fixture or a plugin of another project"


def skip_all(ledger: Ledger) -> None:
    ledger.outcomes.clear()
    ledger.reported.clear()
    ledger.skip_reasons[A] = "not today"


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda x: x.due.remove(B), f"1 law (test_b) was removed {BY_OTHERS}"),
        (lambda x: x.reported.update({B: "passed"}), f"1 law (test_b) was found to fail, and reported otherwise {BY_OTHERS}"),
        (lambda x: x.outcomes.pop(A), f"1 law (test_a) was {NOT_TRIED}"),
        (skip_all, f"3 laws (test_a, test_b, test_c) were {NOT_TRIED} (not today)"),
        (
            lambda x: x.missing_files.append("test_rope.py"),
            "nothing was collected of 1 file (test_rope.py): a plugin or a setting hides it",
        ),
    ],
)
def test_what_others_change_is_a_complaint(change: Callable[[Ledger], Any], complaint: str) -> None:
    ledger = make_ledger({A: "passed", B: "failed", C: "skipped"})
    ledger.due, ledger.reported = list(ledger.due), dict(ledger.reported)
    change(ledger)
    assert ledger.find_complaints(make_session(FAILED)) == [complaint]


def test_what_an_option_leaves_out_is_not_missed() -> None:
    ledger = make_ledger({A: "passed", B: "passed"}, keyword="a")
    ledger.due = [A]
    ledger.deselected = {B}
    assert ledger.find_removed() == []
    ledger.deselected = set()
    assert ledger.find_removed() == [B]


@pytest.mark.parametrize(("stop", "count"), [("what a thread raised", 0), ("", 1)])
def test_a_law_whose_report_was_cut_is_put_down_to_no_other_project(stop: str, count: int) -> None:
    ledger, session = make_ledger({A: "passed", B: "failed"}, {A: "passed"}), make_session(FAILED)
    session.shouldstop = stop
    assert len(ledger.find_complaints(session)) == count


def test_a_run_that_was_stopped_need_not_have_tried_all() -> None:
    for stopped in ({"status": INTERRUPTED}, {"shouldstop": "-x"}, {"shouldfail": "maxfail"}):
        ledger, session = make_ledger({A: "passed", B: ""}), make_session(FAILED)
        session.exitstatus = stopped.pop("status", FAILED)  # type: ignore[arg-type]
        vars(session).update(stopped)
        assert ledger.find_complaints(session) == []
        ledger.skip_reasons[B] = "a mark"
        assert len(ledger.find_complaints(session)) == 1
    lost = make_ledger({A: "passed", B: ""})
    assert len(lost.find_complaints(make_session())) == 1
    lost.has_lost_worker = True
    assert lost.find_complaints(make_session()) == []
    assert make_ledger({A: ""}, collectonly=True).find_complaints(make_session()) == []


def test_many_laws_are_counted() -> None:
    ledger = make_ledger(dict.fromkeys((A, B, C, D, E), "failed"), {})
    (complaint,) = ledger.find_complaints(make_session(FAILED))
    assert complaint.startswith("5 laws (test_a, test_b, test_c, …) were found")
    assert MAX_NAMED == 3


@pytest.mark.parametrize(
    ("status", "outcome", "complaints", "expected"),
    [(OK, "passed", [], OK), (OK, "failed", [], FAILED), (OK, "passed", ["a plugin did"], FAILED), (FAILED, "failed", [], FAILED),
     (INTERRUPTED, "failed", ["x"], INTERRUPTED), (5, "passed", [], 5)],
)  # fmt: skip
def test_a_failed_run_has_its_status_whatever_others_make_of_it(
    status: int, outcome: str, complaints: list[str], expected: int
) -> None:
    kept = ExitStatus(LastWords(list))
    ledger, session = make_ledger({A: outcome}), make_session(status)
    ledger.config.pluginmanager = Plugins(exit_status=kept)
    ledger.complaints = complaints
    ledger.repair_status(session)
    assert session.exitstatus == expected
    assert kept.status == expected


@pytest.mark.parametrize(("status", "expected"), [(OK, FAILED), (5, FAILED), (INTERRUPTED, INTERRUPTED), (USAGE, USAGE)])
def test_complaints_fail_a_run_that_ended_and_stand_in_the_report(status: int, expected: int) -> None:
    written: list[tuple[str, ...]] = []
    ledger, session = make_ledger({A: "failed"}, {A: "passed"}), make_session(status)
    ledger.config.pluginmanager = Plugins(report=SimpleNamespace(write_error=lambda *texts: written.append(texts)))
    ledger.finish(session, [])
    assert session.exitstatus == expected
    assert len(ledger.complaints) == len(written) == 1
    assert written[0][:2] == ("", "another project")


@pytest.mark.parametrize(
    ("status", "options", "expected"),
    [(OK, {}, FAILED), (5, {}, FAILED), (INTERRUPTED, {}, INTERRUPTED), (USAGE, {}, USAGE), (OK, {"collectonly": True}, OK)],
)
def test_a_required_operation_of_which_nothing_was_tried_fails_a_run_that_ended(
    status: int, options: dict[str, bool], expected: int
) -> None:
    written: list[tuple[str, ...]] = []
    ledger, session = make_ledger({A: "passed"}, **options), make_session(status)
    ledger.config.pluginmanager = Plugins(report=SimpleNamespace(write_error=lambda *texts: written.append(texts)))
    ledger.finish(session, ["rope"])
    assert session.exitstatus == expected
    assert [place for _, place, _ in written] == ["selection"] * (expected == FAILED)
    ledger.repair_status(session)
    assert session.exitstatus == expected


def test_a_failure_of_any_phase_or_worker_counts() -> None:
    ledger = make_ledger({A: "", B: ""}, {})
    phases = [(A, "setup", "passed"), (A, "call", "failed"), (A, "teardown", "passed"), (B, "setup", "failed")]
    phases += [(B, "call", "passed"), (C, "call", "passed"), (C, "teardown", "failed"), (C, "call", "passed")]
    for node, when, outcome in phases:
        told = SimpleNamespace(nodeid=node, when=when, outcome=outcome, passed=outcome == "passed", skipped=False)
        ledger.pytest_runtest_logreport(told)  # type: ignore[arg-type]
    assert ledger.reported == {A: "failed", B: "failed", C: "failed"}
    for outcomes in ({A: "failed", B: "passed"}, {A: "passed", B: "failed"}):
        sent = {"collected": [A, B], "due": [A, B], "missing_files": [], "deselected": [], "marks": {}, "outcomes": outcomes}
        ledger.pytest_testnodedown(SimpleNamespace(workeroutput={OUTPUT_KEY: sent}), None)
    assert ledger.outcomes == {A: "failed", B: "failed"}
    assert not ledger.has_lost_worker
    ledger.pytest_testnodedown(SimpleNamespace(workeroutput={}), None)
    assert ledger.has_lost_worker


# --- the report of a run ---------------------------------------------------------------------------------------------


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[Recorder]:
    config = make_config(report=str(tmp_path), spec_report=str(tmp_path))
    config.invocation_params.dir = tmp_path
    made = Recorder(config)
    made.file = (tmp_path / "report.jsonl").open("ab", buffering=0)
    yield made
    made.file.close()


def read_records(recorder: Recorder) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (recorder.folder / "report.jsonl").read_text().splitlines()]


def end(recorder: Recorder, status: int = OK, selected: int = 0) -> dict[str, Any]:
    """End the run, and return its footer."""
    session = make_session(status)
    session.testscollected = selected
    steps = recorder.pytest_sessionfinish(session)
    next(steps)
    with pytest.raises(StopIteration):
        next(steps)
    footer = read_records(recorder)[-1]
    assert footer["record"] == "footer"
    assert find_complaint(footer) == ""
    return footer


def record_verdict(node: str, status: str, examples: int = 4) -> RecordedVerdict:
    return judged(verdict(node=node, status=status, examples=examples))


def test_a_footer_counts_the_verdicts(recorder: Recorder) -> None:
    for number, status in enumerate(("passed", "passed", "failed", "skipped", "not held")):
        recorder._write_verdict(record_verdict(str(number), status, number))
    recorder.write_error("a node", "setup", "a fixture failed")
    recorder.finished_nodes = set("01234")
    footer = end(recorder, FAILED, 5)
    assert footer["totals"] == {"passed": 2, "failed": 1, "skipped": 1, "not held": 1, "error": 1}
    assert (footer["examples"], footer["selected"], footer["exit_status"]) == (10, 5, FAILED)
    assert (footer["complete"], footer["reason"]) == (True, "finished")


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [("passed", "failed", ["passed", "failed"]), ("passed", "passed", ["passed"]), ("failed", "passed", ["failed"]),
     ("failed", "failed", ["failed"]), ("skipped", "failed", ["skipped", "failed"])],
)  # fmt: skip
def test_of_two_verdicts_on_a_law_a_failure_counts(first: str, second: str, kept: list[str], recorder: Recorder) -> None:
    for status, examples in ((first, 4), (second, 7)):
        recorder._write_verdict(record_verdict("one", status, examples))
    assert [record["status"] for record in read_records(recorder)] == kept
    totals = {status: count for status, count in end(recorder)["totals"].items() if count}
    assert totals == {kept[-1]: 1}
    assert read_records(recorder)[-1]["examples"] == (7 if len(kept) == 2 else 4)


@pytest.mark.parametrize(
    ("status", "finished", "selected", "reason"),
    [
        (OK, 2, 2, "finished"),
        (OK, 1, 2, "stopped"),
        (INTERRUPTED, 2, 2, "stopped"),
        (USAGE, 0, 0, "stopped"),
        (FAILED, 2, 2, "finished"),
    ],
)
def test_a_run_is_complete_if_every_law_came_to_its_end(
    status: int, finished: int, selected: int, reason: str, recorder: Recorder
) -> None:
    recorder.finished_nodes = set(map(str, range(finished)))
    footer = end(recorder, status, selected)
    assert footer["reason"] == reason
    assert footer["complete"] is (reason == "finished")


@pytest.mark.parametrize(("stop", "reason"), [(KeyboardInterrupt(), "interrupted"), (pytest.exit.Exception("x"), "stopped"),
                                              (pytest.Session.Interrupted("x"), "stopped")])  # fmt: skip
def test_who_ended_a_run(stop: BaseException, reason: str, recorder: Recorder) -> None:
    recorder.pytest_keyboard_interrupt(SimpleNamespace(value=stop))  # type: ignore[arg-type]
    footer = end(recorder, INTERRUPTED)
    assert (footer["reason"], footer["complete"]) == (reason, False)


def test_an_internal_error_ends_a_run(recorder: Recorder) -> None:
    recorder.pytest_internalerror("it went wrong")
    footer = end(recorder, 3)
    assert (footer["reason"], footer["complete"], footer["totals"]["error"]) == ("internal error", False, 1)
    assert read_records(recorder)[0] == {"record": "error", "node": "", "when": "internal", "message": "it went wrong"}


def test_a_backend_is_written_once(recorder: Recorder) -> None:
    for name in ("a", "b", "a"):
        recorder._write_new_backends([from_record(StatedBackend, {**BACKEND, "name": name})])
    assert [record["name"] for record in read_records(recorder)] == ["a", "b"]
    assert format_record({"a": float("nan")}) == '{"a": "NaN"}\n'
