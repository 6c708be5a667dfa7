"""Exponents of scales that come from a logarithm in float32 are named, whichever way they are rounded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spec_tests.deviations import find

LOGARITHM = find("dynamic_quantize/logarithm-in-float32")
BELOW_A_POWER = 256.0 * (1 - 2.0**-24)  # the nearest number of float32, whose logarithm is 8 in float32
OPTIONS: dict[str, Any] = {"dtype": "float8_e4m3fn", "block": (1, None), "scale_dtype": "float8_e8m0fnu"}


@pytest.mark.parametrize(("rule", "scale"), [("floor", 1.0), ("even", 1.0)])
def test_a_logarithm_rounds_up_to_the_next_power(rule: str, scale: float) -> None:
    assert LOGARITHM is not None
    found = LOGARITHM.function(np.array([[BELOW_A_POWER]]), **OPTIONS, scale_rounding=rule)[1]
    assert found == scale


def test_the_power_of_a_smaller_size_is_exact() -> None:
    assert LOGARITHM is not None
    found = LOGARITHM.function(np.array([[255.0]]), **OPTIONS, scale_rounding="floor")[1]
    assert found == 0.5
