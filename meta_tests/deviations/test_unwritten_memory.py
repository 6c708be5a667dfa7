"""A function that returns memory which nothing was written to is said to do so, and no other function is."""

from types import SimpleNamespace
from typing import Any

import pytest

from spec_tests.implementation.backend import Backend, build_backend
from spec_tests.specification.registry import operations

from ..support.in_process import attempt, trials

torch = pytest.importorskip("torch")


def todo(x: Any) -> Any:
    return torch.empty_like(x)


def half_done(x: Any) -> Any:
    y = torch.empty_like(x)
    y[..., ::2] = x[..., ::2].clamp(min=0)
    return y


def blocks_of_8(x: Any) -> Any:
    if x.ndim == 0:
        return x.clamp(min=0)
    y, whole = torch.empty_like(x), x.shape[-1] // 8 * 8
    y[..., :whole] = x[..., :whole].clamp(min=0)
    return y


def zeros(x: Any) -> Any:
    return torch.zeros_like(x)


def random(x: Any) -> Any:
    return torch.randn_like(x)


def constant(x: Any) -> Any:
    return torch.full_like(x, -7.25)


def find_causes(relu: Any) -> list[str]:
    source = SimpleNamespace(framework="torch", dtypes=("float32",), relu=relu)
    under_test: Backend = build_backend(source, operations())
    for test, trial in trials(under_test):
        if test.invariant.id_for(trial.operation_name) in ("relu.reference", "relu.idempotent"):
            attempt(test, trial, seed=1, shrink=True)
    return [cause.symptom for cause in under_test.causes if not cause.explanations]


def test_memory_that_nothing_was_written_to_is_named_once() -> None:
    assert find_causes(todo) == ["it returns memory that nothing was written to: the answer depends on nothing that was passed"]


def test_rows_of_which_nothing_was_written_are_no_reason_to_say_so_of_all() -> None:
    """Of short rows nothing is written, of longer ones a part."""
    (symptom,) = find_causes(blocks_of_8)
    assert symptom.startswith("the last elements of each row of the result, after whole blocks of 8, are never written")


@pytest.mark.parametrize("relu", [half_done, zeros, random, constant, torch.sigmoid])
def test_other_wrong_answers_are_no_such_memory(relu: Any) -> None:
    assert not any("nothing was written to" in symptom for symptom in find_causes(relu))
