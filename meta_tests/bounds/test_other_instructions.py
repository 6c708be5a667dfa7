"""Error bounds are the same on every machine: with other instructions of the processor, and so with other last bits of values."""

from __future__ import annotations

import numpy as np
import pytest
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

from spec_tests.bounds.random_rounding import _hash_to_unit_interval

from ..measure.tightness import NAMES
from ..support.paths import ROOT
from ..support.pytest_process import environment, python
from ..support.rotation import rotate

DISPATCHED = [name for name in __cpu_dispatch__ if __cpu_features__[name]]  # what NumPy uses where a processor has it
PLAIN = {"NPY_DISABLE_CPU_FEATURES": ",".join(DISPATCHED), "OPENBLAS_CORETYPE": "Nehalem"}  # as a processor of 2008
TIGHTNESS = "meta_tests/bounds/test_tightness.py::test_the_worst_rounding_uses_the_share_that_it_used"
PRODUCTS_AND_EXPONENTIALS = (
    "import numpy as np; x = np.random.default_rng(1).normal(size=(97, 97)); print(np.exp(x @ x).tobytes().hex())"
)


@pytest.mark.skipif(not DISPATCHED, reason="this processor has no instructions that NumPy could leave out")
def test_the_other_instructions_give_other_last_bits() -> None:
    """Otherwise the next test would show nothing."""
    here, there = (
        np.frombuffer(bytes.fromhex(python(ROOT, "-c", PRODUCTS_AND_EXPONENTIALS, env=environment() | more).stdout))
        for more in ({}, PLAIN)
    )
    assert (here != there).any()
    np.testing.assert_allclose(here, there, rtol=1e-10)


@pytest.mark.skipif(not DISPATCHED, reason="this processor has no instructions that NumPy could leave out")
@pytest.mark.parametrize("name", rotate(NAMES, 20))
def test_a_bound_does_not_depend_on_the_instructions(name: str) -> None:
    done = python(ROOT, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"{TIGHTNESS}[{name}]", env=environment() | PLAIN)
    assert "1 passed" in done.stdout, done.stdout


def test_nearly_equal_values_have_equal_random_numbers_and_others_have_not() -> None:
    x = np.random.default_rng(3).normal(size=100_000)
    of_x = _hash_to_unit_interval(x)
    assert np.mean(_hash_to_unit_interval(x * (1 + 2.0**-48)) == of_x) > 0.9999
    assert np.mean(np.abs(_hash_to_unit_interval(x * (1 + 2.0**-24)) - of_x) > 0.01) > 0.97
    assert abs(np.corrcoef(_hash_to_unit_interval(x * (1 + 2.0**-24)), of_x)[0, 1]) < 0.02
    np.testing.assert_allclose(np.histogram(of_x, 10, (0, 1))[0], 10_000, rtol=0.05)
