"""A gradient that automatic differentiation does not return: not implemented, a failure, or 0."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from spec_tests.calls.gradient import Gradient
from spec_tests.calls.violation import NotImplementedVariant, Violation
from spec_tests.implementation.backend import Backend
from spec_tests.implementation.framework import Framework
from spec_tests.implementation.ways_of_calling import VJP
from spec_tests.specification.registry import specification

torch: Any = pytest.importorskip("torch")


def gradient_of(is_detached: Callable[[Any], bool]) -> Gradient:
    """Return the gradient of rms_norm, whose gain has none where the function says so."""

    def rms_norm(x: Any, weight: Any, *, eps: float) -> Any:
        gain = weight.detach() if is_detached(x) else weight
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * gain

    spec = specification("rms_norm_vjp")
    return Gradient(spec, Backend("mine", SimpleNamespace(rms_norm=rms_norm), Framework("torch")), "float32", spec.precision)


def answer(gradient: Gradient, d: int, cotangent: float = 1.0) -> np.ndarray:
    x = np.linspace(-1.0, 2.0, d).astype(np.float32).astype(float)
    return np.asarray(gradient(cotangent * np.ones(d), x, np.ones(d), eps=1e-3).value)


def test_what_another_call_returns_must_be_there() -> None:
    gradient = gradient_of(lambda x: x.shape[-1] > 4)
    assert answer(gradient, 3).shape == (6,)
    with pytest.raises(Violation, match="there is no gradient of weight"):
        answer(gradient, 5)


def test_what_no_call_returns_is_not_implemented() -> None:
    """And is not asked for again, until a call returns it."""
    gradient = gradient_of(lambda x: x.shape[-1] > 4)
    with pytest.raises(NotImplementedVariant, match="carries no gradient of weight"):
        answer(gradient, 5)
    assert answer(gradient, 5).shape == (5,)
    assert answer(gradient, 3).shape == (3,)
    with pytest.raises(Violation, match="there is no gradient of weight"):
        answer(gradient, 6)


def test_zeros_of_a_transform_do_not_show_a_gradient() -> None:
    """torch.func.vjp returns zeros for an argument that the graph does not reach, where a backward pass returns nothing."""
    gradient = gradient_of(lambda x: True)
    call = gradient.call(np.zeros(3), np.linspace(-1.0, 2.0, 3), np.ones(3), eps=1e-3)
    assert not gradient.values(call, gradient.run(call, gradient.native(call), VJP)).any()
    with pytest.raises(NotImplementedVariant, match="carries no gradient of weight"):
        answer(gradient, 3)


def test_a_gradient_that_is_0_anyway_may_be_absent() -> None:
    gradient = gradient_of(lambda x: x.shape[-1] > 4)
    assert answer(gradient, 3).any()
    assert not answer(gradient, 5, cotangent=0.0).any()


def test_an_argument_without_a_gradient_is_not_traced() -> None:
    """PyTorch's cross-entropy refuses a weight that requires a gradient."""

    def cross_entropy(logits: Any, targets: Any, weight: Any = None) -> Any:
        return torch.nn.functional.cross_entropy(logits, targets, weight)

    spec = specification("cross_entropy_vjp")
    backend = Backend("mine", SimpleNamespace(cross_entropy=cross_entropy), Framework("torch"))
    logits, weight = np.eye(3)[:2], np.array([1.0, 2.0, 0.5])
    found = Gradient(spec, backend, "float32", spec.precision)(np.ones(()), logits, np.array([0, 2]), weight=weight)
    assert np.asarray(found.value).shape == (6,)


@pytest.mark.parametrize("returns_an_argument", [True, False])
def test_results_of_a_call_without_elements_may_carry_no_gradient(returns_an_argument: bool) -> None:
    """Each gradient is empty, so that nothing is lost: a state before the first token is a constant."""

    def linear_attention(q: Any, k: Any, v: Any, **options: Any) -> Any:
        assert v.numel() == 0
        return v if returns_an_argument else torch.zeros(v.shape), torch.zeros(*q.shape[:-2], q.shape[-1], v.shape[-1])

    spec = specification("linear_attention_vjp")
    backend = Backend("mine", SimpleNamespace(linear_attention=linear_attention), Framework("torch"))
    gradient, rows = Gradient(spec, backend, "float32", spec.precision), np.zeros((1, 0, 2))
    assert gradient([rows, np.ones((1, 2, 2))], rows, rows, rows).value.shape == (0,)
