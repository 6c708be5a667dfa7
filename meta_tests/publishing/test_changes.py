"""Test what is said to have changed between two reports: no more than both show, and in what else the runs differ."""

import re
from pathlib import Path
from typing import Any

import pytest

from spec_tests.commands import main
from spec_tests.publishing.changes import Change, Changes, Kind
from spec_tests.publishing.changes_page import compare, render_changes
from spec_tests.report import Report, read

from ..support.handmade_reports import failed, report, verdict
from ..support.hostile_text import Elements
from ..support.paths import ROOT

pytest.importorskip("jinja2")
EARLIER = ROOT / "meta_tests" / "earlier_versions" / "c956b87" / "report"
EPS = {"rms_norm/eps-outside-sqrt": "epsilon stands outside the square root"}
MEAN = {"rms_norm/mean-absolute-value": "x is divided by its mean absolute value"}
NONE = verdict("relu.reference", status="skipped", reason="mine does not implement relu", worst=None, median=None, examples=0)
SUPPORT = {"operations": ["relu"]}


@pytest.fixture
def write(tmp_path: Path) -> Any:
    """Return what writes a report in a folder of its own."""
    count = iter(range(100))

    def write(*records: dict[str, Any], backend: dict[str, Any] | None = None, **header: Any) -> Report:
        found = report(tmp_path / str(next(count)), *records, **{"seed": "1", **header})
        if backend:
            text = found.path.read_text().replace('"operations": ["relu"]', f'"operations": {backend["operations"]}')
            found.path.write_text(text)
        return read(found.path)

    return write


def find(before: Report, after: Report) -> Changes:
    (comparison,) = compare(before, after)
    return comparison.changes


def words_of(page: str) -> str:
    return " ".join(" ".join(Elements(page).words).split())


SILU = verdict("silu.reference")
ERROR = {
    **verdict("relu.reference", worst=None, median=None),
    "status": "failed",
    "reason": "an error",
    "failure": {"message": "x"},
}
EAGER = verdict("relu.reference", **{"class": "eager"})
LITTLE = verdict("relu.reference", answered=2, unexplained=126)
EITHER = {**EPS, **MEAN}
CASES = {  # the verdicts before and after, and what became of the operation
    "nothing": ([verdict()], [verdict(worst=0.5)], None),
    "newly wrong": ([verdict("relu.zero")], [failed("relu.zero")], Kind.NEWLY_WRONG),
    "a new law fails": ([verdict("relu.zero")], [verdict("relu.zero"), failed("relu.odd")], Kind.WRONG_BY_OTHER_LAWS),
    "a law fails that was not tried": ([{**NONE, "id": "relu.zero"}, SILU], [failed("relu.zero")], Kind.TRIED_NOW),
    "another cause": ([failed(explained=EPS)], [failed(explained=MEAN)], Kind.OTHER_CAUSE),
    "a cause less": ([failed(explained=EPS), failed("relu.odd", explained=MEAN)], [failed(explained=EPS)], Kind.OTHER_CAUSE),
    "one of two explanations": ([failed(explained=EITHER)], [failed(explained=EPS)], None),
    "the same cause, other laws": ([failed(explained=EPS)], [failed("relu.odd", explained=EPS)], None),
    "fixed": ([failed(), verdict("relu.zero")], [verdict(), verdict("relu.zero")], Kind.FIXED),
    "not tried again": ([failed("relu.odd"), verdict()], [verdict()], Kind.NOT_SHOWN_FIXED),
    "an error in its place": ([failed()], [ERROR, verdict("relu.zero")], Kind.NOT_SHOWN_FIXED),
    "an error of the suite": ([verdict()], [ERROR], Kind.OTHER_CLAIM),
    "not tried any more": ([verdict()], [NONE], Kind.NOT_TRIED),
    "absent": ([failed(), SILU], [SILU], Kind.NOT_TRIED),
    "tried now": ([NONE], [verdict()], Kind.TRIED_NOW),
    "another class": ([verdict()], [EAGER], Kind.OTHER_CLAIM),
    "fewer answers": ([verdict()], [LITTLE], Kind.OTHER_CLAIM),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_became_of_an_operation(name: str, write: Any) -> None:
    before, after, kind = CASES[name]
    found = [change for change in find(write(*before), write(*after)).changes if change.operation == "relu"]
    assert [change.kind for change in found] == ([] if kind is None else [kind])
    backwards = find(write(*after), write(*before)).changes
    assert bool(backwards) is bool(find(write(*before), write(*after)).changes)


def test_every_kind_is_tried(write: Any) -> None:
    tried = {kind for _, _, kind in CASES.values()}
    assert {*Kind} - tried == {Kind.NEWLY_SUPPORTED, Kind.NO_LONGER_SUPPORTED}
    with_relu, without = write(verdict(), SILU), write(SILU, backend={"operations": "[]"})
    assert [change.kind for change in find(without, with_relu).changes] == [Kind.NEWLY_SUPPORTED]
    assert [change.kind for change in find(with_relu, without).changes] == [Kind.NO_LONGER_SUPPORTED]
    no_dtype = [change.kind for change in find(write(SILU), write(SILU, verdict(dtype="float16"))).changes]
    assert no_dtype == [Kind.NEWLY_SUPPORTED]  # by its dtypes, which do not have float16


def test_the_page_has_causes_and_shares_of_both(write: Any) -> None:
    before = write(failed("rms_norm.reference", explained=EPS), verdict("relu.reference", worst=0.25), verdict("silu.reference"))
    after = write(failed("rms_norm.reference", explained=MEAN), verdict("relu.reference", worst=0.75), EAGER)
    page = render_changes(before, after)
    told = words_of(page)
    rows = re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL)
    (row,) = (words_of(row) for row in rows if "eps-outside-sqrt" in row)
    assert row.index("epsilon stands outside") < row.index("x is divided by its mean absolute value")
    assert "still wrong, by other causes" in told
    assert re.search(r"relu float32 0\.25, class fused \S+, class eager", told)


def test_what_else_differs_is_said_first(write: Any) -> None:
    """The reports differ in nothing but the library, or in one more thing."""
    base = write(verdict())
    told = words_of(render_changes(base, write(failed())))
    assert "Suite, effort, seed, device and machine are the same, so both runs drew the same examples." in told
    others: dict[str, Any] = {
        "effort": "smoke", "seed": "2", "suite": "0.0.9", "spec": "0.9", "commit": "c" * 40, "platform": "another OS",
        "python": "3.11.1", "selection": {"keyword": "relu"}, "dtypes": ["float32"], "shapes": 3, "isolate": True,
        "libraries": {"numpy": "1.0"}, "seeds": [0, 3], "precision": "fused", "world_size": 2,
    }  # fmt: skip
    for name, value in others.items():
        (comparison,) = compare(base, write(verdict(), **{name: value}))
        assert len(comparison.circumstances) == 1, name
        told = words_of(render_changes(base, write(verdict(), **{name: value})))
        assert re.search(
            r"Besides the library the runs differ in [\w ]+ \(.+, then .+\): a difference may come from there\.", told
        )
        assert told.index("Besides the library") < told.index("As before")
    anew = write(verdict(), seed=None), write(verdict(), seed=None)
    assert "differ in seed (drawn anew in each)" in words_of(render_changes(*anew))


def test_backends_are_compared_by_their_names(write: Any, tmp_path: Path, capsys: Any) -> None:
    two = write(verdict(), verdict(backend="other"))
    (comparison,) = compare(write(verdict()), two)
    assert comparison.after.name == "mine"
    assert "other is in the second report only, and is not compared." in words_of(render_changes(write(verdict()), two))
    third = write(verdict(), verdict(backend="third"))
    third.path.write_text(third.path.read_text().replace('"mine"', '"fourth"'))
    assert main(["changes", str(two.path), str(third.path), "-o", str(tmp_path / "page.html")]) == 4
    assert "name two reports of one library" in capsys.readouterr().err


def test_a_report_of_an_earlier_version_is_compared(tmp_path: Path, write: Any, capsys: Any) -> None:
    """Its causes are compared with those of today, by the ids that both have."""
    earlier = read(EARLIER)
    assert not find(earlier, earlier).changes
    assert find(earlier, earlier).still_wrong > 0
    assert main(["changes", str(EARLIER), str(write(verdict()).path), "-o", str(tmp_path / "page.html")]) == 0
    assert capsys.readouterr().out.startswith("mine: ")
    told = words_of((tmp_path / "page.html").read_text())
    assert re.search(r"Besides the library the runs differ in .*: a difference may come from there\.", told)
    assert "epsilon stands outside the square root" in told


def test_what_cannot_be_read_or_written_is_refused(tmp_path: Path, write: Any, capsys: Any) -> None:
    good = str(write(verdict()).path)
    assert main(["changes", good, str(tmp_path / "none")]) == 4
    assert "there is no report" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="4"):
        main(["changes", good, good, "-o", str(tmp_path / "none" / "page.html")])
    assert "cannot be written" in capsys.readouterr().err


def test_a_change_knows_both_sides(write: Any) -> None:
    (change,) = find(write(verdict()), write(failed(explained=EPS))).changes
    assert isinstance(change, Change)
    assert (change.before.words, change.after.words) == ("holds (fused)", "1 of 1 laws fail")
    assert [cause.key for cause in change.after.causes] == [*EPS]
