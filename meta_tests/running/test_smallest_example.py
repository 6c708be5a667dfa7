"""Test that a bug is shown with the same small example, law and sentence, whatever the seed."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import spec_tests
from spec_tests.trials.smallest import LARGEST, SimpleChoices, find_smallest, order_candidates, size_of

from ..measure.small_examples import BUGS, show


@pytest.mark.rotating
@pytest.mark.parametrize("bug", BUGS)
@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 20), marks=[pytest.mark.nightly, pytest.mark.slow])])
def test_a_bug_is_shown_alike_whatever_the_seed(bug: str, seeds: range) -> None:
    first, *others = (show(bug, seed) for seed in seeds)
    assert {(one.law, one.sentence) for one in others} == {(first.law, first.sentence)}
    elements = [one.elements for one in (first, *others)]
    assert max(elements) <= 2 * min(elements)


@pytest.mark.rotating
@pytest.mark.parametrize("seed", range(3))
def test_check_shows_a_small_example(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def softmax(x: np.ndarray, *, axis: int) -> Any:
        e = np.exp(x - np.max(x, axis=-1, keepdims=True))
        return e / np.sum(e, axis=-1, keepdims=True)

    monkeypatch.setattr("hypothesis.core.global_force_seed", seed)
    backend = SimpleNamespace(name="mine", framework="numpy", dtypes=("float32",), softmax=softmax)
    with pytest.raises(spec_tests.DoesNotConform) as failed:
        spec_tests.check(backend, "softmax.reference")
    inputs = str(failed.value).partition("softmax(")[2].partition("\n)")[0]
    assert inputs.count(".") <= 4, str(failed.value)  # numbers


def test_candidates_are_tried_in_the_order_of_their_sizes_until_one_fails() -> None:
    sizes = {0: (9, 0, 0), 1: (4, 1, 7), 2: (4, 0, 9), 3: None, 4: (2, 0, 1)}
    assert order_candidates((9, 0, 0), sizes.values()) == [4, 2, 1]
    tried = list[int]()

    def fails(choices: SimpleChoices) -> bool:
        tried.append(choices.draw_integer(0, 2**20))
        return len(tried) == 2

    assert find_smallest(LARGEST, lambda choices: (choices.draw_integer(0, 2**20), 0, 0), fails, lambda: False)
    assert len(tried) == 2
    assert tried == sorted(tried)
    assert not find_smallest((1, 0, 0), lambda choices: (1, 0, 0), fails, lambda: False)
    assert not find_smallest(LARGEST, lambda choices: (1, 0, 0), fails, lambda: True)
    assert len(tried) == 2


def test_values_that_are_not_finite_and_digits_count_after_elements() -> None:
    def size(*values: float) -> tuple[float, int, int]:
        return size_of([SimpleNamespace(size=len(values), named={"x": np.array(values)})])

    assert size(1.0, 2.0) < size(1.0, 2.5) < size(1.0, np.inf) < size(0.0, 0.0, 0.0)
