"""Helpers that wrong calls reach, and most right calls do not, are changed before the rest of the equation is."""

from __future__ import annotations

from functools import partial
from typing import Any

from spec_tests.diagnosis.equations.neighbours.source import source_of
from spec_tests.diagnosis.equations.suspects import find_suspects

YARN, LINEAR = ({"d_k": 8, "scaling": scaling, "factor": 2.0, "original_length": 64} for scaling in ("yarn", "linear"))


def evaluations(*calls: dict[str, Any]) -> list[Any]:
    return [partial(lambda equation, keywords: equation(**keywords), keywords=keywords) for keywords in calls]


def find(wrong: list[dict[str, Any]], right: list[dict[str, Any]]) -> set[str]:
    found = find_suspects(source_of("rope_frequencies"), evaluations(*wrong), evaluations(*right))
    return {site.name for site in found}


def test_a_helper_that_wrong_calls_alone_reach_is_suspected() -> None:
    assert find([YARN, YARN], [LINEAR, YARN, LINEAR]) == {"yarn_limits"}


def test_a_helper_that_most_calls_reach_is_not() -> None:
    assert find([YARN], [YARN, YARN, LINEAR]) == set()
    assert find([YARN, LINEAR], [LINEAR]) == set()
    assert find([YARN], []) == set()
