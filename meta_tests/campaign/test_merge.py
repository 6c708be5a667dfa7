"""Tests of merged reports: they say what one process says of the same items, and refuse what does not belong together."""

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest

from spec_tests.campaign.added_verdicts import add_verdicts, identify
from spec_tests.campaign.merge import MergeError, merge
from spec_tests.campaign.plan import read_plan
from spec_tests.report import DATA, format_record, read
from spec_tests.report.bugs import group_bugs
from spec_tests.report.chain import has_every_link
from spec_tests.report.records import to_record
from spec_tests.report.schema import build_schema
from spec_tests.report.verdict import RecordedVerdict

from ..measure.conformance import read_merged
from ..measure.conformance_table import format_table
from ..support.handmade_reports import judged, verdict
from ..support.pytest_process import suite
from .campaigns import make_campaign, spec_tests, summarize

pytestmark = [pytest.mark.rotating, pytest.mark.xdist_group("campaign/merge")]  # which share a campaign


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign whose items are done. Tests that change it take a copy."""
    place = tmp_path_factory.mktemp("finished")
    make_campaign(place)
    assert spec_tests(place, "work", "campaign", "--jobs=2").returncode == 0
    return place


@pytest.fixture
def copied(finished: Path, tmp_path: Path) -> Path:
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_a_merged_report_says_what_one_process_says(finished: Path) -> None:
    done = spec_tests(finished, "merge", "campaign")
    assert done.returncode == 1, done.stderr
    assert "wrong: 1 of 1 operations deviates" in done.stdout
    assert "right: smoke: nothing wrong found" in done.stdout
    merged = read(finished / "campaign" / "merged")
    assert has_every_link(merged.path.read_bytes())
    for name in ("right", "wrong"):
        args = (f"--backend={name}.py", "--effort=smoke", "--hypothesis-seed=0", "--seeds=0-3", f"--report=alone-{name}")
        suite(finished, *args)
        alone = read(finished / f"alone-{name}")
        of_items = summarize(merged, name)
        of_one = {key: value for key, value in summarize(alone, name).items() if key in of_items}
        assert len(of_one) == len(of_items) > 15
        assert of_items == of_one
        ours, theirs = ([bug.what for bug in group_bugs(report.verdicts)] for report in (merged, alone))
        assert (ours if name == "wrong" else []) == theirs


def test_every_record_of_a_merged_report_follows_the_schema(finished: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(build_schema())
    spec_tests(finished, "merge", "campaign")
    for line in (finished / "campaign" / "merged" / DATA).read_text().splitlines():
        validator.validate(json.loads(line))


def test_tables_badges_and_differences_are_written_beside_it(copied: Path) -> None:
    spec_tests(copied, "merge", "campaign")
    folder = copied / "campaign" / "merged"
    table = json.loads((folder / "conformance.json").read_text())
    assert table["right"]["relu"]["float32"]["state"] == "conforms"
    assert table["wrong"]["relu"]["float32"]["state"] == "deviates"
    disagreements = json.loads((folder / "disagreements.json").read_text())
    assert {"id": "relu.reference", "dtype": "float32", "holds": ["right"], "fails": ["wrong"]} in disagreements
    assert "red" in (folder / "badge-wrong.json").read_text()
    assert "<table" in (folder / "report.html").read_text()
    shutil.copytree(folder, copied / "before")
    (copied / "wrong.py").write_text((copied / "right.py").read_text())  # mended: a new campaign of the same name
    shutil.rmtree(copied / "campaign")
    make_again = ("plan", "right.py", "wrong.py", "--effort=smoke", "--operation=relu", "-o", "campaign")
    for words in (make_again, ("work", "campaign"), ("merge", "campaign", "--before=before")):
        assert spec_tests(copied, *words).returncode == 0
    differences = json.loads((folder / "differences.json").read_text())
    assert any(
        d["backend"] == "wrong" and d["operation"] == "relu" and d["change"].startswith("fails → holds") for d in differences
    )


def test_the_table_of_conformance_is_made_of_a_merged_report(finished: Path) -> None:
    spec_tests(finished, "merge", "campaign")
    entries = read_merged(finished / "campaign" / "merged", ("relu", "sigmoid"))
    assert entries["right"]["cells"]["sigmoid"]["float32"]["broken"] == []
    assert "reference" in entries["wrong"]["cells"]["relu"]["float32"]["broken"]
    assert "relu" in "\n".join(format_table(entries))


def refusal(folder: Path, *, partial: bool = False) -> str:
    with pytest.raises(MergeError) as refused:
        merge(read_plan(folder), folder, partial=partial)
    return str(refused.value)


def test_gaps_are_refused_unless_they_are_asked_for(copied: Path) -> None:
    folder = copied / "campaign"
    item = read_plan(folder).items[0]
    shutil.rmtree(folder / item.name)
    assert refusal(folder) == f"missing: {item} has no report; spec-tests work makes it"
    partial = merge(read_plan(folder), folder, partial=True).report
    assert not partial.complete
    assert partial.ending == "items are missing"
    assert partial.header.items == len(read_plan(folder).items) - 1


def test_an_item_that_was_cut_off_is_refused(copied: Path) -> None:
    folder = copied / "campaign"
    item = read_plan(folder).items[0]
    data = folder / item.name / DATA
    data.write_text("".join(data.read_text().splitlines(keepends=True)[:-1]))
    assert refusal(folder) == f"cut off: {item} ended early (killed, or still running); spec-tests work continues it"


def test_two_reports_of_one_item_are_refused(copied: Path) -> None:
    folder = copied / "campaign"
    item = read_plan(folder).items[0]
    shutil.copytree(folder / item.name, folder / "another machine" / item.name)
    assert refusal(folder, partial=True).startswith(f"duplicate: {item} has 2 reports")


def change(data: Path, record: str, **fields: Any) -> None:
    """Change fields of the first record of a kind. The lines then have no hashes, as in a report of an earlier version."""
    records = list(map(json.loads, data.read_text().splitlines()))
    next(r for r in records if r["record"] == record).update(fields)
    for one in records:
        one.pop("before", None)
    records[-1].pop("sha256", None)
    data.write_text("".join(map(format_record, records)))


@pytest.mark.parametrize(
    ("record", "fields", "complaint"),
    [
        ("header", {"suite": "0.0.9"}, "mixed versions: suite 0.0.9 and "),
        ("header", {"spec": "0.9"}, "mixed versions: spec 0.9 and "),
        ("backend", {"version": "9.9"}, "mixed versions: wrong is 9.9 and "),
        ("backend", {"sha256": "0" * 64}, "mixed versions: wrong's file, or one that it imports, differs"),
        ("header", {"effort": "thorough"}, "of no item: "),
        ("header", {"seed": "12"}, "of no item: "),
    ],
)
def test_reports_of_other_versions_or_settings_are_refused(
    record: str, fields: dict[str, Any], complaint: str, copied: Path
) -> None:
    folder = copied / "campaign"
    item = next(item for item in read_plan(folder).items if item.backend == "wrong.py")
    change(folder / item.name / DATA, record, **fields)
    assert complaint in refusal(folder, partial=True)


def test_a_report_that_was_edited_is_refused(copied: Path) -> None:
    folder = copied / "campaign"
    item = next(item for item in read_plan(folder).items if item.backend == "wrong.py")
    data = folder / item.name / DATA
    data.write_text(data.read_text().replace('"status": "failed"', '"status": "passed"'))
    assert "was changed after the run had written it" in refusal(folder, partial=True)


def make_verdict(**fields: Any) -> RecordedVerdict:
    counts = {"examples": 4, "refused": 1, "drawn": 5, "answered": 4, "worst": 0.5, "seconds": 1.0}
    node = "x/spec_tests/test_every_operation.py::test_reference[relu-a-float32]"
    return judged(verdict(**{"backend": "a", "node": node, **counts, **fields}))


def shares(precision: str, worst: float) -> dict[str, Any]:
    return {"lse": {"class": precision, "worst": worst, "median": 0.1}}


def test_verdicts_of_items_are_added() -> None:
    cause = {"key": "k", "kind": "unexplained", "operation": "relu", "what": "w", "wrong": 1, "right": 2, "failing": 3}
    found = add_verdicts(
        [
            make_verdict(),
            make_verdict(worst="Infinity", median=0.3, results=shares("mixed", 0.7), **{"class": "eager"}),
            make_verdict(results=shares("fused", 0.9)),
            make_verdict(
                status="failed", causes=[cause], failure={"message": "one"}, node="y/spec_tests/test_every_operation.py::t"
            ),
            make_verdict(
                status="failed",
                causes=[{**cause, "wrong": 5}, {**cause, "key": "other"}],
                failure={"message": "one again"},
                other_failures=[{"message": "two"}],
            ),
            make_verdict(status="skipped", worst=None, median=None, examples=0, drawn=0, answered=0, refused=0),
        ]
    )
    assert (found.status, found.precision, found.worst, found.median) == ("failed", "eager", math.inf, 0.1)
    assert (found.examples, found.drawn, found.answered, found.refused, found.seconds) == (20, 25, 20, 5, 6.0)
    assert [(cause.key, cause.failing, cause.wrong) for cause in found.causes] == [("k", 6, 5), ("other", 3, 1)]
    assert to_record(found.failure) == {"message": "one"}
    assert to_record(found.other_failures) == [{"message": "two"}]
    assert to_record(found.results) == {"lse": {"class": "mixed", "worst": 0.9, "median": 0.1}}
    assert found.node == "spec_tests/test_every_operation.py::t"


def test_where_the_suite_is_installed_makes_no_other_law() -> None:
    one, other = make_verdict(), make_verdict(node="/usr/lib/spec_tests/test_every_operation.py::test_reference[relu-a-float32]")
    assert identify(one) == identify(other)
    assert identify(one) != identify(make_verdict(dtype="float16"))
