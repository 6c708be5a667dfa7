"""The backend of a process that has none of the suite's packages: load it, say why it cannot be loaded, make and read its arrays.

Like `standalone_server.py`, this file must import nothing but the standard library, and NumPy only where the framework has it.
"""

from __future__ import annotations

import ctypes
import importlib
import inspect
import os
import struct
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

SUITE = Path(__file__).parents[1]
CODES = MappingProxyType({  # of the protocol, and how many bytes an element has
    "float64": ("F64", 8), "float32": ("F32", 4), "bfloat16": ("BF16", 2), "float16": ("F16", 2), "int64": ("I64", 8),
    "int32": ("I32", 4), "uint32": ("U32", 4), "bool": ("BOOL", 1), "int8": ("I8", 1), "uint8": ("U8", 1),
})  # fmt: skip
FLOATS = ("float64", "float32", "bfloat16", "float16")
NARROW = (  # floating dtypes of at most eight bits, of which messages have the codes
    "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn",
    "float8_e8m0fnu",
)  # fmt: skip
ONE = struct.pack("<f", 1.0)
DISTRIBUTIONS = MappingProxyType(  # that have other names than their packages
    {"PIL": "pillow", "cv2": "opencv-python", "sklearn": "scikit-learn", "yaml": "pyyaml"}
)
Sent = tuple[str, list[int], bytes]  # an array in a message: its dtype, its shape and its elements


# --- the arrays of a framework ----------------------------------------------------------------------------------------


class Arrays:
    """Makes and reads the arrays of a framework through NumPy, as those of every framework but PyTorch."""

    differentiates = ""

    def __init__(self, name: str, device: str | None):
        self.name, self.device = name, device
        self.module = importlib.import_module(name)
        places = (name,) if name in ("numpy", "torch") else (f"{name}.numpy", f"{name}.array", f"{name}.core", name)
        self.xp: Any = next(found for place in places if hasattr(found := import_optional(place), "zeros"))
        one = self.make("float32", [1], ONE)
        self.type, self.place = type(one), self.device_of(one)
        self.dtypes = [dtype for dtype in FLOATS if self.offers(dtype)]
        self.narrow_dtypes = [dtype for dtype in NARROW if self.offers(dtype)]

    def offers(self, dtype: str) -> bool:
        """Whether the framework has arrays of a dtype."""
        try:
            return self.dtype_of(self.make(dtype, [0], b"")) == dtype
        except Exception:  # each framework has its own way to refuse
            return False

    def make(self, dtype: str, shape: list[int], data: bytes) -> Any:
        numpy = importlib.import_module("numpy")
        is_own = dtype != "bfloat16" and dtype not in NARROW  # a dtype of NumPy's own
        wanted = numpy.dtype(dtype) if is_own else numpy.dtype(getattr(importlib.import_module("ml_dtypes"), dtype))
        values = numpy.frombuffer(data, wanted).reshape(shape).copy()
        return values if self.xp is numpy else self.xp.asarray(values)

    def lay_out(self, buffer: Any, view: dict[str, Any]) -> Any:
        """Return the array that is this view of a buffer."""
        if "order" in view:
            return self.xp.transpose(buffer, view["order"])
        if "shape" in view:
            return self.xp.broadcast_to(buffer, tuple(view["shape"]))
        if "read_only" in view:
            buffer.flags.writeable = False
        index = tuple(... if part == "..." else slice(*part) for part in view.get("index", ()))
        return buffer[index] if index else buffer

    def read(self, x: Any) -> Sent:
        """Return the array as a message has it: its codes if it is narrow, and widened if its dtype is none of the protocol's."""
        values, name = importlib.import_module("numpy").asarray(x), self.dtype_of(x)
        if name in NARROW:
            return "uint8", list(values.shape), values.tobytes()
        if name not in CODES:
            name = {"i": "int64", "u": "int64", "f": "float64"}[values.dtype.kind]
            values = values.astype(name)
        return name, list(values.shape), values.tobytes()

    def is_array(self, x: Any) -> bool:
        if self.name == "numpy":
            return type(x).__module__ == "numpy" and hasattr(x, "dtype")
        is_own = type(x).__module__.partition(".")[0] == self.type.__module__.partition(".")[0]
        return type(x) is self.type or (is_own and isinstance(x, self.type))

    def dtype_of(self, x: Any) -> str:
        return str(getattr(x.dtype, "name", x.dtype)).rsplit(".", 1)[-1].rstrip("_")

    def device_of(self, x: Any) -> str:
        return str(getattr(x, "device", "cpu"))

    def overwrite(self, x: Any, value: Any) -> bool:
        """Fill an array in place. Return False if it cannot be written to."""
        try:
            x[...] = value
        except (TypeError, ValueError, RuntimeError):
            return False
        return True

    def is_alive(self) -> bool:
        """Whether an array can still be made and read: once the context of a device is lost, nothing more works on it."""
        try:
            return self.read(self.make("float32", [1], ONE))[2] == ONE
        except Exception:
            return False


class TorchArrays(Arrays):
    """Makes and reads the tensors of PyTorch, whose environment need not have NumPy."""

    def __init__(self, name: str, device: str | None):
        super().__init__(name, device)
        self.differentiates = "autograd" if hasattr(self.module, "autograd") else ""

    def make(self, dtype: str, shape: list[int], data: bytes) -> Any:
        torch, wanted = self.module, getattr(self.module, dtype)
        x = torch.frombuffer(bytearray(data), dtype=wanted).reshape(shape) if data else torch.zeros(tuple(shape), dtype=wanted)
        return x if self.device is None else x.to(self.device)

    def lay_out(self, buffer: Any, view: dict[str, Any]) -> Any:
        return buffer.permute(view["order"]) if "order" in view else super().lay_out(buffer, view)

    def read(self, x: Any) -> Sent:
        name, x = self.dtype_of(x), x.detach().cpu()
        for method in ("resolve_conj", "resolve_neg"):
            x = getattr(x, method)() if hasattr(x, method) else x
        if name in NARROW:
            name, x = "uint8", x.view(self.module.uint8)
        elif name not in CODES:
            name = "float64" if x.dtype.is_floating_point else "int64"
            x = x.to(getattr(self.module, name))
        flat = x.reshape(-1).contiguous()
        data = ctypes.string_at(flat.data_ptr(), flat.numel() * CODES[name][1]) if flat.numel() else b""
        return name, list(x.shape), data

    def overwrite(self, x: Any, value: Any) -> bool:
        return super().overwrite(x.detach(), value)


def import_optional(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


# --- loading ----------------------------------------------------------------------------------------------------------


class Refusal(Exception):
    """The backend cannot be loaded. The text is a sentence."""


def load(text: str, file: str | None, attribute: str, adapters: str, install: str) -> Any:
    """Return the object that --backend=text names. Raise Refusal if it cannot be loaded."""
    try:
        if file is None:
            source: Any = importlib.import_module(text.partition(":")[0])
        else:
            source = load_of_suite(SUITE / "implementation" / "import_file.py").import_file(Path(file))
        for name in filter(None, attribute.split(".")):
            source = getattr(source, name)
        source = source() if inspect.isclass(source) else source
    except (Exception, SystemExit, GeneratorExit) as error:
        if file is None and isinstance(error, ModuleNotFoundError) and f"{text}.".startswith(f"{error.name}."):
            raise Refusal(
                f"--backend={text}: there is no module {error.name} for {sys.executable}; give a .py file's path"
            ) from error
        raise Refusal(f"--backend={text}: {explain(error, install)}") from error
    return load_of_suite(Path(adapters)).take(source) or source


def load_of_suite(path: Path) -> Any:
    """Return the module of a file of the suite that needs nothing but the standard library, without its package."""
    package = f"suite_{path.parent.name}"
    if package not in sys.modules:
        sys.modules[package] = ModuleType(package)
        sys.modules[package].__path__ = [str(path.parent)]
    return importlib.import_module(f"{package}.{path.stem}")


def explain(error: BaseException, install: str) -> str:
    """Return the clause for what an import has raised. `install` is what to type before the name of a package."""
    text, kind, place = " ".join(str(error).split()), type(error).__name__, find_place(error)
    where = f" ({place})" if place else ""
    name = getattr(error, "name", None)
    if kind == "PackageNotFoundError":
        absent = f"the version of the package {name}{where}, which is not installed for {sys.executable}"
        return f"it asks for {absent}; in the folder of that package type {install} -e ."
    if isinstance(error, ModuleNotFoundError) and name:
        package = name.partition(".")[0]
        absent = f"{name!r}{where}, which is not installed for {sys.executable}"
        return f"it imports {absent}; type {install} {DISTRIBUTIONS.get(package, package)}"
    if isinstance(error, (RuntimeError, AssertionError)) and ("cuda" in text.lower() or "nvidia driver" in text.lower()):
        return (
            f"it asks for a CUDA device while it is imported{where}, and there is none here ({kind}: {text}); "
            "choose the device when a function is called, or run this where there is one"
        )
    return f"importing it raised {kind}{': ' * bool(text)}{text}{where}"


def find_place(error: BaseException) -> str:
    """Return where an exception was raised in the backend's code, as "file.py:12 in rope": outside of libraries, if possible."""
    places = []
    for frame, line in traceback.walk_tb(error.__traceback__):
        file = Path(frame.f_code.co_filename)
        if file.suffix == ".py" and SUITE not in file.parents and "importlib" not in file.parts:
            is_library = {"site-packages", "dist-packages"} & {*file.parts} or Path(os.__file__).parent in file.parents
            places.append((not is_library, f"{file.name}:{line} in {frame.f_code.co_name}"))
    own = [place for is_own, place in places if is_own] or [place for _, place in places]
    return own[-1] if own else ""


def list_functions(source: Any) -> Iterator[tuple[str, Any]]:
    """Yield the name and the function of each public function of the backend."""
    for name in dir(source):
        if name.islower() and name[0].isalpha() and name.isascii() and name not in ("synchronize", "translate_call"):
            function = getattr(source, name, None)
            if callable(function) and not inspect.isclass(function):
                yield name, function


def describe_signature(function: Any) -> list[list[Any]] | None:
    """Return the name, the kind and whether it has a default of each parameter. Return None if there is no signature."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    return [[p.name, int(p.kind), p.default is not p.empty] for p in parameters]
