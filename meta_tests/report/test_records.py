"""The records of a report: what is read of them, which of several counts, whether they are whole, and what is refused."""

from __future__ import annotations

import copy
import hashlib
import json
import math
from pathlib import Path
from typing import Any

import pytest

from spec_tests.report import ReportError, format_record, read, to_json_value
from spec_tests.report.backend_results import build_results
from spec_tests.report.badge import format_badge
from spec_tests.report.records import LARGEST_INTEGER, read_line, write_line

from ..support.handmade_reports import BACKEND, FOOTER, HEADER, failed, find_complaint, report, verdict


def seal(folder: Path, *records: dict[str, Any]) -> Path:
    """Write a report whose footer states the hash of what comes before it."""
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(map(format_record, (HEADER, BACKEND, *records)))
    path = folder / "report.jsonl"
    path.write_text(text + format_record({**FOOTER, "sha256": hashlib.sha256(text.encode()).hexdigest()}))
    return path


def test_a_report_that_was_changed_is_refused(tmp_path: Path) -> None:
    path = seal(tmp_path, failed())
    assert read(path).verdicts[0].status == "failed"
    path.write_text(path.read_text().replace('"status": "failed"', '"status": "passed"'))
    with pytest.raises(ReportError, match="was changed after the run"):
        read(path)


def test_what_comes_after_the_footer_is_refused(tmp_path: Path) -> None:
    path = seal(tmp_path, failed())
    path.write_text(path.read_text() + format_record(verdict()))
    with pytest.raises(ReportError, match="was changed after the run"):
        read(path)


def test_a_report_is_complete_if_its_footer_says_so(tmp_path: Path) -> None:
    assert report(tmp_path / "a", verdict()).complete
    assert report(tmp_path / "a", verdict()).ending == "finished"
    cut = report(tmp_path / "b", verdict(), footer=None)
    assert not cut.complete
    assert cut.ending == "killed, or still running"
    stopped = report(tmp_path / "c", verdict(), footer={**FOOTER, "complete": False, "reason": "stopped"})
    assert not stopped.complete
    assert stopped.ending == "stopped"


def test_of_several_verdicts_on_a_trial_the_last_counts(tmp_path: Path) -> None:
    found = report(tmp_path, verdict(), failed(), verdict("relu.zero"), {**verdict(), "backend": "another"}).verdicts
    assert [(v.id, v.backend, v.status) for v in found] == [
        ("relu.reference", "mine", "failed"), ("relu.zero", "mine", "passed"), ("relu.reference", "another", "passed"),
    ]  # fmt: skip


def test_records_are_kept_by_their_kind(tmp_path: Path) -> None:
    error = {"record": "error", "node": "n", "when": "setup", "message": "m"}
    made = report(tmp_path, error, verdict(), {"record": "of a later version"}, error)
    assert (len(made.backends), len(made.verdicts), len(made.errors)) == (1, 1, 2)
    assert made.header.effort == "default"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *((math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity"), (0.5, 0.5), (True, True), (None, None), (3, 3)),
        *(("x", "x"), ((1, math.nan), [1, "NaN"]), ({1: math.inf}, {"1": "Infinity"}), (Path("a"), "a")),
        ([{"x": -math.inf}], [{"x": "-Infinity"}]),
    ],
)
def test_every_value_is_one_of_json(value: Any, expected: Any) -> None:
    assert to_json_value(value) == expected
    assert type(to_json_value(value)) is type(expected)
    assert json.loads(format_record({"value": value})) == {"value": expected}


def without(record: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key != name}


@pytest.mark.parametrize(
    ("record", "complaint"),
    [
        (verdict(), ""),
        (failed(), ""),
        (without(verdict(), "status"), "has a verdict record without 'status'"),
        (verdict(status="unknown"), "has a status that is none of"),
        (verdict(status=1), "has a status that is none of"),
        (verdict(examples="many"), "has a examples that is no integer"),
        (verdict(examples=True), "has a examples that is no integer"),
        (verdict(examples=0.5), "has a examples that is no integer"),
        (verdict(examples=-1), "has a examples that is out of range"),
        (verdict(examples=LARGEST_INTEGER), "has a examples with too many digits"),
        (verdict(worst=None), "has only one of worst and median"),
        (verdict(median=None), "has only one of worst and median"),
        (verdict(worst=None, median=None), ""),
        (verdict(worst="much", median=0.5), "has a worst that"),
        (verdict(level=3), "has a level that"),
        ({**FOOTER, "complete": 1}, "has a complete that is no boolean"),
        ({**FOOTER, "totals": []}, "has a totals that is no object"),
        ({**BACKEND, "dtypes": "float32"}, "has a dtypes that is no array"),
        ({**BACKEND, "dtypes": [3]}, "has a member of dtypes that is no string"),
        ({"record": "a later kind"}, ""),
        ({"record": "warning"}, ""),
        ({"record": 3}, "is no record"),
        ({}, "is no record"),
    ],
)
def test_what_is_wrong_with_a_record(record: dict[str, Any], complaint: str) -> None:
    assert find_complaint(copy.deepcopy(record)).startswith(complaint)
    assert bool(find_complaint(record)) == bool(complaint)


def contains(written: Any, read: Any) -> bool:
    """Whether all that was read was written again, perhaps with more members."""
    if isinstance(read, dict):
        return all(name in written and contains(written[name], value) for name, value in read.items())
    if isinstance(read, list):
        return len(written) == len(read) and all(map(contains, written, read))
    return bool(written == read)


@pytest.mark.parametrize("record", [HEADER, BACKEND, verdict(), failed(explained={"relu/a": "a", "relu/b": "b or c"}), FOOTER])
def test_what_is_read_of_a_record_is_written_again(record: dict[str, Any]) -> None:
    written = write_line(read_line(record))
    assert contains(written, record)
    assert write_line(read_line(written)) == written


def test_the_badge_is_that_of_the_worst_backend(tmp_path: Path) -> None:
    good, bad = verdict(), {**failed(), "backend": "bad"}
    second = {**BACKEND, "name": "bad", "text": "bad.py"}
    for records in ((second, good, bad), (second, bad, good)):
        badge = json.loads(format_badge(build_results([report(tmp_path, *records)])))
        assert badge["color"] == "red"
        assert badge["message"].startswith("bad: ")
    assert json.loads(format_badge(build_results([report(tmp_path, good)])))["color"] == "brightgreen"
    assert json.loads(format_badge([]))["message"] == "nothing was tried"
