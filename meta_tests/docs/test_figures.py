"""Every figure has its provenance, pages say it, and what rests on other sources than today's is listed."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ..measure import __main__ as command
from ..support import measured_files, provenance, sources
from ..support.kept_rows import KeptRows, compute_rows
from ..support.measured_files import Row
from ..support.paths import KEPT_VARIABLE, ROOT
from ..support.provenance import Figures, Provenance

LAW = "spec_tests/test_rms_norm.py"
MODULE = """
import json, sys
from pathlib import Path
from meta_tests.support.paths import MEASURED

assert MEASURED != Path("docs/measured"), "the command writes into the folder of the measurement"
path = Path(sys.argv[1])
rows = json.loads(path.read_text()) if path.exists() else []
path.write_text(json.dumps([*rows, len(rows)]))
sys.exit(len(rows) == 0)  # ended after its first row
"""


def compute(job: tuple[Path, int]) -> list[int]:
    """Note that a row is computed, and fail at the first try of number 2."""
    log, number = job
    tried = log.read_text().split() if log.exists() else []
    with log.open("a") as file:
        file.write(f"{number} ")
    if number == 2 and "2" not in tried:
        raise KeyboardInterrupt
    return [number, number**2]


def read_texts() -> dict[str, str]:
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in sources.list_sources()}


@pytest.fixture
def change_source(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str, str], None]:
    """Return a function that changes what today's sources are, and no file."""

    def change(name: str, before: str, after: str) -> None:
        texts = read_texts()
        assert before in texts[name]
        changed = sources.hash_parts({**texts, name: texts[name].replace(before, after, 1)})
        monkeypatch.setattr(provenance, "hash_parts_of_today", lambda: changed)

    return change


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Figures:
    """Let one figure be recorded, of today's sources."""
    figures = next(one for one in provenance.list_figures() if one.row.file == "false_alarms.json")
    monkeypatch.setattr(provenance, "RECORD", tmp_path / "provenance.json")
    provenance.write_record({figures.name: provenance.take_today(figures)})
    return figures


def test_every_figure_is_recorded_and_every_page_says_its_commit() -> None:
    """Where this fails, run `python -m meta_tests.measure`: it says what to do."""
    assert list(command.list_complaints()) == []


def test_every_file_that_a_page_shows_is_dated() -> None:
    for path in command.list_pages():
        text = path.read_text(encoding="utf-8")
        shown = set(re.findall(r"\{(?:measured|literalinclude)\} (?:\.\./)?measured/(\S+)", text))
        assert shown <= set(command.LINK.findall(text)), path.name


def test_a_record_says_commit_day_machine_operations_and_sources() -> None:
    for name, found in provenance.read_record().items():
        assert re.fullmatch(r"[0-9a-f]{7,}\+?", found.commit), name
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", found.date), name
        assert found.machine, name
    assert provenance.read_record()["kill_matrix.json"].operations > 70
    assert set(provenance.read_record()["kill_matrix.json"].sources) == {"operations", "laws", "bounds", "causes"}


@pytest.mark.rotating
def test_a_fresh_figure_is_not_stale(fresh: Figures) -> None:
    found = provenance.read_record()[fresh.name]
    assert set(found.sources) == {"operations", "laws", "bounds"}
    assert fresh not in [figures for figures, _ in provenance.list_stale()]


@pytest.mark.rotating
@pytest.mark.parametrize(
    ("name", "before", "after", "part"),
    [
        (LAW, "import", "import string\nimport", "laws"),
        ("reference_numpy/rms_norm.py", "return", "return 1.0 *", "operations"),
        ("spec_tests/bounds/error_model.py", "import", "import string\nimport", "bounds"),
    ],
)
def test_a_figure_of_other_sources_is_stale(
    fresh: Figures,
    change_source: Callable[[str, str, str], None],
    capsys: pytest.CaptureFixture[str],
    name: str,
    before: str,
    after: str,
    part: str,
) -> None:
    change_source(name, before, after)
    ((figures, found),) = provenance.list_stale()
    assert (figures, found.changed) == (fresh, [part])
    assert f"since then other {part}" in command.describe_stale(figures, found)
    with pytest.raises(SystemExit):
        command.main(["--check"])
    assert f"{fresh.name}: of " in capsys.readouterr().out


@pytest.mark.rotating
def test_words_alone_make_no_figure_stale(fresh: Figures, change_source: Callable[[str, str, str], None]) -> None:
    change_source(LAW, '"""', '"""In other words: ')
    assert list(provenance.list_stale()) == []


def test_a_figure_that_needs_a_device_does_not_fail_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = next(figures for figures in provenance.list_figures() if figures.row.file == "cuda.txt")
    of_before = replace(provenance.take_today(cuda), sources={"laws": "of before"})
    for stale in ("list_stale", "list_complaints"):
        monkeypatch.setattr(command, stale, lambda stale=stale: iter([(cuda, of_before)] if stale == "list_stale" else []))
    command.main(["--check"])
    assert "(needs a CUDA device)" in command.describe_stale(cuda, of_before)


@pytest.mark.rotating
def test_a_file_that_was_changed_by_hand_is_not_recorded(fresh: Figures, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = provenance.read_record()[fresh.name]
    provenance.write_record({fresh.name: replace(recorded, content="another")})
    assert fresh in provenance.list_unrecorded()


def test_what_a_command_has_written_by_itself_is_recorded_on_request(
    fresh: Figures, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded = provenance.read_record()[fresh.name]
    provenance.write_record({fresh.name: replace(recorded, content="another", commit="0000000")})
    monkeypatch.setattr(command, "date_pages", lambda: None)
    with pytest.raises(SystemExit):  # the others are not recorded in this test
        command.main([fresh.row.file, "--record"])
    assert provenance.read_record()[fresh.name] == recorded
    assert "kill_matrix.json: of no recorded commit." in capsys.readouterr().out


def test_a_measurement_that_was_stopped_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rows_by_rows.py").write_text(MODULE)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{ROOT}")
    committed = tmp_path / "measured"
    committed.mkdir()
    row = Row("rows.json", "`python -m rows_by_rows docs/measured/rows.json`", "laws", "seconds", "", "none")
    (committed / row.file).write_text("[7, 8, 9]")
    for module in (command, provenance):
        monkeypatch.setattr(module, "COMMITTED", committed)
        monkeypatch.setattr(module, "read_table", lambda: {row.file: row})
    monkeypatch.setattr(provenance, "RECORD", committed / "provenance.json")
    monkeypatch.setattr(command, "KEPT", tmp_path / "kept")
    with pytest.raises(SystemExit, match=r"rows.json ended with 1; the same call goes on"):
        command.measure(row, [])
    assert (committed / row.file).read_text() == "[7, 8, 9]", "what was not completed is not published"
    command.measure(row, [])
    assert (committed / row.file).read_text() == "[0, 1]", "the second call began with the row of the first"
    found = provenance.read_record()[row.file]
    assert isinstance(found, Provenance)
    assert found.changed == []
    assert not command.find_folder(row).exists()


def test_rows_that_are_kept_are_not_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEPT_VARIABLE, str(tmp_path))
    jobs = {f"number {number}": (tmp_path / "log", number) for number in range(4)}
    with pytest.raises(KeyboardInterrupt):
        list(compute_rows("squares of/all", jobs, compute, workers=1))
    kept = KeptRows("squares of/all")
    assert kept.path is not None
    assert {"number 0", "number 1"} <= {*kept.rows}
    with kept.path.open("a") as file:
        file.write('["number 2", [2, 3')  # a line that was cut
    (tmp_path / "log").write_text("2 ")
    assert list(compute_rows("squares of/all", jobs, compute, workers=1)) == [[number, number**2] for number in range(4)]
    assert not {"0", "1"} & {*(tmp_path / "log").read_text().split()}


def test_without_a_folder_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEPT_VARIABLE, raising=False)
    jobs = {"three": (tmp_path / "log", 3)}
    assert [*compute_rows("squares", jobs, compute, workers=1), *compute_rows("squares", jobs, compute, workers=1)] == [
        [3, 9]
    ] * 2
    assert (tmp_path / "log").read_text() == "3 3 "


def test_the_table_is_read_whole() -> None:
    lines = [line for line in measured_files.TABLE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    assert len(measured_files.read_table()) == len(lines) > 40
