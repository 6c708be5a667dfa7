"""What runs in the backend's process. It imports neither the equations nor anything that judges."""

from __future__ import annotations

import faulthandler
import inspect
import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..implementation.autodiff import Differentiable
from ..implementation.cs336 import Adapters
from ..implementation.guard import Fault, Refused, fault
from ..implementation.lookup import BackendError, file_of, find, framed
from .wire import LENGTHS, Handle, packed, unpacked

STATED = ("dtypes", "domain", "conventions", "precision", "version", "device")  # what a backend may say of itself
KNOWN = ("name", "device", "place", "version", "namespace", "dtypes", "integer", "differentiates", "accumulates")
ORACLE = "reference_numpy"
FOREVER = 10.0**9  # seconds: the other side looks at the clock


class Server:
    def __init__(self) -> None:
        self.objects: dict[int, Any] = {}
        self.made = 0

    # --- requests, each by its name -------------------------------------------------------------------------------------

    def load(self, text: str, folder: str, operations: list[str], memory: int | None) -> dict[str, Any]:
        """What there is to know of the backend."""
        try:
            self.source, name, self.framework = framed(find(text, Path(folder)), text)
        except BackendError as error:
            return {"refused": str(error)}
        limit_memory(memory)
        functions = {name: function for name in operations if callable(function := getattr(self.source, name, None))}
        framework, file = self.framework, file_of(self.source)
        return {
            "name": name,
            "module": str(getattr(self.source, "__name__", "")),
            "kind": type(self.source).__name__,
            "file": str(file) if file else None,
            "stated": {key: getattr(self.source, key) for key in STATED if hasattr(self.source, key)},
            "functions": {name: signature(function) for name, function in functions.items()},
            "spoken": isinstance(self.source, Adapters),
            "framework": {
                name: getattr(framework, name)
                for name in (
                    "name",
                    "device",
                    "place",
                    "version",
                    "namespace",
                    "dtypes",
                    "integer",
                    "differentiates",
                    "accumulates",
                )
            },
        }

    def make(self, number: int, array: Any, dtype: str, layout: str) -> None:
        self.objects[number] = self.framework.laid_out(array, dtype, layout)

    def call(self, operation: str, arrays: Any, keywords: Any) -> Any:
        function = getattr(self.source, operation)
        return self.guarded(lambda: self.framework.computed(function(*self.native(arrays), **self.native(keywords))))

    def linearized(self, function: list[Any], arrays: Any, keywords: Any) -> Any:
        def both() -> Any:
            source = getattr(self.source, function[0])
            return differentiable(function).linearized(self.framework, source, self.native(arrays), self.native(keywords))

        return self.guarded(both, lambda found: [self.told(found[0]), self.kept(found[1])])

    def pulled(self, pull: Handle, cotangent: Any) -> Any:
        return self.guarded(lambda: self.objects[pull.number](self.native(cotangent)))

    def accumulated(self, function: list[Any], arrays: Any, keywords: Any, cotangents: Any) -> Any:
        def step() -> Any:
            source, native = getattr(self.source, function[0]), map(self.native, (arrays, keywords, cotangents))
            return differentiable(function).accumulated(self.framework, source, *native)

        return self.guarded(step)

    def look(self, x: Handle) -> Any:
        return self.seen(self.objects[x.number])

    def overwrite(self, x: Handle, value: Any) -> bool:
        return self.framework.overwrite(self.objects[x.number], self.native(value))

    def spoken(self, operation: str, arrays: Any, keywords: Any) -> Any:
        name, given = self.source.spoken(operation, *self.native(arrays), **self.native(keywords))
        return [name, self.told(given)]

    # --- what they share ------------------------------------------------------------------------------------------------

    def guarded(self, step: Callable[[], Any], told: Callable[[Any], Any] | None = None) -> Any:
        """The answer as it can be sent, or what became of it."""

        def whole() -> Any:
            answer = step()
            getattr(self.source, "synchronize", lambda: None)()
            return told(answer) if told else self.told(self.framework.known(answer))

        try:
            return {"answer": self.framework.answered(whole, FOREVER)}
        except Refused as refusal:
            return {"refusal": str(refusal)}
        except Fault as error:
            return {"fault": error.what, "facts": error.facts, "lost": error.lost}

    def told(self, x: Any) -> Any:
        """An array stays here, and is seen once."""
        if self.framework.is_array(x):
            return {"at": self.kept(x), "seen": self.seen(x)}
        if isinstance(x, dict):
            return {"named": {name: self.told(item) for name, item in x.items()}}
        return type(x)(map(self.told, x)) if isinstance(x, list | tuple) else x

    def kept(self, x: Any) -> Handle:
        self.made -= 1
        self.objects[self.made] = x
        return Handle(self.made)

    def seen(self, x: Any) -> dict[str, Any]:
        f = self.framework
        values: Any
        try:
            values = f.stored(x)
        except Exception as error:
            values = f"{type(error).__name__}: {error}"
        return {"dtype": f.dtype_of(x), "device": f.device_of(x), "values": values}

    def native(self, tree: Any) -> Any:
        if isinstance(tree, Handle):
            return self.objects[tree.number]
        if isinstance(tree, dict):
            return {key: self.native(item) for key, item in tree.items()}
        return type(tree)(self.native(item) for item in tree) if isinstance(tree, list | tuple) else tree

    def reply(self, message: dict[str, Any]) -> dict[str, Any]:
        """To the last of the steps; those before it have nothing to say."""
        for number in message["forgotten"]:
            self.objects.pop(number, None)
        last = None
        try:
            for name, arguments in message["steps"]:
                last = getattr(self, name)(*arguments)
        except BaseException as error:
            last = {"fault": str(fault(error)), "facts": [], "lost": False}
        return {"reply": last, "oracle": ORACLE in sys.modules}


def differentiable(function: list[Any]) -> Differentiable:
    operation, positional, dtype = function
    return Differentiable(operation, tuple(positional), dtype)


def signature(function: Any) -> list[list[Any]] | None:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    return [[p.name, int(p.kind), p.default is not p.empty] for p in parameters]


def limit_memory(size: int | None) -> None:
    """Of what it writes to: address space that a driver reserves and never touches does not count."""
    if size is not None:
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (size, size))


def die_with_the_parent() -> None:
    """However that dies; Linux alone can."""
    with suppress(Exception):
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        Path("/proc/self/oom_score_adj").write_text("1000")  # this process first, when memory runs out


def received(channel: socket.socket, size: int) -> memoryview:
    buffer = memoryview(bytearray(size))
    start = 0
    while start < size:
        if not (count := channel.recv_into(buffer[start:])):
            os._exit(0)  # the other side is gone
        start += count
    return buffer


def serve(channel: socket.socket) -> None:
    server = Server()
    while True:
        header, rest = LENGTHS.unpack(received(channel, LENGTHS.size))
        message = unpacked(bytes(received(channel, header)), received(channel, rest))
        try:
            answer = packed(server.reply(message))
        except Exception as error:
            answer = packed(
                {"reply": {"fault": f"its answer cannot be sent: {error}", "facts": [], "lost": False}, "oracle": False}
            )
        channel.sendall(answer)


def main(number: str) -> None:
    die_with_the_parent()
    faulthandler.enable()
    serve(socket.socket(fileno=int(number)))
