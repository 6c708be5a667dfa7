"""Read the values of an array that a backend returned."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..implementation.array_framework import ArrayFramework
from ..implementation.guard import Fault
from ..specification.carriers import Carrier
from ..specification.formats import INTEGER, Format
from .violation import Violation


def read_array(
    framework: ArrayFramework, name: str, x: Any, shape: tuple[int, ...], dtype: str | None, storage: Format
) -> np.ndarray:
    """Return the values of an array as NumPy, rounded to the format in which they should be.

    An array of a wrong type, device or shape is a violation. A device that is lost is a Fault. `name` is what messages call it.
    """
    values = _read_values(framework, name, x, shape)
    if dtype == "bool" and values.dtype.kind != "b":
        raise Violation(f"{name} is {framework.dtype_of(x)}", [("expected", "bool")])
    if dtype == INTEGER and values.dtype.kind not in "iu":
        raise Violation(f"{name} is {framework.dtype_of(x)}", [("expected", "integers")])
    if values.dtype.kind == "c":
        raise Violation(f"{name} is {framework.dtype_of(x)}", [("expected", "real numbers")])
    exact = values.dtype.kind != "f" or framework.dtype_of(x) == storage.name
    return values if exact else storage.round(values)


def read_narrow(framework: ArrayFramework, name: str, x: Any, shape: tuple[int, ...], carrier: Carrier) -> np.ndarray:
    """Return the numbers that an array of a narrow format carries. `shape` is that of the numbers.

    An array of another dtype is a violation, too: nothing says what its elements stand for.
    """
    if framework.is_array(x) and (dtype := framework.dtype_of(x)) != carrier.dtype:
        raise Violation(f"{name} is {dtype}", [("expected", carrier.describe())])
    return carrier.load(_read_values(framework, name, x, carrier.shape(shape)))


def _read_values(framework: ArrayFramework, name: str, x: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return what an array holds. One of a wrong type, device or shape is a violation."""
    if not framework.is_array(x):
        raise Violation(f"{name} is {framework.describe_type(x)}, not an array of {framework.name}")
    if not framework.on_device(x):
        raise Violation(f"{name} is on {framework.device_of(x)}", [("expected", framework.place)])
    try:
        values = framework.numpy(x)
    except Exception as error:
        if isinstance(error, Fault) and error.lost:
            raise
        raise Violation(f"{name} cannot be read ({error})") from error
    if values.shape != shape:
        raise Violation(f"{name} has shape {values.shape}", [("expected", str(shape))])
    return values
