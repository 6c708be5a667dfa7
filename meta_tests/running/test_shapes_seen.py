"""Where the first call of each shape takes long, a search for a cause asks for few new shapes, and the verdict counts them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from spec_tests.implementation import shapes_seen
from spec_tests.implementation.backend import build_backend
from spec_tests.implementation.shapes_seen import COMPARED, SLOW_SECONDS, ShapesSeen
from spec_tests.specification import tuned
from spec_tests.specification.registry import operations
from spec_tests.specification.run_settings import using_settings
from spec_tests.trials.failure_budget import budget_of_failure

from ..support.in_process import attempt, trials_of
from ..support.pytest_process import suite

COMPILED = """
import numpy as np

framework, dtypes, seen = "numpy", ("float32",), set()


def softmax(x, *, axis=-1):
    with open("shapes.txt", "a") as file:
        file.write(f"{x.shape}\\n")
    y = np.exp(x - x.max(axis, keepdims=True, initial=-np.inf))
    y = y / y.sum(axis, keepdims=True)
    return y.astype(x.dtype) * np.float32(1 if x.shape[axis] < 9 else 1.001)
"""


def note(shapes: ShapesSeen, *keys: str) -> None:
    for key in keys:
        with shapes.timed(key):
            pass


def test_new_shapes_are_counted_once() -> None:
    shapes = ShapesSeen()
    note(shapes, "a", "b", "a", "a")
    assert (shapes.calls, shapes.new) == (4, 2)
    told = shapes.tell()
    assert (told.calls, told.new) == (4, 2)
    note(shapes, "b", "c")
    told = shapes.tell()
    assert (told.calls, told.new) == (2, 1)


def test_a_block_admits_so_many_new_shapes() -> None:
    shapes = ShapesSeen()
    note(shapes, "a")
    with shapes.limited_to(2) as limit:
        note(shapes, "b")
        with shapes.limited_to(5):
            note(shapes, "c")
            assert not shapes.admits("d")
        assert shapes.admits("a")
        assert shapes.admits("c")
        assert not limit.is_met
        assert not shapes.admits("d")
        assert limit.is_met
    assert shapes.admits("d")


def test_first_calls_that_take_long_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(1000))
    monkeypatch.setattr(shapes_seen.time, "perf_counter", lambda: next(clock) * 2 * SLOW_SECONDS)
    fast = ShapesSeen()
    for key in "abcdefgh":
        note(fast, key, key)
    assert not fast.is_slow  # as slow as later calls
    slow = ShapesSeen()
    for number in range(COMPARED):
        note(slow, str(number))
        assert not slow.is_slow
    monkeypatch.setattr(shapes_seen.time, "perf_counter", lambda: 0.0)
    note(slow, *map(str, range(COMPARED)))
    assert slow.is_slow


def test_the_searches_of_an_operation_share_its_new_shapes() -> None:
    backend = build_backend(
        type("Right", (), {"framework": "numpy", "relu": staticmethod(lambda x: np.maximum(x, 0))})(), operations()
    )
    with using_settings(shape_count=3):
        limits = list[float]()
        for number in range(20):
            with budget_of_failure(backend, "relu") as budget:
                limits.append(budget.shapes.left)
                note(backend.shapes, *(f"{number} {i}" for i in range(int(budget.shapes.left))))
    assert limits[0] == tuned.NEW_SHAPES // 2
    assert limits == sorted(limits, reverse=True)
    assert sum(limits[:6]) <= tuned.NEW_SHAPES
    with budget_of_failure(backend, "relu") as budget:
        assert budget.shapes.left == float("inf")


def make_softmax(seen: set[tuple[int, ...]]) -> object:
    def softmax(x: np.ndarray, *, axis: int = -1) -> np.ndarray:
        seen.add(x.shape)
        y = np.exp(x - x.max(axis, keepdims=True, initial=-np.inf))
        y = y / y.sum(axis, keepdims=True)
        return y.astype(x.dtype) * x.dtype.type(1 if x.shape[axis] < 9 else 1.001)

    return type("Compiled", (), {"framework": "numpy", "dtypes": ("float32",), "softmax": staticmethod(softmax)})()


def count_shapes(**settings: int) -> tuple[int, str]:
    """Return how many shapes were called by a law that fails and by the search for its cause, and the cause."""
    seen: set[tuple[int, ...]] = set()
    under_test = build_backend(make_softmax(seen), operations())
    with using_settings(**settings):
        for test, trial in trials_of("softmax", under_test):
            if test.invariant.id_for(trial.operation_name) == "softmax.reference":
                attempt(test, trial, 1, shrink=True)
    (cause,) = under_test.causes
    return len(seen), cause.explanations[0].what


@pytest.mark.rotating
def test_a_search_asks_for_few_new_shapes() -> None:
    count, sentence = count_shapes(shape_count=3)
    assert count <= 3 + tuned.NEW_SHAPES + 8  # the law itself may turn a shape, and lay rows behind one another
    assert "n = 9" in sentence


@pytest.mark.rotating
def test_the_verdict_counts_the_shapes(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(COMPILED)
    done = suite(tmp_path, "--backend=mine.py", "--shapes=3", "--report=r", "--hypothesis-seed=1", "-k", "softmax and reference")
    assert done.code == 1, done.text
    lines = (tmp_path / "shapes.txt").read_text().splitlines()
    facts = map(json.loads, (tmp_path / "r" / "report.jsonl").read_text().splitlines())
    told = [fact["shapes"] for fact in facts if isinstance(fact.get("shapes"), dict)]
    calls, new = sum(shapes["calls"] for shapes in told), sum(shapes["new"] for shapes in told)
    assert calls <= len(lines)
    assert new == len(set(lines))
    assert f"{calls} calls, {new} of them the first of their shapes, which took " in " ".join(done.text.split())
