"""The equations that carry a state from call to call, against sums in exact arithmetic and against PyTorch."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import torch
from mpmath import mpf

from reference_numpy.causal_conv1d import causal_conv1d

from ..support.sixty_digits import DIGITS, U, assert_within, rng


@pytest.mark.parametrize("w", [1, 2, 4])
@pytest.mark.parametrize("n", [0, 1, 3, 9])
@pytest.mark.parametrize("activation", [None, "silu"])
def test_causal_conv1d(w: int, n: int, activation: str | None) -> None:
    r = rng(60)
    x, weight, bias, state = (r.standard_normal(shape) for shape in ((3, n), (3, w), (3,), (3, w - 1)))
    out, after = causal_conv1d(x, weight, bias, state, activation=activation)
    with mpmath.workdps(DIGITS):
        for i in range(3):
            columns = [mpf(float(p)) for p in (*state[i], *x[i])]
            expected = []
            for t in range(n):
                y = mpf(float(bias[i])) + sum(mpf(float(weight[i, j])) * columns[t + j] for j in range(w))
                expected.append(y if activation is None else y / (1 + mpmath.exp(-y)))
            assert_within(out[i], expected, 40 * U * 10)
            assert after[i].tolist() == [float(p) for p in columns[n:]]


def test_causal_conv1d_is_that_of_torch() -> None:
    """Batch axes, and the order of the taps, as torch.nn.Conv1d has them."""
    r = rng(61)
    x, weight, bias = r.standard_normal((2, 3, 7)), r.standard_normal((3, 4)), r.standard_normal(3)
    tensors = (torch.from_numpy(a) for a in (x, weight[:, None], bias))
    expected = torch.nn.functional.conv1d(*tensors, padding=3, groups=3)[..., :7].numpy()
    out, state = causal_conv1d(x, weight, bias)
    assert np.max(np.abs(out - expected)) <= 40 * U * 10
    assert np.array_equal(state, x[..., 4:])


def test_an_unknown_activation_is_named() -> None:
    with pytest.raises(ValueError, match="relu"):
        causal_conv1d(np.ones((2, 3)), np.ones((2, 2)), activation="relu")
