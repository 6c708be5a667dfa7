"""Faults of fast paths, which depend on how the entries of rows stand to one another, get the region in which they show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import spec_tests
from spec_tests.deviations import Deviation, OracleBackend
from spec_tests.diagnosis.regions.facts.structures import (
    ASCENDS,
    BEGINS_WITH_0,
    LARGEST_FIRST,
    NOT_NEGATIVE,
    RowStructure,
    find_structures,
)
from spec_tests.specification.formats import DTYPES

from ..support.rotation import rotate


def in_every_row(structure: RowStructure) -> Callable[..., Any]:
    """Return a fault of calls of which every row has a structure."""

    def fault(right: Any, x: Any, *arguments: Any, **options: Any) -> Any:
        y = right(x, *arguments, **options)
        return 1.25 * y if np.size(x) > 1 and find_structures(np.atleast_1d(x))[structure].all() else y

    return fault


def in_its_row(structure: RowStructure) -> Callable[..., Any]:
    """Return a fault of the rows that have a structure."""

    def fault(right: Any, x: Any, *arguments: Any, **options: Any) -> Any:
        y = right(x, *arguments, **options)
        return np.where(find_structures(np.atleast_1d(x))[structure][..., None], 1.25 * y, y)

    return fault


def in_equal_rows(right: Any, x: Any, *arguments: Any, **options: Any) -> Any:
    y, rows = right(x, *arguments, **options), np.reshape(x, (-1, np.shape(x)[-1]))
    return 1.25 * y if len(rows) > 1 and np.all(rows == rows[:1]) else y


CASES: dict[str, tuple[str, Callable[..., Any]]] = {
    "where every row of x has no negative number": ("gelu", in_every_row(NOT_NEGATIVE)),
    "where every row of x ascends": ("rms_norm", in_every_row(ASCENDS)),
    "where every row of x begins with 0": ("rms_norm", in_every_row(BEGINS_WITH_0)),
    "where all rows of x are equal": ("rms_norm", in_equal_rows),
    "where the row of x begins with its largest magnitude": ("rms_norm", in_its_row(LARGEST_FIRST)),
    "where the row of x ascends": ("rms_norm", in_its_row(ASCENDS)),
}


@pytest.mark.slow
@pytest.mark.parametrize("sentence", rotate(CASES, one_in=3))
def test_the_structure_of_the_rows_is_said(sentence: str) -> None:
    name, fault = CASES[sentence]
    source = OracleBackend(Deviation(name, fault, "fault", (), DTYPES, ()))
    with pytest.raises(AssertionError) as failure:
        spec_tests.check(source, f"{name}.reference", dtype="float64", coverage="any")
    (cause,) = failure.value.causes  # type: ignore[attr-defined]
    assert sentence.removeprefix("where ") in cause.what
