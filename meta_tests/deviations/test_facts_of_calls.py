"""The facts of a call that a region of wrong answers is told by: each has the value that its name says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spec_tests.calls.call import Call
from spec_tests.calls.operation import Operation
from spec_tests.diagnosis.regions.facts.structures import RowStructure, find_structures
from spec_tests.specification.registry import specification

from ..support.in_process import backend
from ..support.named_facts import name_element_facts, name_facts

STRUCTURES_OF_ROWS = list(find_structures(np.ones((1, 1))))


def make_call(name: str, *arguments: Any, **keywords: Any) -> Call:
    spec = specification(name)
    return Operation(spec, backend("numpy-cpu"), "float32", spec.precision).call(*arguments, **keywords)


def attend(n: int = 3, m: int = 5, heads: tuple[int, int] = (4, 2), **keywords: Any) -> dict[str, Any]:
    q, kv = np.ones((2, heads[0], n, 8)), np.ones((2, heads[1], m, 8))
    return name_facts(make_call("grouped_query_attention", q, kv, kv, **keywords))


def test_sizes_are_compared() -> None:
    facts = attend()
    expected = {
        "n": 3,
        "m": 5,
        "n = m": False,
        "n > m": False,
        "m > n": True,
        "h > h_kv": True,
        "h_kv > h": False,
        "h = h_kv": False,
    }
    assert expected.items() <= facts.items()
    equal = attend(n=5)
    assert {"n = m": True, "n > m": False, "m > n": False}.items() <= equal.items()
    assert facts["h / h_kv"] == 2
    assert attend(heads=(6, 2))["h / h_kv"] == 3
    assert attend(heads=(6, 6))["h / h_kv"] == 1


def test_the_batch_is_compared_with_sizes() -> None:
    facts = name_facts(make_call("linear", np.ones((2, 3, 4)), np.ones((6, 4))))
    assert facts["batch entries"] == 6
    assert facts["first batch axis"] == 2
    assert any(name.endswith("= batch entries") and value for name, value in facts.items())
    assert name_facts(make_call("linear", np.ones(4), np.ones((6, 4))))["first batch axis"] == 1


def test_the_shape_of_the_result() -> None:
    facts = name_facts(make_call("linear", np.ones((2, 1, 4)), np.ones((6, 4))))
    assert {
        "axes of the result": 3, "columns of the result": 6, "rows of the result": 1, "first axis of the result": 2,
        "an axis of size 1 in the result": True, "a square result": False, "several rows and columns": False,
    }.items() <= facts.items()  # fmt: skip
    assert name_facts(make_call("linear", np.ones((6, 4)), np.ones((6, 4))))["a square result"] is True
    assert name_facts(make_call("linear", np.ones((2, 4)), np.ones((6, 4))))["several rows and columns"] is True


@pytest.mark.parametrize(
    ("value", "holds"),
    [
        (1.0, (False, False, True)),
        (-np.inf, (True, False, False)),
        (np.inf, (False, False, False)),
        (np.nan, (False, True, False)),
    ],
)
def test_what_an_array_holds(value: float, holds: tuple[bool, bool, bool]) -> None:
    facts = name_facts(make_call("softmax", np.array([[0.5, -2.0, value]]), axis=-1))
    assert (facts["−∞ in x"], facts["NaN in x"], facts["x is finite"]) == holds
    largest = 2.0 if np.isnan(value) else max(2.0, abs(value))
    assert facts["the largest |x|"] == largest


def test_an_axis_is_described() -> None:
    facts = name_facts(make_call("softmax", np.ones((2, 3, 4)), axis=-2))
    assert {"the last axis": False, "the first axis": False, "a middle axis": True, "a negative axis": True,
            "entries before the axis": 2, "entries after the axis": 4}.items() <= facts.items()  # fmt: skip


def test_options_and_counts_are_told() -> None:
    mask = np.ones((1, 5), bool)
    facts = attend(mask=mask, scale=0.5)
    assert {"with mask": True, "with options": True, "rows of mask": 1, "scale": 0.5}.items() <= facts.items()
    assert attend()["with options"] is False
    local = make_call("local_attention", np.ones((1, 1, 6, 4)), np.ones((1, 1, 6, 4)), np.ones((1, 1, 6, 4)), window=4)
    facts = name_facts(local)
    assert facts["n > window"] is True
    assert facts["window > n"] is False


def test_entries_of_integer_arrays_are_told() -> None:
    logits = np.zeros((2, 3, 7))
    facts = name_facts(make_call("cross_entropy", logits, np.array([[1, 2, 0], [1, 2, 0]]), ignore_index=2))
    assert facts["0 among the entries of targets"] is True
    assert facts["ignore_index among the entries of targets"] is True
    other = name_facts(make_call("cross_entropy", logits, np.array([[1, 3, 4], [1, 3, 5]]), ignore_index=2))
    assert other["0 among the entries of targets"] is False
    assert other["ignore_index among the entries of targets"] is False
    masks = np.ones((2, 3, 5), bool)
    x, kv = np.ones((2, 3, 4)), np.ones((2, 5, 4))
    equal = name_facts(make_call("scaled_dot_product_attention", x, kv, kv, mask=masks))
    masks = masks.copy()
    masks[1, 0, 0] = False
    unequal = name_facts(make_call("scaled_dot_product_attention", x, kv, kv, mask=masks))
    assert (equal["equal batch entries of mask"], unequal["equal batch entries of mask"]) == (True, False)


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ([4, 4], {"equal lengths": True, "the largest length": 4, "the smallest length": 4, "a full cache": False}),
        ([4, 7], {"equal lengths": False, "the largest length": 7, "the smallest length": 4, "a full cache": False}),
        ([8, 4], {"equal lengths": False, "the largest length": 8, "the smallest length": 4, "a full cache": True}),
    ],
)
def test_the_lengths_of_a_cache(lengths: list[int], expected: dict[str, Any]) -> None:
    cache = np.ones((2, 1, 8, 4))
    call = make_call("attention_with_kv_cache", np.ones((2, 1, 1, 4)), cache, cache, np.array(lengths))
    assert expected.items() <= name_facts(call).items()


def test_lengths_before_keys_are_added_count_these() -> None:
    cache, added = np.ones((2, 1, 8, 4)), np.ones((2, 1, 3, 4))
    for lengths, is_full in (([5, 2], True), ([4, 2], False)):
        call = make_call("kv_cache_append", cache, cache, added, added, np.array(lengths))
        assert name_facts(call)["a full cache"] is is_full


def test_packed_sequences_have_lengths() -> None:
    q, ends = np.ones((7, 1, 4)), np.array([0, 3, 7])
    call = make_call("variable_length_attention", q, q, q, ends, ends)
    facts = name_facts(call)
    assert {"the largest length of q": 4, "the smallest length of k": 3, "equal lengths of q": False}.items() <= facts.items()


def test_facts_of_elements_are_their_places_and_values() -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    facts = name_element_facts(make_call("softmax", x, axis=-1))
    assert facts["column"].tolist() == [0, 1, 2, 3] * 6
    assert facts["column from the end"].tolist() == [3, 2, 1, 0] * 6
    assert facts["row of all"].tolist() == sorted([*range(6)] * 4)
    assert facts["x"].tolist() == x.ravel().tolist()
    assert facts["the largest entry of a row of x"].reshape(2, 3, 4)[1, 2].tolist() == [23.0] * 4
    assert facts["the smallest entry of a row of x"].reshape(2, 3, 4)[1, 2].tolist() == [20.0] * 4
    assert facts["beyond the whole blocks of 4"].any() is np.False_
    q = np.ones((2, 3, 4))
    scores = name_element_facts(make_call("scaled_dot_product_attention", q, q, q))
    assert scores["row"].tolist() == sorted([0, 1, 2] * 4) * 2
    assert scores["column − row"].tolist() == (scores["column"] - scores["row"]).tolist()
    assert scores["batch entry"].tolist() == [0] * 12 + [1] * 12
    wide = name_element_facts(make_call("softmax", np.ones((1, 6)), axis=-1))
    assert wide["beyond the whole blocks of 4"].tolist() == [False] * 4 + [True] * 2


@pytest.mark.parametrize(
    ("row", "structures"),
    [
        ([1.0, 2.0, 3.0], {"ascends", "has no negative number", "ends with its largest magnitude"}),
        ([0.0, -1.0, -3.0], {"descends", "has no positive number", "begins with 0", "ends with its largest magnitude"}),
        ([-3.0, 2.0, 0.0], {"ends with 0", "begins with its largest magnitude"}),
        ([2.0, 2.0, -1.0, -1.0, 3.0], {"repeats every second entry", "ends with its largest magnitude"}),
        ([1.0, np.nan, -2.0], set()),
    ],
)
def test_the_structures_of_a_row(row: list[float], structures: set[str]) -> None:
    other = [0.5, -1.0, 0.25, 0.5, 0.125][: len(row)]
    x = np.array([row, other])
    of_rows = name_element_facts(make_call("softmax", x, axis=-1))
    found = {
        name.removeprefix("the row of x ") for name, holds in of_rows.items() if name.startswith("the row of x ") and holds[0]
    }
    assert found == structures
    of_columns = name_element_facts(make_call("softmax", x.T, axis=0))
    assert all(of_columns[f"the row of x {structure}"].reshape(x.T.shape)[:, 0].all() for structure in structures)
    alone, both = name_facts(make_call("softmax", x[:1], axis=-1)), name_facts(make_call("softmax", x, axis=-1))
    assert all(alone[f"every row of x {structure}"] for structure in structures)
    assert not any(both[f"every row of x {structure}"] for structure in structures)
    assert alone["all rows of x are equal"] is (not np.isnan(row).any())
    assert both["all rows of x are equal"] is False
    assert name_facts(make_call("softmax", np.array([row, [0.0] * len(row)]), axis=-1))["the last row of x is 0"] is True


@pytest.mark.parametrize("structure", STRUCTURES_OF_ROWS, ids=lambda structure: structure.has)
def test_a_row_of_a_structure_can_be_asked_for(structure: RowStructure) -> None:
    rng = np.random.default_rng(0)
    for size in (1, 2, 5, 8):
        rows = structure.fill(1.0)(rng, (4, size), None)
        assert find_structures(rows)[structure].all()
    assert len(set(find_structures(structure.fill(0.5)(rng, (64, 8), None))[structure].tolist())) == 2
