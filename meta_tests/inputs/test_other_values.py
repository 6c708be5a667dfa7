"""Test that the calls with other values, which laws make of a call, have arguments that go together."""

from typing import Any

import numpy as np
import pytest

from reference_numpy.linear_attention import linear_attention
from reference_numpy.mamba2_scan import mamba2_scan
from spec_tests.helpers.batch import change_arguments, changeable_arguments
from spec_tests.specification.pytree import leaves

from ..support.answered import answers

TOKENS = np.array([[-0.5, -1.0], [-0.25, -2.0]])
OF_SEQUENCES, OF_TOKENS = np.array([1.0, -1.0]), np.array([[1.0, -1.0], [0.5, 2.0]])


def strict(log_probs: Any, advantages: Any, mask: Any, **options: Any) -> Any:
    """Return 0, and raise where the arguments do not go together, as code may."""
    objective, level = options.get("objective", "clip"), options.get("level", "token")
    assert objective != "clip" or options.get("clip_low", 0.2) is not None
    assert objective != "cispo" or (level == "token" and options.get("ratio_limit") is None)
    assert level == "token" or np.ndim(advantages) == 1
    return np.float64(0.0)


@pytest.mark.parametrize(
    ("advantages", "options", "changed"),
    [
        (OF_SEQUENCES, {"objective": "cispo", "clip_low": None, "clip_high": 0.2}, {"objective": "reinforce"}),
        (OF_SEQUENCES, {"objective": "clip", "ratio_limit": 3.0}, {"objective": "reinforce"}),
        (OF_SEQUENCES, {"objective": "clip", "level": "sequence"}, {"objective": "reinforce", "level": "token"}),
        (OF_SEQUENCES, {"objective": "cispo"}, {"objective": "clip"}),
        (OF_TOKENS, {"level": "token"}, {}),
        (OF_SEQUENCES, {"level": "token"}, {"level": "sequence"}),
    ],
)
def test_other_options_of_a_policy_loss_go_together(
    advantages: np.ndarray, options: dict[str, Any], changed: dict[str, Any]
) -> None:
    (call,) = answers("policy_loss", strict, [((TOKENS, advantages, np.ones((2, 2), dtype=bool)), options)])
    single = {name: change_arguments(call, name) for name in changeable_arguments(call)}
    for other in (*single.values(), change_arguments(call)):
        strict(**other.named)
    assert {n: x.named[n] for n, x in single.items() if n in options and x.named[n] != call.named[n]} == changed


RANDOM = np.random.default_rng(0)
ROW = RANDOM.normal(size=(1, 4, 2))
RATES = np.array([[0.5, 0.25, 1.0, 2.0]])
UNIT = ROW / np.linalg.norm(ROW, axis=-1, keepdims=True)
STEPS = np.array([[0.5, 0.25, 1.0, 100.0]])


@pytest.mark.parametrize(
    ("operation", "function", "arguments", "options"),
    [
        ("linear_attention", linear_attention, (ROW, UNIT, ROW, -RATES[..., None]), {"beta": RATES}),
        ("linear_attention", linear_attention, (ROW, 9 * ROW, ROW), {"beta": RATES, "qk_l2norm": True}),
        ("linear_attention", linear_attention, (ROW, ROW, ROW, -100 * RATES[..., None]), {}),
        ("mamba2_scan", mamba2_scan, (ROW, STEPS, np.array([-2.0]), ROW, ROW), {}),
        ("mamba2_scan", mamba2_scan, (ROW, -STEPS, np.array([-2.0]), ROW, ROW), {"dt_softplus": True}),
    ],
)
def test_other_values_of_a_recurrence_let_no_state_grow(operation: str, function: Any, arguments: Any, options: Any) -> None:
    """Every argument has other values nevertheless, and no error bound is below 0, as it was for a negative beta."""
    (call,) = answers(operation, function, [(arguments, options)])
    for name in changeable_arguments(call):
        other = change_arguments(call, name)
        low, high = other.expectation("mixed").ends
        assert np.all(low <= high), name
        is_other = any(not np.array_equal(x, dict(leaves(call.named))[path]) for path, x in leaves(other.named))
        assert is_other or name == "qk_l2norm", name  # longer keys must be normalized
        assert name != "a" or np.all(other.named["a"] < 0)
        assert name != "g" or np.all(other.named["g"] <= 0)
        assert name != "beta" or np.all((other.named["beta"] >= 0) & (other.named["beta"] <= 2))
