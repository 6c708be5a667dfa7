"""The server for a backend in another Python than the suite's (`--python`), which needs nothing but the backend's framework.

It speaks the process protocol with the extensions trees, handles, layouts and linearization, and is run as a file, with the
standard library alone. `python_server.py` is the one that has the suite's packages, and takes all extensions.
"""

from __future__ import annotations

import faulthandler
import importlib.util
import json
import os
import struct
import sys
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO

if sys.version_info < (3, 10):  # noqa: UP036, which is about the suite's own Python
    sys.exit(f"--python needs Python 3.10 or later, and {sys.executable} is {sys.version.split()[0]}")

EXTENSIONS = ("trees", "handles", "layouts", "linearization")
REQUESTS = ("call", "linearize", "pull_back", "read", "overwrite", "translate_call")  # methods of the server
STATED = ("dtypes", "domain", "carriers", "conventions", "precision", "version", "device", "beyond", "separate_functions")
PLAIN = (bool, int, float, str, type(None))


def import_neighbour(name: str) -> Any:
    """Return the module of a file in this folder, which is not on the path: a backend may have a module of that name."""
    spec = importlib.util.spec_from_file_location(f"suite_{name}", Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


backend, own_process = import_neighbour("standalone_backend"), import_neighbour("own_process")
NAMES = MappingProxyType({code: name for name, (code, _) in backend.CODES.items()})


class CannotMake(Exception):
    """The framework cannot make an array. This is no fault of the backend."""


class Handle:
    """Stands for an object that stays here."""

    def __init__(self, number: int):
        self.number = number


# --- messages ---------------------------------------------------------------------------------------------------------


def receive(channel: BinaryIO) -> tuple[dict[str, str], dict[str, Any]] | None:
    """Return the metadata of a request, and the dtype, the shape and the bytes of each of its arrays. None: there is no more."""
    if not (length := channel.read(8)):
        return None
    header = json.loads(channel.read(*struct.unpack("<Q", length)))
    metadata = header.pop("__metadata__", {})
    data = channel.read(max((entry["data_offsets"][1] for entry in header.values()), default=0))
    return metadata, {name: (NAMES[x["dtype"]], x["shape"], data[slice(*x["data_offsets"])]) for name, x in header.items()}


def pack(metadata: dict[str, str], arrays: tuple[Any, ...] | list[Any] = ()) -> bytes:
    """Return a message. Each array is a dtype, a shape and bytes, and is named by its place."""
    header: dict[str, Any] = {"__metadata__": metadata}
    start = 0
    for place, (dtype, shape, data) in enumerate(arrays):
        header[str(place)] = {"dtype": backend.CODES[dtype][0], "shape": shape, "data_offsets": [start, start + len(data)]}
        start += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([struct.pack("<Q", len(text)), text, *(data for _, _, data in arrays)])


# --- requests ---------------------------------------------------------------------------------------------------------


class Server:
    """A backend, the objects that stay in this process, by their number, and the requests."""

    def __init__(self, text: str, name: str, memory: int | None, device: str | None = None, **place: Any):
        self.text, self.name, self.memory, self.device, self.place = text, name, memory, device, place
        self.arrays: Any = None
        self.objects: dict[int, Any] = {}
        self.last_number = 0

    def answer(self, metadata: dict[str, str], arrays: dict[str, Any]) -> bytes:
        """Return the answer to a request."""
        try:
            request, results = metadata["request"], list[Any]()
            if request == "describe":
                return pack({"describe": json.dumps(self.describe())})
            if request not in REQUESTS:
                return pack({"error": f"unknown request {request}"})
            for number in json.loads(metadata.get("forget", "[]")):
                self.objects.pop(number, None)
            arguments = [self.decode(node, arrays) for node in json.loads(metadata["arguments"])]
            tree = self.encode(getattr(self, request)(*arguments), results)
            return pack({"answer": json.dumps(tree)}, results)
        except backend.Refusal as error:
            return pack({"error": str(error)})
        except NotImplementedError as error:
            return pack({"not_implemented": str(error) or "NotImplementedError"})
        except ModuleNotFoundError as error:
            return pack({"not_implemented": backend.explain(error, self.place["install"])})
        except CannotMake as error:
            return pack({"cannot_make": str(error)})
        except BaseException as error:
            return pack(self.describe_exception(error))

    def describe(self) -> dict[str, Any]:
        """Load the backend and return a description of it. Raise Refusal if that is not possible."""
        self.source = source = backend.load(self.text, **self.place)
        framework = getattr(source, "framework", None)
        if self.device is not None and isinstance(framework, str) and framework != "torch":
            what = f"--device={self.device} is for backends of PyTorch, and this one is of {framework}; leave it out"
            raise backend.Refusal(f"--backend={self.text}: {what}")
        if self.device is not None:
            source.device = self.device
        device = getattr(source, "device", None)
        if not isinstance(framework, str):
            what = 'it does not say whose arrays it takes; add a line framework = "torch", or "numpy"'
            raise backend.Refusal(f"--backend={self.text}: {what}")
        try:
            self.arrays = (backend.TorchArrays if framework == "torch" else backend.Arrays)(framework, device)
        except Exception as error:
            raise backend.Refusal(f"--backend={self.text}: {backend.explain(error, self.place['install'])}") from error
        own_process.limit_memory(self.memory)
        version = str(getattr(self.arrays.module, "__version__", "unknown"))
        python = {
            "module": self.name, "kind": "module",
            "stated": {name: getattr(source, name) for name in STATED if hasattr(source, name)},
            "translates_calls": hasattr(source, "translate_call"),
            "framework": {
                "name": framework, "device": device, "place": self.arrays.place, "namespace": framework, "version": version,
                "dtypes": self.arrays.dtypes, "narrow_dtypes": self.arrays.narrow_dtypes, "integer": "int64",
                "differentiates": self.arrays.differentiates, "accumulates": False, "has_states": False, "has_transforms": False,
            },
        }  # fmt: skip
        name, functions = getattr(source, "name", None), backend.list_functions(source)
        return {
            "protocol": 1,
            "name": name if isinstance(name, str) and name else self.name,
            "dtypes": self.arrays.dtypes,
            "operations": {name: {"parameters": backend.describe_signature(f)} for name, f in functions if name not in STATED},
            "extensions": EXTENSIONS,
            "python": json.dumps(self.encode(python, [])),
        }

    def call(self, operation: str, arrays: Any, keywords: Any) -> Any:
        answer = getattr(self.source, operation)(*arrays, **keywords)
        getattr(self.source, "synchronize", lambda: None)()
        return answer

    def translate_call(self, operation: str, arrays: Any, keywords: Any) -> Any:
        return list(self.source.translate_call(operation, *arrays, **keywords) or ())

    def linearize(self, operation: str, positional: Any, results: Any, arrays: Any, keywords: Any) -> Any:
        """Return the result, and the handle of a function from a cotangent to the gradient of each argument by its path."""
        inputs: dict[str, Any] = {}

        def prepare(x: Any, path: str) -> Any:
            if isinstance(x, dict):
                return {key: prepare(item, f"{path}[{key!r}]") for key, item in x.items()}
            if isinstance(x, list | tuple):
                return type(x)(prepare(item, f"{path}[{place}]") for place, item in enumerate(x))
            if not self.arrays.is_array(x) or self.arrays.dtype_of(x) not in backend.FLOATS:
                return x
            return inputs.setdefault(path, x.detach().requires_grad_())

        leaves = [prepare(x, name) for name, x in zip(positional, arrays, strict=False)]
        y = self.call(operation, leaves, {name: prepare(x, name) if name in positional else x for name, x in keywords.items()})
        values = [y] if not results else [y[name] for name in results] if isinstance(y, dict) else list(y)
        carries_gradient = any(getattr(value, "requires_grad", False) for value in values)
        is_empty = bool(inputs) and all(0 in x.shape for x in inputs.values())  # then each gradient is empty

        def pull_back(cotangent: Any) -> Any:
            given = cotangent if results else [cotangent]
            pairs = [(value, c.to(value.dtype)) for value, c in zip(values, given, strict=True) if c is not None]
            dependent = [pair for pair in pairs if pair[0].requires_grad]
            if is_empty and not dependent:
                return dict.fromkeys(inputs)
            if not carries_gradient:
                raise NotImplementedError("its result carries no gradient")
            if len(dependent) < len(pairs) and not is_empty:
                raise NotImplementedError("one of its results carries no gradient")
            asked, cotangents = (list(part) for part in zip(*dependent, strict=True))
            grad = self.arrays.module.autograd.grad
            found = grad(asked, list(inputs.values()), cotangents, retain_graph=True, allow_unused=True)
            return dict(zip(inputs, found, strict=True))

        return [tuple(values) if results else y, Handle(self.keep(pull_back))]

    def pull_back(self, pull: Any, cotangent: Any) -> Any:
        return pull(cotangent)

    def read(self, x: Any) -> Any:
        return x

    def overwrite(self, x: Any, value: Any) -> bool:
        return bool(self.arrays.overwrite(x, value))

    # --- trees --------------------------------------------------------------------------------------------------------

    def keep(self, x: Any) -> int:
        self.last_number -= 1
        self.objects[self.last_number] = x
        return self.last_number

    def decode(self, node: Any, arrays: dict[str, Any]) -> Any:
        """Return what a tree of a request stands for."""
        if isinstance(node, list):
            return [self.decode(item, arrays) for item in node]
        if not isinstance(node, dict):
            return node
        ((tag, value),) = node.items()
        if tag == "handle":
            return self.objects[value]
        if tag in ("array", "make"):
            dtype, shape, data = arrays[value if tag == "array" else value[1]["array"]]
            dtype = value[2].get("dtype", dtype) if tag == "make" else dtype
            try:
                made = self.arrays.make(dtype, shape, data)
                made = self.arrays.lay_out(made, value[2]) if tag == "make" else made
            except Exception as error:
                raise CannotMake(f"{self.arrays.name} makes no array of shape {tuple(shape)} ({error})") from error
            return self.objects.setdefault(value[0], made) if tag == "make" else made
        if tag == "dict":
            return {key: self.decode(item, arrays) for key, item in value}
        return tuple(self.decode(item, arrays) for item in value) if tag == "tuple" else range(*value)

    def encode(self, x: Any, results: list[Any]) -> Any:
        """Return the tree of an answer, whose arrays are added to `results` and stay here."""
        if type(x) in PLAIN:
            return x
        if isinstance(x, Handle):
            return {"handle": x.number}
        if self.arrays.is_array(x):
            dtype, device = self.arrays.dtype_of(x), self.arrays.device_of(x)
            return {"kept": [self.keep(x), dtype, device, self.send(x, results), []]}
        if isinstance(x, range):
            return {"range": [x.start, x.stop, x.step]}
        x = dict(zip(x._fields, x, strict=True)) if isinstance(x, tuple) and hasattr(x, "_fields") else x
        if isinstance(x, dict):
            return {"dict": [[str(key), self.encode(item, results)] for key, item in x.items()]}
        if isinstance(x, list | tuple):
            items = [self.encode(item, results) for item in x]
            return items if isinstance(x, list) else {"tuple": items}
        return {"foreign": f"a {type(x).__name__}"}

    def send(self, x: Any, results: list[Any]) -> Any:
        """Return what a tree has of the values of an array: its name in the message, or why it cannot be read."""
        try:
            results.append(self.arrays.read(x))
        except Exception as error:
            if not self.arrays.is_alive():
                raise
            return f"{type(error).__name__}: {error}"
        return {"array": str(len(results) - 1)}

    def describe_exception(self, error: BaseException) -> dict[str, str]:
        """Return what is sent of an exception of a call: its type, its text and its place in the backend's code."""
        kind, text = type(error).__name__, str(error)
        place = backend.find_place(error)
        said = {"error": f"the call raised {kind}{': ' * bool(text)}{text}", "raised": json.dumps([kind, place])}
        if self.arrays is not None and not self.arrays.is_alive():
            return {**said, "lost": "true", "facts": json.dumps([["since then", "its device answers nothing more"]])}
        return said


# --- the process ------------------------------------------------------------------------------------------------------


def main(folder: str, **options: Any) -> None:
    """Serve the backend that the options name, from a run in this folder."""
    requests, answers = own_process.open_channel()
    own_process.die_with_the_parent()
    faulthandler.enable()
    own = Path(__file__).parent  # whose modules are the suite's
    sys.path[:] = [folder, *(place for place in sys.path if Path(place) != own)]
    server = Server(**options)
    while (request := receive(requests)) is not None:
        is_last = request[0].get("request") == "quit"
        answers.write(pack({}) if is_last else server.answer(*request))
        answers.flush()
        if is_last:
            break
    os._exit(0)


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
