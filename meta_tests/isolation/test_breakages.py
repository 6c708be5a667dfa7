"""The tables of what becomes of broken and dishonest backends are what runs show: all of a table's backends side by side in one
run, so that each also shows that it harms no other. Those that take their process along are run alone."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..measure.breakages import EFFORT, FOLDERS, ROOT, SECONDS, WAYS, Outcome, _read, backends, blocks, outcome, selection, table
from ..support.pytest_process import Run, suite


def committed(name: str) -> dict[str, dict[str, str]]:
    """What the table says of each backend, each way."""
    return {stem: dict(line.strip().split(maxsplit=1) for line in said.splitlines()[1:]) for stem, said in blocks(name).items()}


def alone(said: str) -> bool:
    """The run was refused, or did not come to its end."""
    return not said.startswith("exit 1; breaks") and not said.startswith("exit 0; conforms")


SOLITARY = {"allocates_without_end", "closes_every_file", "leaves_a_process"}  # in one process with others these harm them


def together(name: str, way: str, folder: Path) -> dict[str, Outcome]:
    """One run for every backend that leaves the run alone."""
    said = committed(name)
    paths = [path for path in backends(name) if not alone(said[path.stem][way])]
    paths = [path for path in paths if way == "--isolate" or path.stem not in SOLITARY]
    laws = " or ".join(sorted({f"({selection(path)})" for path in paths}))
    how = (f"--effort={EFFORT[name]}", "--hypothesis-seed=1", f"--time-limit={SECONDS}", *WAYS[way])
    run = suite(folder, *how, *(f"--backend={path}" for path in paths), "-k", laws)
    return dict(outcomes(run, paths))


def seen(stem: str, said: str) -> str:
    """Which invariant meets an answer to what was at an address, and whether time or memory ends first, is chance."""
    return re.sub("breaks .*;", "breaks some;", said) if stem in ("cached_by_identity", "allocates_without_end") else said


def outcomes(run: Run, paths: list[Path]) -> Iterator[tuple[str, Outcome]]:
    for path in paths:
        law = re.findall(r"sigmoid\.(\w+)", selection(path))
        facts = [fact for fact in run.facts if fact["backend"] == path.stem]
        facts = [f for f in facts if not law or f["operation"] == "relu" or f["id"] == f"sigmoid.{law[0]}"]
        failed = any(fact["status"] == "failed" for fact in facts)
        judged = "it has imported the oracle" if any(fact["oracle"] for fact in facts) else ""
        yield path.stem, _read(int(failed), judged, facts)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", FOLDERS)
def test_the_table_is_what_a_run_shows(name: str, way: str, tmp_path: Path) -> None:
    said = {stem: ways[way] for stem, ways in committed(name).items()}
    found = together(name, way, tmp_path)
    assert {stem: seen(stem, str(one)) for stem, one in found.items()} == {stem: seen(stem, said[stem]) for stem in found}
    assert len(found) > 15


ENDS = [
    ("breakages", "exits"),
    ("breakages", "loses_its_device"),
    ("breakages", "dies_at_import"),
    ("dishonest", "patches_numpy"),
]


@pytest.mark.parametrize(("name", "stem"), ENDS)
def test_what_ends_a_run_does_so(name: str, stem: str) -> None:
    for way in WAYS:
        assert str(outcome(FOLDERS[name] / f"{stem}.py", way)) == committed(name)[stem][way]


def test_every_backend_is_in_a_table() -> None:
    for name in FOLDERS:
        assert list(committed(name)) == [path.stem for path in backends(name)]
    assert len(backends("dishonest")) >= 20


def test_isolated_every_breakage_is_one_verdict_and_harms_no_other() -> None:
    for name in FOLDERS:
        for stem, ways in committed(name).items():
            said = ways["--isolate"]
            assert said.startswith("exit 4; refused") or said.endswith("relu passed"), (stem, said)
            assert alone(said) is said.startswith("exit 4"), (stem, said)


def test_no_dishonest_backend_passes_isolated_but_the_oracle_itself() -> None:
    passing = {stem for stem, ways in committed("dishonest").items() if "; conforms" in ways["--isolate"]}
    assert passing == {"calls_the_oracle"}
    assert "it has imported the oracle" in committed("dishonest")["calls_the_oracle"]["--isolate"]


def test_the_threat_model_says_which_need_isolation() -> None:
    text = (ROOT / "docs" / "threat_model.md").read_text()
    here = {stem: ways["without"] for stem, ways in committed("dishonest").items()}
    for stem, said in here.items():
        passes = "; conforms" in said or "no verdict" in said
        listed = f"`{stem}`" in text.partition("## What needs --isolate")[2].partition("\n## ")[0]
        assert passes is listed or stem == "calls_the_oracle", (stem, said)


def test_the_tables_are_ascii_and_short() -> None:
    for name in FOLDERS:
        assert all(len(line) < 400 for line in table(name).read_text().splitlines())
        json.dumps(committed(name))
