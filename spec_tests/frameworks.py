"""To a framework's arrays and back, through the array API standard (array-api-compat)."""

from __future__ import annotations

import importlib
from functools import cached_property
from typing import Any

import numpy as np

from .formats import DTYPES

NAMESPACES = ("array_api_compat.{}", "{}.numpy", "{}.core", "{}")  # torch, cupy; jax; mlx; any array API namespace


class Unavailable(Exception):
    """The framework, or the device, that a backend names is not there."""


class Framework:
    def __init__(self, name: str, device: str | None = None):
        self.name, self.device = name, device
        try:
            importlib.import_module(name)
        except ImportError as error:
            raise Unavailable(f"its framework {name!r} cannot be imported ({error}); install it first") from error
        self.xp = self._namespace()
        try:
            self._one = self.native(np.ones(1), "float32")
            self._device = self.device_of(self._one)
        except Exception as error:
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise Unavailable(f"{name} has no device {device!r} here ({reason})") from error

    def _namespace(self) -> Any:
        for pattern in NAMESPACES:
            try:
                namespace = importlib.import_module(pattern.format(self.name))
            except ImportError:
                continue
            if hasattr(namespace, "asarray") or hasattr(namespace, "array"):
                return namespace
        raise Unavailable(f"its framework {self.name!r} has no array API namespace that is known here")

    @cached_property
    def version(self) -> str:
        return str(getattr(importlib.import_module(self.name), "__version__", "unknown"))

    @cached_property
    def dtypes(self) -> tuple[str, ...]:
        return tuple(dtype for dtype in DTYPES if self._dtype(dtype) is not None)

    def _dtype(self, name: str) -> Any:
        if name == "bfloat16" and self.name == "numpy":
            try:
                return np.dtype(importlib.import_module("ml_dtypes").bfloat16)
            except ImportError:
                return None
        return getattr(self.xp, "bool_" if name == "bool" and not hasattr(self.xp, "bool") else name, None)

    def native(self, array: Any, dtype: str) -> Any:
        """The framework's array of this dtype with the values of a NumPy array; never shares its memory."""
        holder = "float32" if dtype == "bfloat16" else dtype
        if dtype == "bfloat16" and self.name == "numpy":
            return np.asarray(array).astype(self._dtype(dtype))
        make = getattr(self.xp, "asarray", None) or self.xp.array
        with np.errstate(over="ignore"):
            copy = np.array(array, dtype=holder, order="C")
        x = make(copy) if self.device is None else make(copy, device=self.device)
        return x if holder == dtype else self.cast(x, dtype)

    def cast(self, x: Any, dtype: str) -> Any:
        astype = getattr(self.xp, "astype", None)
        return astype(x, self._dtype(dtype)) if astype else x.astype(self._dtype(dtype))

    def numpy(self, x: Any) -> np.ndarray:
        """The values of a framework's array, floating ones as float64."""
        if hasattr(x, "detach"):
            x = x.detach()
        if self.dtype_of(x) == "bfloat16":
            x = self.cast(x, "float32")
        if self.device not in (None, "cpu") and hasattr(x, "cpu"):
            x = x.cpu()
        array = np.asarray(x).copy()  # a later call must not reach it
        return array.astype(np.float64) if array.dtype.kind == "f" else array

    def is_array(self, x: Any) -> bool:
        return isinstance(x, type(self._one)) or (self.name == "numpy" and isinstance(x, np.generic))

    def dtype_of(self, x: Any) -> str:
        return str(getattr(x.dtype, "name", x.dtype)).rsplit(".", maxsplit=1)[-1].removesuffix("_")

    def device_of(self, x: Any) -> str:
        return str(getattr(x, "device", "cpu"))

    def on_device(self, x: Any) -> bool:
        return self.device_of(x) == self._device

    def overwrite(self, x: Any, value: Any) -> bool:
        """Fill x in place, with a number or with another array's values; False where it cannot be written to."""
        try:
            target = x.detach() if hasattr(x, "detach") else x
            target[...] = value
        except (TypeError, ValueError, RuntimeError):
            return False
        return True
