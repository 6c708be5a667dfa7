"""The shares of its bound that a report tells of an array: the class that it needs, the worst share and the median."""

from __future__ import annotations

import numpy as np
import pytest

from spec_tests.calls.operation import Operation
from spec_tests.calls.result import Result
from spec_tests.specification.registry import specification
from spec_tests.trials.shares import STRICTNESS, Shares, compare_parts

from ..support.in_process import backend


def test_the_class_is_the_loosest_that_an_answer_needed_and_the_shares_are_those_of_its_bound() -> None:
    shares, told = Shares(), []
    for precision, share in (("fused", 0.9), ("mixed", 0.2), ("fused", 0.99), ("mixed", 0.5), ("mixed", 0.3), ("mixed", 0.4)):
        told.append(shares.add(precision, np.array([share / 2, share])))
    assert (shares.reached, shares.worst, shares.median) == ("mixed", 0.5, pytest.approx(0.35))
    assert told == [True, True, False, True, False, False]
    shares.add("eager", np.array([0.1]))
    assert (shares.reached, shares.worst, shares.median) == ("eager", 0.1, 0.1)
    shares.add("mixed", np.array([0.7]))
    assert (shares.reached, shares.worst, shares.median) == ("eager", 0.1, 0.1)


def test_nothing_is_told_of_what_is_empty() -> None:
    shares = Shares()
    assert (shares.reached, shares.worst, shares.median) == ("", None, None)
    assert not shares.add("fused", np.zeros(0))
    assert (shares.reached, shares.worst, shares.median) == ("fused", None, None)


def test_which_class_is_looser() -> None:
    assert STRICTNESS == ("exact", "fused", "mixed", "eager")
    shares = Shares("mixed")
    assert [shares.is_looser(precision) for precision in STRICTNESS] == [False, False, False, True]
    assert Shares().is_looser("fused")
    assert not Shares().is_looser("exact")


def test_each_of_several_results_has_its_own_class() -> None:
    tested = Operation(specification("attention_with_lse"), backend("numpy-cpu"), "bfloat16", "eager")
    source = np.random.default_rng(0)
    q, k, v = source.standard_normal((3, 2, 5, 8))
    call = tested.call(q, k, v)
    values = call.storage.round(call.value)
    out, _ = call.parts  # type: ignore[misc]
    values[out.elements] = call.expectation("eager").ends[1][out.elements]
    compared = compare_parts(Result(values, call))
    assert {name: precision for name, (precision, _) in compared.items()} == {"out": "eager", "lse": "fused"}
    assert compared["out"][1].shape == values[out.elements].shape
    assert np.max(compared["out"][1]) > 0.9
    assert np.max(compared["lse"][1]) == 0
    single = Operation(specification("silu"), backend("numpy-cpu"), "bfloat16", "eager").call(np.ones(3))
    assert compare_parts(Result(single.value, single)) == {}
