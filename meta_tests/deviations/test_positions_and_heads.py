"""Test what is named where attention mistakes the positions of sequences for those of heads, or has none."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from reference_numpy.multihead_self_attention import multihead_self_attention
from spec_tests.diagnosis.evidence import Evidence
from spec_tests.diagnosis.known_deviations import diagnose

from ..support.answered import answers

RANDOM = np.random.default_rng(5)
HEADS = 3


def draw(positions: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    x, *weights = (RANDOM.normal(size=size) for size in ((HEADS, 5, 12), *[(12, 12)] * 4))
    return (x, *weights), {"num_heads": HEADS, "theta": 100.0, **({} if positions is None else {"positions": positions})}


def meet_heads(x: Any, *weights: Any, positions: Any, num_heads: int, theta: float) -> Any:
    """Head i of each sequence gets the positions of sequence i, as in x cos(angles[positions]) for x (batch, heads, n, d_k)."""
    parts = []
    for i in range(num_heads):
        own = np.zeros(12)
        own[i * 4 : i * 4 + 4] = 1  # the features of this head alone reach the result
        of_head = np.broadcast_to(positions[i], positions.shape)
        *of_scores, w_o = weights
        parts.append(multihead_self_attention(x, *of_scores, w_o * own, of_head, num_heads=num_heads, theta=theta))
    return sum(parts)


def leave_out_rope(x: Any, *weights: Any, num_heads: int, theta: float, positions: Any = None) -> Any:
    if positions is None:
        return multihead_self_attention(x, *weights, num_heads=num_heads)
    return multihead_self_attention(x, *weights, positions, num_heads=num_heads, theta=theta)


@pytest.mark.parametrize(
    ("function", "is_given", "name"),
    [(meet_heads, True, "positions-for-heads"), (leave_out_rope, False, "no-rope-without-positions")],
)
def test_one_bug_is_named(function: Callable[..., Any], is_given: bool, name: str) -> None:
    calls = [draw(RANDOM.integers(0, 50, (HEADS, 5)) if i == 0 or is_given else None) for i in range(3)]
    evidence = Evidence.gather(answers("multihead_self_attention", function, calls))
    assert [deviation.name for deviation in diagnose(evidence)] == [name]
