"""The laws of policy_loss hold of a function with one estimator of the divergence, which its domain states."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from reference_numpy import policy_loss as equation
from spec_tests.implementation.backend import build_backend
from spec_tests.specification.registry import operations

from ..support.in_process import caught_by


def policy_loss(
    log_probs: Any,
    advantages: Any,
    mask: Any,
    old_log_probs: Any = None,
    reference_log_probs: Any = None,
    *,
    kl_weight: float = 0.0,
) -> Any:
    return equation.policy_loss(log_probs, advantages, mask, old_log_probs, reference_log_probs, kl_weight=kl_weight)


def test_no_law_states_the_estimator_twice() -> None:
    source = SimpleNamespace(
        framework="numpy", dtypes=("float64",), policy_loss=policy_loss, domain={"policy_loss": {"kl_estimator": ("k3",)}}
    )
    under_test = build_backend(source, set(operations()))
    assert caught_by(under_test, seed=1, only="policy_loss.weight_of_the_divergence") == {}
