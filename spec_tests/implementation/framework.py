"""To a framework's arrays and back, through the array API standard (array-api-compat).

No framework is named: what they have in common is asked for first, what they have instead of it next. A dtype is offered if an
array of it can be made and has it, so that a framework's own configuration decides (JAX has float64 only where it is enabled).
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from typing import Any

import numpy as np
from array_api_compat import to_device

from ..specification.formats import DTYPES
from .guard import Fault, run_guarded
from .layouts import lay_out
from .process_state import PROCESS, Setting, framework_settings

NAMESPACES = ("array_api_compat.{}", "array_api_compat.{}.array", "{}.numpy", "{}.core", "{}")  # torch, cupy; dask; jax; mlx; any
COMPUTED = ("block_until_ready", "persist", "realize")  # methods by which a lazy array gives itself computed


PLAIN = (bool, int, float, str, type(None))


@dataclass(frozen=True)
class Foreign:
    """Something that is neither an array nor plain."""

    kind: str


class Unavailable(Exception):
    """The framework, or the device, that a backend names is not there."""


class CannotMakeArray(Exception):
    """The framework does not make an array: it lacks the memory, or has none of this shape. No function is to blame."""


class Framework:
    device_lost = False  # its device's context is lost, and with it the process for that device

    def __init__(self, name: str, device: str | None = None):
        self.name, self.device = name, device
        try:
            self._module = importlib.import_module(name)
        except ImportError as error:
            raise Unavailable(f"its framework {name!r} cannot be imported ({error}); install it first") from error
        self.xp = self._namespace()
        try:
            self._one = self._make(np.ones(1), "float32")
            self.place = self.device_of(self._one)
        except Exception as error:
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise Unavailable(f"{name} has no device {device!r} here ({reason})") from error

    def _namespace(self) -> Any:
        for pattern in NAMESPACES:
            try:
                namespace = importlib.import_module(pattern.format(self.name))
            except ImportError:
                continue
            if any(callable(getattr(namespace, name, None)) for name in ("asarray", "array")):  # Dask's `array` is a module
                return namespace
        raise Unavailable(f"its framework {self.name!r} has no array API namespace that is known here")

    @cached_property
    def version(self) -> str:
        try:
            return str(getattr(self._module, "__version__", "") or metadata.version(self.name))
        except metadata.PackageNotFoundError:
            return "unknown"

    @cached_property
    def namespace(self) -> str:
        """What a script imports."""
        return str(self.xp.__name__).removeprefix("array_api_compat.")

    @cached_property
    def dtypes(self) -> tuple[str, ...]:
        return tuple(dtype for dtype in DTYPES if self._offers(dtype))

    @cached_property
    def integer(self) -> str:
        """The dtype of positions and token ids."""
        return "int64" if self._offers("int64") else "int32"

    def _offers(self, dtype: str) -> bool:
        if self._dtype(dtype) is None:
            return False
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return self.dtype_of(self._make(np.ones(1), dtype)) == dtype
        except Exception:  # each framework has its own way to refuse
            return False

    def _dtype(self, name: str) -> Any:
        if name == "bfloat16" and self.name == "numpy":
            try:
                return np.dtype(importlib.import_module("ml_dtypes").bfloat16)
            except ImportError:
                return None
        return getattr(self.xp, "bool_" if name == "bool" and not hasattr(self.xp, "bool") else name, None)

    @cached_property
    def _place(self) -> Any:
        """The device's name, or the framework's own object of that name and number."""
        kind, _, number = (self.device or "").partition(":")
        devices = getattr(self._module, "devices", None)
        return devices(kind)[int(number or 0)] if devices else self.device

    @cached_property
    def _pieces(self) -> tuple[Setting, ...]:
        return (*PROCESS, *framework_settings(self._module, self.xp))

    def run_guarded(self, step: Callable[[], Any], seconds: float) -> Any:
        """What a step of the backend's answers, under guard."""
        try:
            return run_guarded(step, seconds, self._pieces)
        except Fault as fault:
            if not fault.late and not self.is_alive():
                self.device_lost = fault.lost = True
                fault.facts.append(("since then", "its device answers nothing more"))
            raise

    lay_out = lay_out

    def native(self, array: Any, dtype: str) -> Any:
        """The framework's array of this dtype with the values of a NumPy array; never shares its memory. Raises Unmade."""
        try:
            return self._make(array, self.integer if dtype == "int64" else dtype)
        except Exception as error:  # each framework has its own
            raise CannotMakeArray(f"{self.name} makes no array of shape {np.shape(array)} ({error})") from error

    def _make(self, array: Any, dtype: str) -> Any:
        make = getattr(self.xp, "asarray", None) or self.xp.array
        with np.errstate(over="ignore"):
            copy = np.array(array, dtype=numpy_dtype(dtype), order="C")
        x = make(copy, dtype=self._dtype(numpy_dtype(dtype)))
        x = x if numpy_dtype(dtype) == dtype else self.cast(x, dtype)
        return x if self.device is None else to_device(x, self._place)

    def cast(self, x: Any, dtype: str) -> Any:
        astype = getattr(self.xp, "astype", None)
        return astype(x, self._dtype(dtype)) if astype else x.astype(self._dtype(dtype))

    def force(self, x: Any) -> Any:
        """x, no longer lazy: what computing it raises is raised here, and not where it happens to be read."""
        x = self.as_own_type(x)
        if not self.is_array(x):
            return x
        for method in COMPUTED:
            if hasattr(x, method):
                return getattr(x, method)()
        if hasattr(self.xp, "eval"):
            self.xp.eval(x)
        return x

    @cached_property
    def differentiates(self) -> str:
        """By what it differentiates, if it does."""
        if hasattr(self._module, "autograd"):
            return "autograd"
        return "vjp" if hasattr(self._module, "vjp") else "xp.vjp" if hasattr(self.xp, "vjp") else ""

    def linearize(self, function: Callable[[Any], Any], inputs: list[Any]) -> tuple[Any, Callable[[Any], Any]]:
        """function(inputs), and what pulls a cotangent of it back to the inputs, as often as one likes."""
        if self.differentiates == "autograd":
            autograd, inputs = self._module.autograd, [x.detach().requires_grad_() for x in inputs]
            y = self.as_own_type(function(inputs))
            if not getattr(y, "requires_grad", False):
                raise NotImplementedError("its result carries no gradient")
            return y, lambda cotangent: autograd.grad(y, inputs, cotangent, retain_graph=True, allow_unused=True)
        if self.differentiates == "vjp":
            return self._module.vjp(lambda *x: function(x), *inputs)
        return function(inputs), lambda cotangent: self.xp.vjp(lambda *x: function(x), inputs, [cotangent])[1]

    @cached_property
    def accumulates(self) -> bool:
        """Gradients are kept with the arrays, and add up there."""
        return hasattr(self._one, "backward")

    def accumulate(self, function: Callable[[Any], Any], inputs: list[Any], cotangents: list[Any]) -> list[Any]:
        """What each input's gradient holds after a backward pass for each cotangent."""
        inputs = [x.detach().requires_grad_() for x in inputs]
        for cotangent in cotangents:
            function(inputs).backward(cotangent)
        return [x.grad for x in inputs]

    def numpy(self, x: Any) -> np.ndarray:
        """The values of a framework's array, floating ones as float64."""
        return as_float64(self.stored(x))

    def stored(self, x: Any) -> np.ndarray:
        """The values in a dtype of NumPy's that holds them."""
        if hasattr(x, "detach"):
            x = x.detach()
        if self.dtype_of(x) == "bfloat16":
            x = self.cast(x, "float32")
        try:
            return np.asarray(x).copy()  # a later call must not reach it
        except TypeError:  # in another device's memory
            return np.asarray(to_device(x, "cpu")).copy()

    def stacked(self, x: Any, copies: int) -> Any:
        """So many of x along its first axis, in the framework's own memory."""
        shape = (copies * x.shape[0], *x.shape[1:])
        return self.xp.reshape(self.xp.broadcast_to(x[None, ...], (copies, *x.shape)), shape)

    def is_array(self, x: Any) -> bool:
        """By its type, whatever it says that its class is; a type derived from the framework's must be the framework's own."""
        kind, known = type(x), type(self._one)
        own = kind is known or kind.__module__.partition(".")[0] == known.__module__.partition(".")[0]
        return (own and issubclass(kind, known)) or (self.name == "numpy" and issubclass(kind, np.generic))

    def as_own_type(self, x: Any) -> Any:
        """The framework's own array of somebody's derived type, which may overload everything: by the framework's method."""
        known = type(self._one)
        cast = getattr(known, "as_subclass", None) or getattr(known, "view", None)
        return cast(x, known) if issubclass(type(x), known) and not self.is_array(x) and cast else x

    def describe_foreign(self, x: Any) -> Any:
        """x; but where it is neither an array nor plain, what it is in words: nobody touches an object that may do anything."""
        if self.is_array(x) or type(x) in PLAIN:
            return x
        if issubclass(type(x), list | tuple):
            return (list if issubclass(type(x), list) else tuple)(map(self.describe_foreign, x))
        return (
            {str(name): self.describe_foreign(item) for name, item in x.items()}
            if type(x) is dict
            else Foreign(self.describe_type(x))
        )

    def describe_type(self, x: Any) -> str:
        """What it is instead, in words."""
        if type(x) is Foreign:
            return x.kind
        derived = f" (derived from {self.name}'s)" if issubclass(type(x), type(self._one)) else ""
        return f"a {type(x).__name__}{derived}"

    def dtype_of(self, x: Any) -> str:
        return str(getattr(x.dtype, "name", x.dtype)).rsplit(".", maxsplit=1)[-1].removesuffix("_")

    def device_of(self, x: Any) -> str:
        return str(getattr(x, "device", "cpu"))

    def on_device(self, x: Any) -> bool:
        return self.device_of(x) == self.place

    def overwrite(self, x: Any, value: Any) -> bool:
        """Fill x in place, with a number or with another array's values; False where it cannot be written to."""
        try:
            target = x.detach() if hasattr(x, "detach") else x
            target[...] = value
        except (TypeError, ValueError, RuntimeError):
            return False
        return True

    def is_alive(self) -> bool:
        """It still makes arrays: a device whose context was lost never does again."""
        try:
            return bool(self.stored(self.native(np.ones(1), "float32"))[0] == 1)
        except Exception:
            return False


def as_float64(values: np.ndarray) -> np.ndarray:
    return values.astype(np.float64) if values.dtype.kind == "f" else values


def numpy_dtype(dtype: str) -> str:
    """NumPy's dtype for values of this one on their way."""
    return "float32" if dtype == "bfloat16" else dtype
