"""Every layout that is drawn is one that NumPy and PyTorch take, for arrays of each shape, also with axes of length 0 and 1."""

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

from spec_tests.implementation.framework import Framework
from spec_tests.implementation.layouts import LAYOUTS, lay_out

torch = pytest.importorskip("torch")

SHAPES = [shape for ndim in range(4) for shape in itertools.product((0, 1, 2, 3), repeat=ndim)]


def make_arrays(shape: tuple[int, ...]) -> list[np.ndarray]:
    """Return arrays of a shape: of different entries, of equal ones, and of equal rows."""
    different = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)
    return [different, np.ones(shape), np.ones(shape) if not shape else np.broadcast_to(different[:1], shape).copy()]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_torch_takes_each_array_of_numpy_that_is_contiguous(layout: str) -> None:
    """A backend of PyTorch that takes NumPy's arrays calls ascontiguousarray, which copies no array that is contiguous."""
    framework = Framework("numpy")
    for shape in SHAPES:
        for array in make_arrays(shape):
            native = lay_out(framework, array, "float32", layout)
            np.testing.assert_array_equal(native, array)
            assert native.shape == shape
            contiguous = np.ascontiguousarray(native) if shape else native
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # an array may be read-only, of which PyTorch warns
                assert torch.from_numpy(contiguous).shape == shape, (layout, shape)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_torch_makes_each_tensor_contiguous(layout: str) -> None:
    framework = Framework("torch")
    for shape in SHAPES:
        for array in make_arrays(shape):
            native = lay_out(framework, array, "float32", layout)
            assert native.shape == shape
            assert min(native.stride(), default=0) >= 0
            np.testing.assert_array_equal(native.contiguous().numpy(), array)


def test_reversed_runs_backwards_where_there_is_anything_to_reverse() -> None:
    native: Any = lay_out(Framework("numpy"), np.ones((1, 3, 2)), "float32", "reversed")
    assert [stride < 0 for stride in native.strides] == [False, True, True]
