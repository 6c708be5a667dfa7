"""One entry of an array of integers that stands for all of them is said: the length of one row for that of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from spec_tests.specification.registry import specification

from ..support.answered import answers, read_words

RIGHT = specification("kv_cache_append").reference
LENGTHS = ((2, 0), (1, 3, 2), (2, 2), (3, 1, 0))


def written_behind(choose: Callable[[Any], Any]) -> Callable[..., Any]:
    def kv_cache_append(k_cache: Any, v_cache: Any, k: Any, v: Any, lengths: Any) -> Any:
        return RIGHT(k_cache, v_cache, k, v, np.full_like(lengths, choose(lengths)))

    return kv_cache_append


def explain(function: Callable[..., Any]) -> str:
    rng, calls = np.random.default_rng(5), list[tuple[tuple[Any, ...], dict[str, Any]]]()
    for lengths in LENGTHS:
        b = len(lengths)
        arrays = [rng.normal(size=(b, 2, slots, 3)) for slots in (6, 6, 2, 2)]
        calls.append(((*arrays, np.array(lengths)), {}))
    return read_words(answers("kv_cache_append", function, calls))


@pytest.mark.parametrize(
    ("choose", "which"), [(np.max, "largest"), (np.min, "smallest"), (lambda x: x[0], "first"), (lambda x: x[-1], "last")]
)
def test_one_entry_for_all_is_said(choose: Callable[[Any], Any], which: str) -> None:
    assert explain(written_behind(choose)) == f"the {which} entry of lengths is taken for each of them"


def test_another_length_is_not_called_so() -> None:
    assert "for each of them" not in explain(written_behind(lambda x: 1))
