"""Packed gates of the oracle, compared with 60 digits."""

from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from reference_numpy.gated_activation import ACTIVATIONS, gated_activation

from ..support.sixty_digits import DIGITS, U, assert_within, rng


def _normal(z: Any) -> Any:
    return z * mpmath.erfc(-z / mpmath.sqrt(2)) / 2


def _by_tanh(z: Any) -> Any:
    return z * (1 + mpmath.tanh(mpmath.sqrt(2 / mpmath.pi) * (z + mpf(0.044715) * z**3))) / 2


EXACT = {
    "silu": lambda z: z / (1 + mpmath.exp(-z)),
    "gelu": _normal,
    "gelu_tanh": _by_tanh,
    "relu": lambda z: max(z, mpf(0)),
    "sigmoid": lambda z: 1 / (1 + mpmath.exp(-z)),
}


@pytest.mark.parametrize("limit", [None, 1.5, 0.0])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_gated_activation(activation: str, limit: float | None) -> None:
    """The slope of an activation is at most 2, so the 60 u of steps inside it bound the whole, relative to 1 + |g|."""
    r = rng(31)
    g, u = 3 * r.standard_normal(40), 3 * r.standard_normal(40)
    alpha, offset = (1.702, 1.0) if activation == "silu" else (1.0, -0.5)
    with mpmath.workdps(DIGITS):
        exact = []
        for a, b in zip(g, u, strict=True):
            a, b = mpf(float(a)), mpf(float(b))
            if limit is not None:
                a, b = min(a, mpf(limit)), max(min(b, mpf(limit)), -mpf(limit))
            exact.append(EXACT[activation](a * mpf(alpha)) / mpf(alpha) * (b + mpf(offset)))
    options = {"activation": activation, "limit": limit, "alpha": alpha, "offset": offset}
    error = 60 * U * (1 + np.abs(g)) ** 3 * (1 + np.abs(u))
    assert_within(gated_activation(np.concatenate([g, u]), **options), exact, error)
    assert_within(gated_activation(np.stack([u, g], -1).ravel(), layout="interleaved", gate="second", **options), exact, error)


def test_unknown_options_are_named() -> None:
    for option in ({"activation": "swish"}, {"layout": "half"}, {"gate": "third"}):
        with pytest.raises(ValueError, match=next(iter(option.values()))):
            gated_activation(np.ones(4), **option)
    with pytest.raises(ValueError, match="3 features are odd"):
        gated_activation(np.ones(3))
