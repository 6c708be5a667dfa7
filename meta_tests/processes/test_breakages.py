"""The committed tables of broken and dishonest backends are what new runs show.

All backends of a table run side by side in one run, which also shows that none harms another. Backends that end the run are
run alone.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..measure.breakages import (
    FOLDERS,
    ISOLATION_OPTIONS,
    STRICT,
    Outcome,
    find_effort,
    has_cuda,
    list_arguments,
    list_backends,
    read_blocks,
    run_suite,
    select_tests,
    summarize,
    table_path,
)
from ..support.hostile_process import HostileRun, run_hostile
from ..support.paths import ROOT
from ..support.rotation import is_due


def committed(name: str) -> dict[str, dict[str, str]]:
    """Return the outcome of each backend with each set of options, as the committed table has it."""
    return {
        stem: dict(line.strip().split(maxsplit=1) for line in block.splitlines()[1:]) for stem, block in read_blocks(name).items()
    }


def ends_the_run(outcome_text: str) -> bool:
    """Whether the run was refused, or did not come to its end."""
    return not outcome_text.startswith(("exit 1; breaks", "exit 0; conforms", "exit 0; answers", "exit 0; not tried"))


def find_column(way: str) -> str:
    """Return the column of the table that runs with these options must show."""
    return "--isolate" if way == STRICT else way


HARMFUL = {  # harm others in the same process
    "closes_every_file",
    "finds_modules_first",
    "launches_on_the_current_ordinal",
    "launches_on_the_current_ordinal_and_waits",
    "raises_in_the_main_thread",
    "rings_a_clock_of_its_own",
    "stops_itself_in_every_call",
}


def run_together(name: str, way: str, one_in: int = 1) -> dict[str, Outcome]:
    """Run backends that do not end the run, in one run for each effort, and return the outcome of each.

    With one_in, a share of the backends is run, which changes with the sources that judge.
    """
    texts = committed(name)
    paths = [
        path for path in list_backends(name) if not ends_the_run(texts[path.stem][find_column(way)]) and is_due(path.stem, one_in)
    ]
    paths = [path for path in paths if way != "without" or path.stem not in HARMFUL]
    outcomes: dict[str, Outcome] = {}
    for effort in sorted(set(map(find_effort, paths))):
        some = [path for path in paths if find_effort(path) == effort]
        outcomes |= find_outcomes(run_hostile(*list_arguments(some, way), timeout_seconds=900), some)
    return outcomes


def without_chance(stem: str, outcome_text: str) -> str:
    """Remove from the outcome what depends on chance.

    The law that fails first and the wrong elements depend on the examples that are drawn. For one backend the reason depends on
    chance, too: on which array gets an address again.
    """
    if stem == "cached_by_identity":
        return re.sub("breaks .*;", "breaks some;", outcome_text)
    return re.sub("(?:[0-9]+ )?elements[^;]*", "elements", re.sub(r"breaks [\w ]+: ", "breaks: ", outcome_text))


def find_outcomes(run: HostileRun, paths: list[Path]) -> Iterator[tuple[str, Outcome]]:
    laws = {path: re.findall(r"sigmoid(?:_vjp)?\.\w+", select_tests(path)) for path in paths}
    of_some = {law for named in laws.values() for law in named}  # which the run has tried on all of them
    for path, named in laws.items():
        facts = [fact for fact in run.facts if fact["backend"] == path.stem]
        facts = [f for f in facts if f["operation"] == "relu" or (f["id"] in named if named else f["id"] not in of_some)]
        failed = any(fact["status"] == "failed" for fact in facts)
        text = "it has imported the oracle" if any(fact["oracle"] for fact in facts) else ""
        yield path.stem, summarize(int(failed), text, facts)


DAILY = {("cuda", "--isolate")}
COLUMNS = [
    pytest.param(name, way, marks=pytest.mark.slow if (name, way) in DAILY else pytest.mark.nightly)
    for name in FOLDERS
    for way in ISOLATION_OPTIONS
    if (name, way) != ("cuda", "without")  # a lost context is lost for every backend of the process
]


@pytest.mark.parametrize(("name", "way"), COLUMNS)
def test_the_table_is_what_a_run_shows(name: str, way: str) -> None:
    if name == "cuda" and not has_cuda():
        pytest.skip("this machine has no CUDA device")
    shown = run_together(name, way)
    assert len(shown) > (14 if name == "cuda" else 15)
    compare_with_table(name, way, shown)


# Of a system that lets a confined process signal no other.
REFUSED = {"stops_its_parent": "exit 1; breaks: the call raised PermissionError: [Errno 1] Operation not permitted; relu passed"}


def compare_with_table(name: str, way: str, shown: dict[str, Outcome]) -> None:
    found = {stem: without_chance(stem, str(text)) for stem, text in shown.items()}
    expected = {stem: without_chance(stem, committed(name)[stem][find_column(way)]) for stem in shown}
    if way == STRICT:
        expected |= {stem: text for stem, text in REFUSED.items() if found.get(stem) == text}
    assert found == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", ["breakages", "dishonest"])
def test_a_share_of_the_table_is_what_a_run_shows(name: str) -> None:
    """Many of these backends use up a limit of time, so that all of them take minutes. At least ten of both tables are tried."""
    shown = run_together(name, "--isolate", one_in=6)
    assert shown
    compare_with_table(name, "--isolate", shown)


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["breakages", "dishonest"])
def test_confined_backends_have_the_same_outcomes(name: str) -> None:
    compare_with_table(name, STRICT, run_together(name, STRICT))


@pytest.mark.rotating
@pytest.mark.slow
def test_a_share_of_the_confined_backends_has_the_same_outcomes() -> None:
    shown = run_together("dishonest", STRICT, one_in=10)
    assert shown
    compare_with_table("dishonest", STRICT, shown)


ENDING = [  # some of the backends that end the run
    ("breakages", "exits"),
    ("breakages", "loses_its_device"),
    ("breakages", "dies_at_import"),
    ("dishonest", "patches_numpy"),
]


@pytest.mark.rotating
@pytest.mark.slow
@pytest.mark.parametrize(("name", "stem"), ENDING)
def test_what_ends_a_run_does_so(name: str, stem: str) -> None:
    for way in ISOLATION_OPTIONS:
        assert str(run_suite(FOLDERS[name] / f"{stem}.py", way)) == committed(name)[stem][way]


def test_every_backend_is_in_a_table() -> None:
    for name in FOLDERS:
        assert list(committed(name)) == [path.stem for path in list_backends(name)]
    assert len(list_backends("dishonest")) >= 20


def test_isolated_every_breakage_is_one_verdict_and_harms_no_other() -> None:
    for name in FOLDERS:
        for stem, outcomes in committed(name).items():
            text = outcomes["--isolate"]
            assert text.startswith("exit 4; refused") or text.endswith("relu passed"), (stem, text)
            assert ends_the_run(text) is text.startswith("exit 4"), (stem, text)


def test_no_dishonest_backend_passes_isolated_but_the_oracle_itself() -> None:
    passing = {stem for stem, outcomes in committed("dishonest").items() if "; conforms" in outcomes["--isolate"]}
    assert passing == {"calls_the_oracle", "hides_the_oracle"}
    for stem in passing:
        assert all("it has imported the oracle" in outcome for outcome in committed("dishonest")[stem].values())


def test_the_threat_model_says_which_need_isolation() -> None:
    page = (ROOT / "docs" / "threat_model.md").read_text()
    section = page.partition("## What needs --isolate")[2].partition("\n## ")[0]
    for stem, outcomes in committed("dishonest").items():
        text = outcomes["without"]
        passes, listed = "; conforms" in text or "no verdict" in text, f"`{stem}`" in section
        assert passes is listed or stem in ("calls_the_oracle", "hides_the_oracle"), (stem, text)


def test_the_tables_are_ascii_and_short() -> None:
    for name in FOLDERS:
        assert all(len(line) < 400 for line in table_path(name).read_text().splitlines())
        json.dumps(committed(name))
