"""The mutations of the machinery: each still applies, each has tests that judge it, and the table says what became of them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ..measure.mutations import COLUMNS, EQUIVALENT, MUTATIONS_TXT, format_table, judge, read_outcomes, write_table
from ..mutations.mutation import DoesNotApply, Mutation, load_drawn, load_mutations, load_written, read_source
from ..mutations.selection import FOLDERS, select_tests
from ..mutations.trying import KILLED, NOT_DECIDED, SURVIVED
from ..support.paths import ROOT
from ..support.pytest_process import python

MUTATIONS = load_mutations()
TABLE = "python -m meta_tests.measure.mutations table"


@pytest.mark.parametrize("file", sorted({mutation.file for mutation in MUTATIONS.values()}))
def test_each_mutation_still_applies_at_one_place(file: str) -> None:
    """Change its text with the line that it is about; if the line is gone, remove it, and write or draw another."""
    source = read_source(file)
    for mutation in MUTATIONS.values():
        if mutation.file == file:
            changed = mutation.apply(source)
            compile(changed, file, "exec")
            assert changed != source, mutation.name


def test_there_are_enough_of_them_of_every_kind() -> None:
    written, drawn = list(load_written()), list(load_drawn())
    assert len(MUTATIONS) == len(written) + len(drawn) >= 120, "two have one name"
    assert len(drawn) >= 50
    folders = {mutation.file.split("/")[1] for mutation in MUTATIONS.values()}
    assert folders >= {folder.strip("/") for folder in FOLDERS}
    assert all(mutation.soft for mutation in MUTATIONS.values())
    assert all(mutation.file.startswith("spec_tests/") for mutation in MUTATIONS.values()), "equations have deviations"


def test_the_tests_that_judge_a_file_exist() -> None:
    for folder in FOLDERS:
        tests, smoke = select_tests(f"spec_tests/{folder}")
        files = [argument for argument in tests if argument.endswith(".py")]
        assert files
        assert all((ROOT / file).exists() for file in files), folder
        assert "--effort=smoke" in smoke


def test_a_mutation_that_does_not_apply_says_so() -> None:
    mutation = Mutation("a name", "a file", "x", "y", "nothing")
    for text in ("", "xx"):
        with pytest.raises(DoesNotApply, match=f"a name: its text is at {len(text)} places of a file, and must be at one"):
            mutation.apply(text)


def test_the_stored_table_is_that_of_the_stored_outcomes(tmp_path: Path) -> None:
    write_table(tmp_path / "table.txt")
    assert MUTATIONS_TXT.read_text() == (tmp_path / "table.txt").read_text(), f"{TABLE} writes it"


def test_what_was_tried_is_killed() -> None:
    """At least 95 of 100 that are not equivalent, of which there is at most one in ten, each with a proof."""
    outcomes = read_outcomes()
    found = [judge(mutation, outcomes) for mutation in MUTATIONS.values()]
    assert set(found) <= set(COLUMNS)
    tried = [column for column in found if column in (KILLED, SURVIVED, NOT_DECIDED)]
    assert len(tried) >= 120
    assert tried.count(KILLED) >= 0.95 * len(tried)
    assert found.count(EQUIVALENT) <= 0.1 * len(found)
    assert all(len(mutation.equivalent.split()) > 5 for mutation in MUTATIONS.values() if mutation.equivalent)


def test_every_mutation_that_was_not_killed_is_named_in_the_table() -> None:
    outcomes, lines = read_outcomes(), list(format_table())
    for mutation in MUTATIONS.values():
        column = judge(mutation, outcomes)
        assert (column == KILLED) != any(line.startswith(f"{column}: {mutation.name} (") for line in lines)
    assert re.match(
        r"killed: \d+ of the \d+ that were tried, [\d.]+%", next(line for line in lines if line.startswith("killed:"))
    )


TRY = """
import json
from meta_tests.mutations.mutation import Mutation
from meta_tests.mutations.trying import copy_checkout, import_libraries, try_mutation

file, limit = "spec_tests/processes/message.py", "MAX_DIGITS = 20  #"
import_libraries()
with copy_checkout() as folder:
    before = (folder / file).read_text()
    changes = [Mutation("it", file, limit, new, "it") for new in ("MAX_DIGITS = 10  #", "MAX_DIGITS = 20  # or")]
    found = [try_mutation(mutation, folder) for mutation in changes]
    assert (folder / file).read_text() == before
assert not folder.exists()
print(json.dumps([[outcome.outcome, outcome.by] for outcome in found]))
"""


@pytest.mark.nightly
def test_a_mutation_is_tried_in_a_copy() -> None:
    """One that must be killed, and one that changes nothing, which must survive; the checkout stays as it is."""
    before = read_source("spec_tests/processes/message.py")
    run = python(ROOT, "-c", TRY)
    assert run.returncode == 0, run.stderr
    killed, survived = json.loads(run.stdout.splitlines()[-1])
    assert killed[0] == KILLED
    assert killed[1].startswith("meta_tests/processes/test_trees.py::")
    assert survived == [SURVIVED, ""]
    assert read_source("spec_tests/processes/message.py") == before
