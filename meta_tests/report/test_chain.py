"""Test that a report shows that a line was changed, removed or added, also before it is finished."""

from pathlib import Path

import pytest

from spec_tests.report import ReportError, format_record, read
from spec_tests.report.chain import Chain

from ..support.handmade_reports import BACKEND, FOOTER, HEADER, verdict
from ..support.pytest_process import NUMPY, RELU, suite, write

CHANGES = {
    "a verdict": lambda lines: [line.replace('"passed"', '"failed"', 1) for line in lines],
    "a line less": lambda lines: [*lines[:2], *lines[3:]],
    "two lines exchanged": lambda lines: [*lines[:2], lines[3], lines[2], *lines[4:]],
    "a line twice": lambda lines: [*lines[:3], *lines[2:]],
    "another header": lambda lines: [lines[0].replace('"default"', '"thorough"', 1), *lines[1:]],
}


def make_lines() -> list[str]:
    names = ("relu.reference", "relu.empty", "relu.repeatable")
    records = [HEADER, BACKEND, *(verdict(name, node=name) for name in names)]
    chain = Chain()
    return [chain.add(format_record(record)).decode() for record in records]


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_an_unfinished_report_is_refused(tmp_path: Path, change: str) -> None:
    lines, file = make_lines(), tmp_path / "report.jsonl"
    file.write_text("".join(lines))
    assert len(read(file).verdicts) == 3
    file.write_text("".join([*lines, lines[-1][:20]]))  # the run was killed while it wrote a line
    assert len(read(file).verdicts) == 3
    file.write_text("".join(CHANGES[change](lines)))
    with pytest.raises(ReportError, match="was changed after the run had written it"):
        read(file)


def test_lines_without_links_are_read(tmp_path: Path) -> None:
    (tmp_path / "report.jsonl").write_text("".join(map(format_record, (HEADER, BACKEND, verdict(), FOOTER))))
    assert len(read(tmp_path).verdicts) == 1


def test_a_run_links_its_lines(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RELU)
    assert suite(tmp_path, "--backend=mine.py", "-k", "relu.reference", "--report=out").code == 0
    first, *others = (tmp_path / "out" / "report.jsonl").read_text().splitlines()
    assert '"before": ' not in first
    assert all(line.count('"before": ') == 1 for line in others)
    assert len(others) == 3
