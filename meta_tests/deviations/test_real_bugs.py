"""The sample of real bugs: it follows its rule, every bug inside is restated, and the page's figures are those of the command."""

import json

import pytest

from ..measure.real_bugs import END, PAGE, START, Outcome, format_rows, format_table, is_caught, try_bug
from ..real_bugs.restating import list_real_bugs
from ..real_bugs.sample import INSIDE, NO_BUG, REASONS, find_restated, read_hits
from ..support.paths import MEASURED, ROOT

RULE = json.loads((ROOT / "meta_tests/real_bugs/sampling_rule.json").read_text())
RESULTS = MEASURED / "would_it_have_been_caught.json"
RULE_COMMIT = "d6350e0"


def test_the_sample_follows_its_rule() -> None:
    hits = read_hits()
    assert len({hit.link for hit in hits}) == len(hits)
    assert {hit.verdict for hit in hits} <= {NO_BUG, INSIDE, *REASONS}
    assert all(hit.quote for hit in hits)
    queries = list(dict.fromkeys(hit.source for hit in hits if hit.source.startswith("query ")))
    assert queries == [f"query {number}: {query}" for number, query in enumerate(RULE["queries"][: len(queries)], 1)]
    found = 0
    for query in queries:
        assert found < RULE["bugs_that_end_the_sample"], "it ends with the query in which the number is reached"
        own = [hit for hit in hits if hit.source == query]
        assert len(own) <= RULE["hits_a_query"]
        found += sum(hit.is_bug for hit in own)
    assert found >= RULE["bugs_that_end_the_sample"] or len(queries) == len(RULE["queries"])
    assert {hit.source for hit in hits} - {*queries} <= {entry["name"] for entry in RULE["lists"]}


def test_every_bug_inside_is_restated_and_no_other() -> None:
    inside = [hit for hit in read_hits() if hit.verdict == INSIDE]
    assert [hit.link for hit in inside if not find_restated(hit)] == []
    assert {link for bug in list_real_bugs().values() for link in bug.links} == {hit.link for hit in inside}


def test_the_page_and_the_readme_have_the_figures_of_the_command() -> None:
    results = json.loads(RESULTS.read_text())
    assert next(iter(results)) == RULE_COMMIT
    assert RESULTS.with_suffix(".txt").read_text() == format_table(results)
    assert PAGE.read_text().partition(START)[2].partition(END)[0] == format_rows()
    hits = read_hits()
    inside, bugs = [hit for hit in hits if hit.verdict == INSIDE], [hit for hit in hits if hit.is_bug]
    outcomes = {entry["id"]: Outcome(**entry) for entry in results[RULE_COMMIT]["outcomes"]}
    caught = sum(is_caught(hit, outcomes) for hit in inside)
    text = " ".join((ROOT / "README.md").read_text().split())
    sentence = f"Of {len(bugs)} bugs that others wrote down, {len(inside)} are of a kind that it can see, and it caught {caught}"
    assert sentence in text
    named, later = (sum(entry["is_named"] for entry in results[of]["outcomes"]) for of in (RULE_COMMIT, list(results)[-1]))
    sentence = f"Of the {len(outcomes)} pieces of code that restate them, it named {named}, and today's suite names {later}"
    assert sentence in text
    today = {entry["id"]: Outcome(**entry) for entry in list(results.values())[-1]["outcomes"]}
    assert [is_caught(hit, today) for hit in inside] == [is_caught(hit, outcomes) for hit in inside]


@pytest.mark.parametrize("name", list_real_bugs())
def test_what_the_table_says_of_a_bug_is_so(name: str) -> None:
    """With the suite as it is now. A bug that it catches may be one that the suite of the rule did not."""
    results = json.loads(RESULTS.read_text())
    recorded = {entry["id"]: Outcome(**entry) for entry in list(results.values())[-1]["outcomes"]}
    assert bool(try_bug(list_real_bugs()[name], "default", 1, causes=False).law) == bool(recorded[name].law)
