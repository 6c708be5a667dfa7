"""Tests of malformed reports: whatever a record holds, reading it gives a report that can be shown, or one sentence."""

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spec_tests.report import ReportError, format_record, read
from spec_tests.report.backend_results import build_results, find_differences
from spec_tests.report.badge import format_badge
from spec_tests.report.github_step import format_step_summary
from spec_tests.report.page import render_page
from spec_tests.report.records import LINES

from ..support.handmade_reports import BACKEND, FOOTER, HEADER, failed, find_complaint, verdict
from ..support.paths import ROOT
from ..support.pytest_process import NUMPY, RELU, environment, python, suite, write

HARDEST = {"share": 0.5, "arguments": {"x": {"shape": [2], "least": 1.0, "largest": 2.0}}, "at": "the only element"}
NEAR_LIMIT = verdict(hardest={**HARDEST, "expected": 1.0, "got": 1.0, "bound": 0.1})
ERROR = {"record": "error", "node": "a node", "when": "call", "message": "a message"}
RECORDS = [HEADER, BACKEND, NEAR_LIMIT, failed("rms_norm.reference"), ERROR, FOOTER]
WRONG_VALUES: list[Any] = [None, True, 3, -1, 1 << 70, 0.5, "", "x", "\ud800\n", [], [[]], [3], {}, {"x": 3}, {"x": {"x": []}}]


def find_places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path to each value inside of a record."""
    if path:
        yield path
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from find_places(item, (*path, key))


def change(record: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """Return the record with another value at the path. `...` removes the member."""
    changed: Any = copy.deepcopy(record)
    *folders, name = path
    place = changed
    for folder in folders:
        place = place[folder]
    if value is ...:
        del place[name]
    else:
        place[name] = value
    return dict(changed)


def show(folder: Path, records: list[dict[str, Any]]) -> str:
    """Read the records and make everything that a report is shown as. Return "shown", or the sentence that refuses it."""
    (folder / "report.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    try:
        report = read(folder)
    except ReportError as error:
        return str(error)
    results = build_results([report, report])
    render_page(results).encode("utf-8", errors="backslashreplace")
    format_badge(results)
    format_step_summary(results)
    find_differences(results[0], results[1])
    return "shown"


def test_every_wrong_value_in_a_record_is_shown_or_refused(tmp_path: Path) -> None:
    cases = [
        (number, path, value)
        for number, record in enumerate(RECORDS)
        for path in find_places(record)
        for value in (*WRONG_VALUES, ...)
    ]
    outcomes = []
    for number, path, value in random.Random(1).sample(cases, 600):
        records = [*RECORDS[:number], change(RECORDS[number], path, value), *RECORDS[number + 1 :]]
        outcomes.append(show(tmp_path, records))
    refused = [outcome for outcome in outcomes if outcome != "shown"]
    assert not any("\n" in outcome for outcome in outcomes)
    assert all("is no report of this suite" in outcome or "has schema" in outcome for outcome in refused)
    assert len(refused) > 250
    assert len(outcomes) - len(refused) > 50


def test_every_kind_of_record_is_checked(tmp_path: Path) -> None:
    assert show(tmp_path, RECORDS) == "shown"
    assert [find_complaint(record) for record in RECORDS] == [""] * len(RECORDS)
    for kind in LINES:
        assert find_complaint({"record": kind}) == f"has a {kind} record without " + repr(
            "schema" if kind == "header" else {"backend": "name", "verdict": "id", "error": "node", "footer": "complete"}[kind]
        )
    assert find_complaint({"record": []}) == "is no record"
    assert find_complaint({"record": "of a later version", "anything": 3}) == ""
    assert find_complaint({**BACKEND, "a later member": 3}) == ""
    assert find_complaint({**FOOTER, "seconds": True}) == "has a seconds that is no number"
    assert find_complaint({**FOOTER, "selected": -1}) == "has a selected that is out of range"
    assert find_complaint({**BACKEND, "sha256": "x"}) == "has a sha256 of another form"


HEADER_LINE = format_record(HEADER)
MALFORMED = {
    "deep": (HEADER_LINE + "[" * 100_000 + "\n{}\n", "line 2 is nested too deeply"),
    "digits": (HEADER_LINE + '{"record": ' + "9" * 5000 + "}\n{}\n", "line 2 is no JSON"),
    "a number": (HEADER_LINE + "3\n", "line 2 is no record"),
    "a list as its kind": (HEADER_LINE + '{"record": []}\n', "its record 2 is no record"),
    "no schema": ('{"record": "header"}\n', "its record 1 has a header record without 'schema'"),
    "a schema in words": ('{"record": "header", "schema": "1"}\n', "its record 1 has a schema that is none of 1"),
    "no member of a verdict": (HEADER_LINE + '{"record": "verdict"}\n', "its record 2 has a verdict record without 'id'"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_report_is_one_sentence_in_every_command(name: str, tmp_path: Path) -> None:
    text, sentence = MALFORMED[name]
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "report.jsonl").write_text(text)
    done = python(tmp_path, "-m", "spec_tests.report", "out", env=environment(ROOT))
    assert done.returncode == 4
    assert done.stderr.count("\n") == 1
    assert sentence in done.stderr


def test_a_malformed_report_is_not_resumed(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RELU)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "report.jsonl").write_text(MALFORMED["deep"][0])
    complaint = suite(tmp_path, "--backend=mine.py", "--report=out", "--resume").complaint
    assert complaint.startswith("--resume: ")
    assert "nested too deeply" in complaint
    assert (tmp_path / "out" / "report.jsonl").read_text() == MALFORMED["deep"][0]
