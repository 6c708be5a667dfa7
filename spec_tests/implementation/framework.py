"""Make and read the arrays of any framework, through the array API standard (array-api-compat).

There are no cases for single frameworks, as far as possible: a feature is looked up under its standard name first, then under
the other names that frameworks give it. A dtype is offered if an array can be made in it, so that the configuration of a
framework decides (JAX has float64 only where it is enabled).
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

from ..specification.carriers import NATIVE_DTYPES
from ..specification.formats import DTYPES
from .backward import accumulate, linearize
from .device_facts import list_device_facts
from .guard import Fault, Refused, run_guarded
from .layouts import lay_out
from .lost_device import is_alive, lose, lose_in
from .process_state import PROCESS_SETTINGS, Setting, device_settings, framework_settings
from .rank_devices import device_of
from .states import enter_state, has_states
from .ways_of_calling import call_in_the_way, has_transforms

NAMESPACES = ("array_api_compat.{}", "array_api_compat.{}.array", "{}.numpy", "{}.core", "{}")  # torch, cupy; dask; jax; mlx; any
RESOLVE_METHODS = ("resolve_conj", "resolve_neg")  # methods of an array that carry out a conjugation or a sign kept as a flag
COMPUTE_METHODS = ("block_until_ready", "persist", "realize")  # methods of a lazy array that return it computed
PLAIN_TYPES = (bool, int, float, str, type(None))


@dataclass(frozen=True)
class Foreign:
    """Stands for an object that is neither an array nor of a plain type. The suite uses nothing of the object but its type."""

    kind: str  # its type, in words

    def __repr__(self) -> str:
        return self.kind


class Unavailable(Exception):
    """The framework or the device that a backend names is not there."""


class CannotMakeArray(Exception):
    """The framework cannot make an array, for lack of memory, say. This is no fault of the backend."""


class Framework:
    """The ArrayFramework of this process. The protocol says what each method does."""

    device_lost = False
    passes_copies = False
    world_size = 1
    state = ""

    def __init__(self, name: str, device: str | None = None):
        self.name, self.device = name, device
        try:
            self.module = importlib.import_module(name)
        except ImportError as error:
            raise Unavailable(f"its framework {name!r} cannot be imported ({error}); install it first") from error
        self.xp = self._import_namespace()
        try:
            self._sample = self.make(np.ones(1), "float32")
            self.place = self.device_of(self._sample)
        except Exception as error:
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise Unavailable(f"{name} has no device {device!r} here ({reason})") from error

    def _import_namespace(self) -> Any:
        for pattern in ("{}",) if hasattr(self.module, "__array_namespace_info__") else NAMESPACES:  # NumPy needs no wrapper
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
            return str(getattr(self.module, "__version__", "") or metadata.version(self.name))
        except metadata.PackageNotFoundError:
            return "unknown"

    @cached_property
    def device_facts(self) -> tuple[str, ...]:
        return list_device_facts(self)

    @cached_property
    def namespace(self) -> str:
        return str(self.xp.__name__).removeprefix("array_api_compat.")

    @cached_property
    def dtypes(self) -> tuple[str, ...]:
        return tuple(dtype for dtype in DTYPES if self._offers(dtype))

    @cached_property
    def integer(self) -> str:
        return "int64" if self._offers("int64") else "int32"

    @cached_property
    def narrow_dtypes(self) -> tuple[str, ...]:
        return tuple(dtype for dtype in NATIVE_DTYPES if self._offers(dtype))

    def _offers(self, dtype: str) -> bool:
        if self._find_dtype(dtype) is None:
            return False
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return self.dtype_of(self.make(np.ones(1), dtype)) == dtype
        except Exception:  # each framework has its own way to refuse
            return False

    def _find_dtype(self, name: str) -> Any:
        if self.name == "numpy" and (name == "bfloat16" or name in NATIVE_DTYPES):
            try:
                return np.dtype(getattr(importlib.import_module("ml_dtypes"), name))
            except (ImportError, AttributeError):
                return None
        return getattr(self.xp, "bool_" if name == "bool" and not hasattr(self.xp, "bool") else name, None)

    @cached_property
    def _device(self) -> Any:
        """The device as `to_device` takes it: its name, or an object of the framework's that has this name and number."""
        kind, _, number = (self.device or "").partition(":")
        devices = getattr(self.module, "devices", None)
        return devices(kind)[int(number or 0)] if devices else self.device

    @cached_property
    def _settings(self) -> tuple[Setting, ...]:
        of_device = device_settings(getattr(self.module, self.place.partition(":")[0], None), self.place)
        return (*PROCESS_SETTINGS, *framework_settings(self.module, self.xp), *of_device)

    def run_guarded(self, step: Callable[[], Any], seconds: float) -> Any:
        try:
            return run_guarded(step, seconds, self._settings)
        except Refused as refusal:  # after a launch, perhaps, whose error no later call must get
            if not (self.place.startswith("cpu") or is_alive(self)):
                raise lose(self, Fault(f"the call was refused, and it has cost the device ({refusal})")) from refusal
            raise
        except Fault as fault:
            if not (fault.timed_out or fault.lost or is_alive(self)):
                lose(self, fault)
            raise

    @cached_property
    def has_states(self) -> bool:
        return has_states(self.module)

    @cached_property
    def has_transforms(self) -> bool:
        return has_transforms(self.module)

    call = call_in_the_way

    def in_state(self, state: str, step: Callable[[], Any]) -> Any:
        self.state = state
        try:
            with enter_state(self.module, self.place, state):
                return step()
        finally:
            self.state = ""

    lay_out = lay_out

    def native(self, array: Any, dtype: str) -> Any:
        """Make an array of the framework with the values of a NumPy array. It never shares memory with that array."""
        try:
            return self.make(array, self.integer if dtype == "int64" else dtype)
        except Exception as error:  # each framework has its own
            if not is_alive(self):
                raise lose_in(self, "making an array", error) from error
            raise CannotMakeArray(f"{self.name} makes no array of shape {np.shape(array)} ({error})") from error

    def make(self, array: Any, dtype: str) -> Any:
        make = getattr(self.xp, "asarray", None) or self.xp.array
        with np.errstate(over="ignore"):
            copy = np.array(array, dtype=numpy_dtype(dtype), order="C")
        if dtype in NATIVE_DTYPES:
            x = self._make_narrow(make, copy, dtype)
        else:
            x = make(copy, dtype=self._find_dtype(numpy_dtype(dtype)))
            x = x if numpy_dtype(dtype) == dtype else self.cast(x, dtype)
        return x if self.device is None else to_device(x, self._device)

    def _make_narrow(self, make: Callable[..., Any], codes: np.ndarray, dtype: str) -> Any:
        """Make an array of a narrow dtype of these codes. No framework rounds them, since none converts them."""
        wanted = self._find_dtype(dtype)
        try:
            return make(codes.view(np.dtype(wanted)))  # a dtype of ml_dtypes, as JAX has
        except TypeError:
            return make(codes).view(wanted)

    def cast(self, x: Any, dtype: str) -> Any:
        astype = getattr(self.xp, "astype", None)
        return astype(x, self._find_dtype(dtype)) if astype else x.astype(self._find_dtype(dtype))

    def force(self, x: Any) -> Any:
        """Compute x if it is lazy and return it, so that its errors are raised here and not where it is read.

        Of several results each is computed. Those of a named tuple become a dict.
        """
        x = self.as_own_type(x)
        if not self.is_array(x):
            return self.map_results(self.force, x) if _holds_results(x) else x
        for method in COMPUTE_METHODS:
            if hasattr(x, method):
                return getattr(x, method)()
        if hasattr(self.xp, "eval"):
            self.xp.eval(x)
        return x

    @cached_property
    def differentiates(self) -> str:
        if hasattr(self.module, "autograd"):
            return "autograd"
        return "vjp" if hasattr(self.module, "vjp") else "xp.vjp" if hasattr(self.xp, "vjp") else ""

    linearize, accumulate = linearize, accumulate

    @cached_property
    def accumulates(self) -> bool:
        return hasattr(self._sample, "backward")

    def numpy(self, x: Any) -> np.ndarray:
        return as_float64(self.stored(x))

    def stored(self, x: Any) -> np.ndarray:
        """Return the values of an array in a dtype of NumPy that holds them exactly.

        An error of work that was under way may show here. If it has cost the device, raise a Fault.
        """
        try:
            return self.read(x)
        except Exception as error:
            if not is_alive(self):
                raise lose_in(self, "reading an array", error) from error
            raise

    def read(self, x: Any) -> np.ndarray:
        if hasattr(x, "detach"):
            x = x.detach()
        for method in RESOLVE_METHODS:
            x = getattr(x, method)() if hasattr(x, method) else x
        if self.dtype_of(x) == "bfloat16":
            x = self.cast(x, "float32")
        if self.dtype_of(x) in NATIVE_DTYPES:
            x = x.view(self.xp.uint8)  # the codes
        try:
            return np.asarray(x).copy()  # a copy, so that no later call can change it
        except TypeError:  # the memory of another device
            return np.asarray(to_device(x, "cpu")).copy()

    def tile(self, x: Any, copies: int) -> Any:
        shape = (copies * x.shape[0], *x.shape[1:])
        return self.xp.reshape(self.xp.broadcast_to(x[None, ...], (copies, *x.shape)), shape)

    def is_array(self, x: Any) -> bool:
        """Whether the type of x is the framework's own. `__class__` may lie, and a derived type of others may do anything."""
        kind, array_type = type(x), type(self._sample)
        own = kind is array_type or kind.__module__.partition(".")[0] == array_type.__module__.partition(".")[0]
        return (own and issubclass(kind, array_type)) or (self.name == "numpy" and issubclass(kind, np.generic))

    def as_own_type(self, x: Any) -> Any:
        """Return an array of somebody else's derived type as the framework's own type.

        The derived type may overload everything, so the method is taken from the framework's type.
        """
        array_type = type(self._sample)
        cast = getattr(array_type, "as_subclass", None) or getattr(array_type, "view", None)
        return cast(x, array_type) if issubclass(type(x), array_type) and not self.is_array(x) and cast else x

    def describe_foreign(self, x: Any) -> Any:
        """Return x with a Foreign in place of whatever is neither an array nor plain: such an object may do anything."""
        if self.is_array(x) or type(x) in PLAIN_TYPES:
            return x
        return self.map_results(self.describe_foreign, x) if _holds_results(x) else Foreign(self.describe_type(x))

    def map_results(self, f: Callable[[Any], Any], x: Any) -> Any:
        """Return a list, tuple or dict with f applied to each item, otherwise f(x). A named tuple becomes a dict."""
        if issubclass(type(x), tuple) and isinstance(names := getattr(type(x), "_fields", None), tuple):
            return {str(name): f(item) for name, item in zip(names, tuple.__iter__(x), strict=False)}
        if issubclass(type(x), list | tuple):
            return (list if issubclass(type(x), list) else tuple)(map(f, x))
        return {str(name): f(item) for name, item in x.items()} if type(x) is dict else f(x)

    def describe_type(self, x: Any) -> str:
        if type(x) is Foreign:
            return x.kind
        derived = f" (derived from {self.name}'s)" if issubclass(type(x), type(self._sample)) else ""
        return f"a {type(x).__name__}{derived}"

    def dtype_of(self, x: Any) -> str:
        return str(getattr(x.dtype, "name", x.dtype)).rsplit(".", maxsplit=1)[-1].removesuffix("_")

    device_of = device_of

    def of_rank(self, answer: Any, rank: int) -> Any:
        return answer

    def on_device(self, x: Any) -> bool:
        return self.device_of(x) == self.place

    def overwrite(self, x: Any, value: Any) -> bool:
        """Fill x in place with a number, or with the values of another array. Return False if it cannot be written to."""
        try:
            target = x.detach() if hasattr(x, "detach") else x
            target[...] = value
        except (TypeError, ValueError, RuntimeError):
            return False
        return True


def _holds_results(x: Any) -> bool:
    return issubclass(type(x), list | tuple) or type(x) is dict


def as_float64(values: np.ndarray) -> np.ndarray:
    """Return floating values as float64, and others as they are."""
    with np.errstate(invalid="ignore"):  # memory that nothing was written to may hold any NaN
        return values.astype(np.float64, copy=False) if values.dtype.kind == "f" else values


def numpy_dtype(dtype: str) -> str:
    """Return the dtype of NumPy in which values of this dtype are passed on: of narrow ones, the codes."""
    return "float32" if dtype == "bfloat16" else "uint8" if dtype in NATIVE_DTYPES else dtype
