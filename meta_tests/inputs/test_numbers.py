"""The numbers on which elementwise operations are tried: all of 16 bits, and chosen ones of wider formats."""

import ml_dtypes
import numpy as np
import pytest

from meta_tests.support.in_process import attempt, backend, trials_of
from spec_tests.helpers.numbers import arrange_rows
from spec_tests.specification.formats import FORMATS
from spec_tests.specification.numbers import SWITCH_POINTS, all_numbers, choose_numbers, describe_numbers, required_numbers
from spec_tests.specification.registry import gradients, operations, specification

RNG = np.random.default_rng(0)
ELEMENTWISE = [name for name in (*operations(), *gradients()) if specification(name).declaration.elementwise]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_all_numbers_are_those_of_all_patterns_of_bits(dtype: str) -> None:
    """NumPy and ml_dtypes read the patterns."""
    patterns = np.arange(2**16, dtype=np.uint16).view(np.float16 if dtype == "float16" else ml_dtypes.bfloat16)
    with np.errstate(invalid="ignore"):
        values = patterns.astype(np.float64)
    expected, found = values[np.isfinite(values)], all_numbers(FORMATS[dtype])
    assert np.array_equal(np.sort(found.view(np.int64)), np.sort(expected.view(np.int64)))  # with both zeros
    assert np.all(np.diff(found) >= 0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_chosen_numbers_have_every_exponent_and_what_surrounds_switch_points(dtype: str) -> None:
    f = FORMATS[dtype]
    x = choose_numbers(f, RNG)
    assert np.array_equal(f.round(x), x)
    assert np.all(np.isfinite(x))
    assert len(x) <= 2**16 + 2 * f.precision
    _, exponents = np.frexp(x[np.abs(x) >= f.tiny])
    assert set(exponents - 1) == set(range(f.emin, f.emax + 1))
    points = f.round(SWITCH_POINTS)
    beside = points + np.arange(-4, 5)[:, None] * 2 * f.u * 2.0 ** np.floor(np.log2(points))
    assert np.all(np.isin([f.round(beside), -f.round(beside)], x))
    assert {f.max, f.tiny, f.quantum, 0.0} <= set(x)
    assert np.any((x == 0) & np.signbit(x))


def test_the_sentence_needs_every_number() -> None:
    for dtype in ("float16", "bfloat16"):
        f = FORMATS[dtype]
        x = all_numbers(f)
        assert describe_numbers(np.resize(x, (9071, 9)), f, is_gradient=False) == f"every finite {dtype} number"
        assert describe_numbers(np.where((x == 0) & np.signbit(x), 0.0, x), f, is_gradient=False) == ""
        assert describe_numbers(np.where(x == 1.5, 1.0, x), f, is_gradient=False) == ""
    assert describe_numbers(required_numbers(f, is_gradient=True), f, is_gradient=True).endswith("whose cube float32 holds")
    assert describe_numbers(RNG.standard_normal(2**17), FORMATS["float32"], is_gradient=False) == ""


def test_rows_have_sizes_of_the_domain() -> None:
    numbers = np.arange(100.0)
    for domain, size, shape in [
        ({}, 100, (100,)),
        ({}, 7, (15, 7)),
        ({"d": (16, 64)}, 7, (7, 16)),
        ({"d": (16, 64)}, 100, (2, 64)),
        ({"batch_dims": (1, 2)}, 100, (1, 100)),
        ({"batch_dims": (3,)}, 7, (1, 1, 15, 7)),
        ({"d": (128, 256)}, 1, (128,)),
    ]:
        operation = type("Operation", (), {"domain": domain})
        rows = arrange_rows(operation, numbers, size)  # type: ignore[arg-type]
        assert rows.shape == shape
        assert set(rows.flat) == set(numbers)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_one_wrong_number_is_found(name: str) -> None:
    """In a table of 16 bits with one wrong entry. The failing example shows that number alone."""
    tried = 0
    for test, trial in trials_of(name, backend(f"deviation:{name}/wrong-entry-of-a-table")):
        if trial.dtype in ("float16", "bfloat16") and test.invariant.id_for(trial.operation_name) == f"{name}.every_number":
            assert attempt(test, trial, 0)
            assert trial.tally.failure is not None
            assert [call.value.size for call in trial.tally.failure.calls] == [1]
            tried += 1
    assert tried == 2
