"""The server that runs in the process of an isolated backend: it loads the backend and answers requests.

It speaks the process protocol, with all of its extensions. It must import neither the equations nor anything that judges,
because the backend could find them in its process.
"""

from __future__ import annotations

import faulthandler
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO

import numpy as np

from ..implementation.autodiff import Differentiation
from ..implementation.environment import DEVICES
from ..implementation.framework import CannotMakeArray
from ..implementation.guard import Fault, Refused, as_fault
from ..implementation.layouts import apply_view
from ..implementation.lookup import BackendError, identify, resolve
from ..implementation.plain_values import copy_plain
from ..implementation.rank_devices import read_ranks
from ..specification.pytree import tree_map
from ..specification.run_settings import current_settings, set_settings
from .message import CODES, EXTENSIONS, LENGTH, PROTOCOL_VERSION, ProcessArray, pack, read_header, unpack
from .own_process import die_with_the_parent, limit_memory, open_channel
from .standalone_backend import describe_signature
from .survivors import adopt_orphans
from .trees import Handle, Kept, Making, read_tree, write_tree

BACKEND_PROPERTIES = (  # those that a backend may state, and what `recognize` has found out
    "dtypes", "domain", "conventions", "precision", "version", "device", "renamed_operations", "absence_hints",
    "beyond", "carriers", "import_kind", "promised_tiers", "separate_functions", "shards", "ranks",
)  # fmt: skip
FRAMEWORK_PROPERTIES = (
    "name", "device", "place", "version", "namespace", "dtypes", "narrow_dtypes", "integer", "differentiates", "accumulates",
    "has_states", "has_transforms",
)  # fmt: skip
WORLD_SIZE = "WORLD_SIZE"  # the variable with the number of ranks, as torchrun names it
WIDER = MappingProxyType(
    {"i": "int64", "u": "int64", "f": "float64"}
)  # in which values are sent whose dtype is none of the protocol
ORACLE = "reference_numpy"
SEEN_OF_ORACLE: list[str] = []  # what this process has imported, run or read of the equations
NO_TIMEOUT_SECONDS = 10.0**9  # the other process has the time limit


class Server:
    """A backend, the objects that stay in this process, by their number, and the requests that use them.

    The other process chooses the numbers of the arrays that it asks for. They are positive. Results have negative numbers.
    """

    def __init__(self, text: str, folder: str, names: Iterable[str], memory: int | None) -> None:
        self.text, self.folder, self.names, self.memory = text, folder, names, memory
        self.objects: dict[int, Any] = {}
        self.last_number = 0
        self.state = ""

    def answer(self, metadata: Mapping[str, str], arrays: dict[str, ProcessArray]) -> bytes:
        """Return the answer to a request."""
        try:
            if metadata["request"] == "describe":
                return self.pack({"describe": json.dumps(self.describe())})
            for number in json.loads(metadata.get("forget", "[]")):
                self.objects.pop(number, None)
            self.state = metadata.get("state", "")
            arguments = tree_map(self.from_wire, read_tree(metadata["arguments"], arrays))
            text, results = write_tree(REQUESTS[metadata["request"]](self, *arguments))
            return self.pack({"answer": text}, results)
        except BackendError as error:
            return self.pack({"error": str(error)})
        except Refused as refusal:
            return self.pack({"not_implemented": str(refusal)})
        except CannotMakeArray as reason:
            return self.pack({"cannot_make": str(reason)})
        except BaseException as error:
            return self.pack(describe_fault(as_fault(error)))

    @staticmethod
    def pack(metadata: dict[str, str], arrays: Mapping[str, ProcessArray] = MappingProxyType({})) -> bytes:
        return pack({**metadata, "oracle": "true"} if SEEN_OF_ORACLE else metadata, arrays)

    # --- requests ---------------------------------------------------------------------------------------------------------

    def describe(self) -> dict[str, Any]:
        """Load the backend that --backend=text names and return a description of it. Raise BackendError if that is refused."""
        self.source, name, self.framework = identify(resolve(self.text, Path(self.folder)), self.text)
        if getattr(self.source, "ranks", None) == DEVICES:
            self.framework.world_size = int(os.environ[WORLD_SIZE])
        limit_memory(self.memory)
        functions = {name: function for name in self.names if callable(function := getattr(self.source, name, None))}
        python, _ = write_tree({
            "module": str(getattr(self.source, "__name__", "")),
            "kind": type(getattr(self.source, "recognized_source", self.source)).__name__,
            "stated": {key: copy_plain(getattr(self.source, key)) for key in BACKEND_PROPERTIES if hasattr(self.source, key)},
            "translates_calls": bool(getattr(self.source, "translate_call", None)),
            "framework": {name: getattr(self.framework, name) for name in (*FRAMEWORK_PROPERTIES, "device_facts")},
        })  # fmt: skip
        return {
            "protocol": PROTOCOL_VERSION,
            "name": name,
            "dtypes": list(self.framework.dtypes),
            "integer": self.framework.integer,
            "operations": {name: {"parameters": describe_signature(function)} for name, function in functions.items()},
            "extensions": EXTENSIONS,
            "python": python,
        }

    def call(self, operation: str, arrays: Any, keywords: Any) -> Any:
        if not callable(function := getattr(self.source, operation, None)):
            raise Fault(f"{operation} was there when the backend was loaded, and is not there now")
        return self.run_guarded(lambda: self.framework.force(self.framework.call(function, arrays, keywords)))

    def linearize(self, *fields: Any) -> Any:
        """Return the result of the operation, and the handle of a function from a cotangent to gradients."""
        what = build_differentiation(*fields)

        def step() -> Any:
            return what.linearize(self.framework, getattr(self.source, what.operation))

        return self.run_guarded(step, lambda pair: [self.to_wire(pair[0]), self.keep(pair[1])])

    def pull_back(self, pull: Any, cotangent: Any) -> Any:
        return self.run_guarded(lambda: pull(cotangent))

    def accumulate(self, cotangents: Any, *fields: Any) -> Any:
        what = build_differentiation(*fields)
        return self.run_guarded(lambda: what.accumulate(self.framework, getattr(self.source, what.operation), cotangents))

    def read(self, x: Any) -> Kept:
        return self.read_array(x, 0)

    def overwrite(self, x: Any, value: Any) -> bool:
        return self.framework.overwrite(x, value)

    def translate_call(self, operation: str, arrays: Any, keywords: Any) -> Any:
        translated = self.source.translate_call(operation, *arrays, **keywords)
        return [translated[0], self.to_wire(translated[1])] if translated else []

    # --- what the requests share ------------------------------------------------------------------------------------------

    def run_guarded(self, step: Callable[[], Any], convert: Callable[[Any], Any] | None = None) -> Any:
        """Run a step of the backend. Return its answer as it can be sent. Raise its Refused or its Fault.

        `convert` makes of an answer what can be sent, and is `to_wire` if it is not given.
        """

        def run_and_convert() -> Any:
            answer = self.framework.in_state(self.state, step) if self.state else step()
            getattr(self.source, "synchronize", lambda: None)()
            return convert(answer) if convert else self.to_wire(self.framework.describe_foreign(answer))

        return self.framework.run_guarded(run_and_convert, NO_TIMEOUT_SECONDS)

    def to_wire(self, x: Any) -> Any:
        """Keep each array, and replace it by its number and its contents."""
        if self.framework.is_array(x):
            return self.read_array(x, self.keep(x).number)
        if isinstance(x, dict):
            return {name: self.to_wire(item) for name, item in x.items()}
        return type(x)(map(self.to_wire, x)) if isinstance(x, list | tuple) else x

    def from_wire(self, x: Any) -> Any:
        """Return what a leaf of a request stands for: an object that is kept, or an array that is made."""
        if isinstance(x, Handle):
            return self.objects[x.number]
        if isinstance(x, Making):
            self.objects[x.number] = made = apply_view(self.framework, self.framework.native(x.view.buffer, x.dtype), x.view)
            return made
        return self.framework.native(x.values, x.dtype) if isinstance(x, ProcessArray) else x

    def keep(self, x: Any) -> Handle:
        """Give an object a number, and keep it until the other process forgets it."""
        self.last_number -= 1
        self.objects[self.last_number] = x
        return Handle(self.last_number)

    def read_array(self, x: Any, number: int) -> Kept:
        """Return the dtype, the device and the values of an array. If it cannot be read, its values are the error's text."""
        dtype, device = self.framework.dtype_of(x), self.framework.device_of(x)
        try:
            stored = self.framework.stored(x)
            ranks = read_ranks(self.framework, x, stored) if self.framework.world_size > 1 else []
            return Kept(number, dtype, device, as_sent(dtype, stored), tuple(as_sent(dtype, values) for values in ranks))
        except Exception as error:
            if isinstance(error, Fault) and error.lost:
                raise
            return Kept(number, dtype, device, f"{type(error).__name__}: {error}")


REQUESTS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        request.__name__: request
        for request in (
            Server.call, Server.linearize, Server.pull_back, Server.accumulate, Server.read, Server.overwrite,
            Server.translate_call,
        )
    }
)  # fmt: skip


def build_differentiation(operation: str, positional: Any, results: Any, arrays: Any, keywords: Any) -> Differentiation:
    return Differentiation(operation, tuple(positional), tuple(results), tuple(arrays), keywords)


def as_sent(dtype: str, values: np.ndarray) -> ProcessArray:
    """Return the values of an array as a message can hold them. Raise TypeError if none of its dtypes does."""
    name = dtype if dtype == "bfloat16" else values.dtype.name
    if name not in CODES:
        if values.dtype.kind not in WIDER:
            raise TypeError(f"values of the dtype {values.dtype} cannot be sent")
        name = WIDER[values.dtype.kind]
    return ProcessArray(name, values)


def describe_fault(fault: Exception) -> dict[str, str]:
    """Return what is sent of a fault, or of a refusal where none is expected."""
    if not isinstance(fault, Fault):
        return {"error": str(fault), "raised": '["", ""]'}
    said = {"error": fault.what, "facts": json.dumps(fault.facts), "raised": json.dumps(fault.raised or ("", ""))}
    return {**said, "lost": "true"} if fault.lost else said


def watch_oracle(event: str, arguments: tuple[Any, ...]) -> None:
    """Note if a module of the equations is imported, run or read, under whatever name. Python calls this for each audit event."""
    if event == "import":
        text = arguments[0]
    elif event == "exec":
        text = getattr(arguments[0], "co_filename", "")
    elif event == "open":
        text = arguments[0]
    else:
        return
    if isinstance(text, str | bytes) and ORACLE in re.split(r"[./\\]", os.fsdecode(text)):
        SEEN_OF_ORACLE.append(event)


def serve(requests: BinaryIO, answers: BinaryIO, server: Server) -> None:
    """Answer requests until there are no more."""
    while length := requests.read(LENGTH.size):
        header = read_header(requests.read(*LENGTH.unpack(length)))
        metadata, arrays = header.metadata, unpack(header, requests.read(header.data_bytes))
        if metadata.get("request") == "quit":
            answers.write(pack({}, {}))
            answers.flush()
            return
        try:
            answer = server.answer(metadata, arrays)
        except Exception as error:
            answer = pack(describe_fault(Fault(f"its answer cannot be sent: {error}")), {})
        answers.write(answer)
        answers.flush()


def serve_until_the_end(requests: BinaryIO, answers: BinaryIO, server: Server) -> None:
    """Serve, and end the process without the words of Python about what a thread or a signal raises between two requests."""
    try:
        serve(requests, answers, server)
    except (KeyboardInterrupt, SystemExit, GeneratorExit) as error:
        os.write(2, f"{type(error).__name__} was raised between two calls, as a thread or a signal can do\n".encode())
        os._exit(1)


def main(text: str, folder: str, names: Iterable[str], memory: int | None, device: str | None) -> None:
    """Serve the backend that --backend=text names, on the device of --device."""
    set_settings(replace(current_settings(), device=device))
    requests, answers = open_channel()
    die_with_the_parent()
    adopt_orphans()
    sys.addaudithook(watch_oracle)
    faulthandler.enable()
    serve_until_the_end(requests, answers, Server(text, folder, names, memory))
    os._exit(0)
