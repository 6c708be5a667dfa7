"""Numbers that are limited to the range of a format too early are said."""

from __future__ import annotations

from typing import Any

import ml_dtypes  # noqa: F401 - NumPy knows float8_e4m3fn by it
import numpy as np

from spec_tests.deviations.quantize import overflow_to_nan
from spec_tests.specification.registry import specification

from ..support.answered import answers, read_words

RIGHT = specification("quantize").reference


def explain(least: float, largest: float, dtype: str = "int8") -> str:
    """Return what is said of numbers of the format that are limited so before the scale divides them."""

    def quantize(x: Any, scale: Any, **options: Any) -> Any:
        x = np.clip(x, least, largest)
        return (
            RIGHT(x, scale, **options).astype(np.int8) if dtype == "int8" else overflow_to_nan(x, scale, **options).astype(dtype)
        )

    rng, calls = np.random.default_rng(1), list[tuple[tuple[Any, ...], dict[str, Any]]]()
    for scale in (4.0, 0.5, 2.0, 8.0, 1.0):
        x = np.round(rng.normal(size=(3, 5)) * 64 * scale, 2) * (1.0 if dtype == "int8" else 8.0)
        calls.append(((x, np.full((3, 1), scale)), {"dtype": dtype, "block": (1, None)}))
    return read_words(answers("quantize", quantize, calls))


def test_an_early_limit_is_said() -> None:
    assert explain(-128.0, 127.0) == "x is limited to the range of the format before the scale divides"


def test_an_early_limit_behind_which_quotients_overflow_is_said() -> None:
    found = explain(-448.0, 448.0, "float8_e4m3fn")
    assert found.endswith("before the scale divides, and quotients beyond the range become NaN or infinite")


def test_another_limit_is_not_called_so() -> None:
    assert "range of the format" not in explain(-50.0, 50.0)


def test_casts_of_which_one_saturates_are_said() -> None:
    def quantize(x: Any, scale: Any, *, dtype: str, **options: Any) -> Any:
        largest = {"float8_e4m3fn": 448.0, "float8_e5m2": 57344.0}[dtype]
        cast = RIGHT if dtype == "float8_e4m3fn" else overflow_to_nan
        return cast(np.clip(x, -largest, largest), scale, dtype=dtype, **options).astype(dtype)

    rng, calls = np.random.default_rng(2), list[tuple[tuple[Any, ...], dict[str, Any]]]()
    for scale, dtype in ((4.0, "float8_e4m3fn"), (0.5, "float8_e5m2"), (8.0, "float8_e5m2"), (0.25, "float8_e4m3fn")):
        x = rng.normal(size=(3, 5)) * scale * (400.0 if dtype == "float8_e4m3fn" else 50000.0)
        calls.append(((x, np.full((3, 1), scale)), {"dtype": dtype, "block": (1, None)}))
    found = read_words(answers("quantize", quantize, calls))
    assert found.endswith("quotients beyond the range of every format but float8_e4m3fn become NaN or infinite")
