"""Slips of code that works in blocks, and of factors and options that act on some of what they should not: each is found."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from spec_tests.calls.call import Call
from spec_tests.calls.operation import Operation
from spec_tests.deviations._oracle_backend import put_into_oracle
from spec_tests.diagnosis.equations.search import search_equation
from spec_tests.diagnosis.equations.unstable_forms import find_unstable_form
from spec_tests.diagnosis.evidence import Evidence
from spec_tests.diagnosis.operator.search import read_operator
from spec_tests.implementation.backend import Backend, build_backend
from spec_tests.implementation.framework import Framework
from spec_tests.specification.formats import FORMATS
from spec_tests.specification.registry import operations, specification

from ..measure.leave_one_out import answered_calls
from ..support.answered import answers
from ..support.budgets import budget_for

Function = Callable[..., Any]
RNG = np.random.default_rng(11)


def logsumexp_whose_rest_is_not_corrected(x: Any, *, axis: int) -> Any:
    """Whole blocks of 4, and a rest that raises the maximum without rescaling their sum."""
    whole = x.shape[-1] // 4 * 4
    m = np.max(x, axis=-1, keepdims=True)
    first = np.max(x[..., :whole], axis=-1, keepdims=True) if whole else m
    shift = np.where(np.arange(x.shape[-1]) < whole, first, m)
    return (m + np.log(np.sum(np.exp(x - shift), axis=-1, keepdims=True)))[..., 0]


def rms_norm_of_means(x: Any, weight: Any, *, eps: float) -> Any:
    """The mean square is the mean of those of blocks of 8."""
    blocks = [np.mean(np.square(x[..., i : i + 8]), axis=-1) for i in range(0, x.shape[-1], 8)]
    return x / np.sqrt(np.mean(np.stack(blocks, axis=-1), axis=-1, keepdims=True) + eps) * weight


def cross_entropy_smoothed_over_an_even_vocabulary(logits: Any, targets: Any, **options: Any) -> Any:
    """The smoothed share is divided by the size of the vocabulary, rounded up to a multiple of 16."""
    right = specification("cross_entropy").reference
    e, vocab = options["label_smoothing"], logits.shape[-1]
    plain = right(logits, targets, reduction="none")
    even = right(logits, targets, label_smoothing=1.0, reduction="none")
    return (1 - e) * plain + e * even * vocab / (-(-vocab // 16) * 16)


def cross_entropy_capped_at_the_target_alone(logits: Any, targets: Any, **options: Any) -> Any:
    c, m = options["softcap"], np.max(logits, axis=-1)
    lse = m + np.log(np.sum(np.exp(logits - m[..., None]), axis=-1))
    return lse - c * np.tanh(np.take_along_axis(logits, targets[..., None], axis=-1)[..., 0] / c)


def adamw_step_corrected_once_more(parameter: Any, gradient: Any, m: Any, v: Any, *, step: int, **options: Any) -> Any:
    """The rate of the decay is divided by the correction of the second moment."""
    b = options["beta2"]
    options["weight_decay"] /= 1 - b**step
    return specification("adamw_step").reference(parameter, gradient, m, v, step=step, **options)


def of_logsumexp(function: Function) -> list[Call]:
    return answers("logsumexp", function, [((3 * RNG.normal(size=s),), {"axis": -1}) for s in ((5,), (2, 6), (3, 9), (4, 4))])


def of_norm(function: Function) -> list[Call]:
    arrays = [(RNG.normal(size=s), RNG.normal(size=s[-1])) for s in ((2, 11), (3, 20), (4, 16), (9,))]
    return answers("rms_norm", function, [(each, {"eps": 1e-3}) for each in arrays])


def of_loss(function: Function, **options: Any) -> list[Call]:
    cases = [(3 * RNG.normal(size=(2, n, v)), RNG.integers(0, v, (2, n))) for n, v in ((2, 5), (3, 17), (4, 16), (5, 30))]
    return answers("cross_entropy", function, [(each, {"reduction": "none", **options}) for each in cases])


def of_step(function: Function) -> list[Call]:
    def draw(n: int) -> tuple[Any, ...]:
        return (*RNG.normal(size=(3, n)), np.square(RNG.normal(size=n)))

    options = {"learning_rate": 0.1, "beta1": 0.8, "beta2": 0.9, "eps": 1e-8}
    cases = [(3, 1, 0.5), (4, 2, 0.25), (2, 7, 0.5), (5, 3, 0.75)]
    return answers("adamw_step", function, [(draw(n), {"step": t, "weight_decay": d, **options}) for n, t, d in cases])


@pytest.mark.parametrize(
    ("calls", "words"),
    [
        (of_logsumexp(logsumexp_whose_rest_is_not_corrected), "of the whole blocks of 4 alone"),
        (of_norm(rms_norm_of_means), "the means of the blocks of 8"),
        (
            of_loss(cross_entropy_smoothed_over_an_even_vocabulary, label_smoothing=0.25),
            "z.shape[-1] / (z.shape[-1] rounded up to a multiple of 16)",
        ),
        (of_loss(cross_entropy_capped_at_the_target_alone, softcap=2.0), "lse = logsumexp(«logits as a matrix»)"),
        (of_step(adamw_step_corrected_once_more), "/ (1 - b2^step)»"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_the_slip_is_found(calls: list[Call], words: str) -> None:
    evidence = Evidence.gather(calls)
    assert evidence.wrong
    found = search_equation(evidence, budget=budget_for(evidence))
    assert found is not None
    assert words in found.what, found.what


def dq_not_scaled(cotangent: Any, q: Any, *arrays: Any, scale: float | None = None, **options: Any) -> Any:
    dq, *others = specification("scaled_dot_product_attention_vjp").reference(cotangent, q, *arrays, scale=scale, **options)
    return dq * (1 / np.sqrt(q.shape[-1]) if scale is None else scale), *others


def test_a_factor_that_is_an_option_is_said_whether_it_is_given_or_not() -> None:
    """The scale of attention is 1 / √d_k where none is given."""
    under_test = build_backend(put_into_oracle("scaled_dot_product_attention_vjp", dq_not_scaled), set(operations()))
    calls = answered_calls(under_test, "scaled_dot_product_attention_vjp", "float64", "scale", 24)
    evidence = Evidence.gather(list(calls))
    assert evidence.wrong
    found = read_operator(evidence, answer=lambda *_: None, budget=budget_for(evidence))
    assert found is not None
    assert found.what == "the gradient of q is multiplied by scale"


def softmax_by_lse(x: Any, *, axis: int) -> Any:
    m = np.max(x, axis=-1, keepdims=True)
    return np.exp(x - (m + np.log(np.sum(np.exp(x - m), axis=-1, keepdims=True))))


def softmax_of_halves(x: Any, *, axis: int) -> Any:
    e = np.exp(0.9999 * (x - np.max(x, axis=-1, keepdims=True)))
    return e / np.sum(e, axis=-1, keepdims=True)


@pytest.mark.parametrize(("function", "is_named"), [(softmax_by_lse, True), (softmax_of_halves, False)])
def test_weights_by_lse_are_named(function: Function, is_named: bool) -> None:
    under_test, spec = Backend("mine", SimpleNamespace(softmax=function), Framework("numpy")), specification("softmax")
    operation = Operation(spec, under_test, "float32", spec.precision)

    def answer(seed: int) -> Call:
        x = np.random.default_rng(seed).normal(size=(4, 8)) + 3000 * (seed < 5)
        operation(FORMATS["float32"].round(x), axis=-1)
        return operation.recorder.calls[-1]

    evidence = Evidence.gather([answer(seed) for seed in range(3)])
    assert evidence.wrong
    found = find_unstable_form(evidence, lambda wish=None: (answer(seed) for seed in range(3, 9)), lambda: False)
    assert (found is not None) == is_named
    assert found is None or "exp(x − lse)" in found.what
