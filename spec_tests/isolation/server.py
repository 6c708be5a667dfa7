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

from ..implementation.autodiff import Differentiation
from ..implementation.cs336 import Adapters
from ..implementation.guard import Fault, Refused, as_fault
from ..implementation.lookup import BackendError, identify, resolve, source_file
from .wire import LENGTHS, Handle, pack, unpack

STATED = ("dtypes", "domain", "conventions", "precision", "version", "device")  # what a backend may say of itself
KNOWN = ("name", "device", "place", "version", "namespace", "dtypes", "integer", "differentiates", "accumulates")
ORACLE = "reference_numpy"
NO_TIMEOUT_SECONDS = 10.0**9  # seconds: the other side looks at the clock


class Server:
    def __init__(self) -> None:
        self.objects: dict[int, Any] = {}
        self.made = 0

    # --- requests, each by its name -------------------------------------------------------------------------------------

    def load(self, text: str, folder: str, operations: list[str], memory: int | None) -> dict[str, Any]:
        """What there is to know of the backend."""
        try:
            self.source, name, self.framework = identify(resolve(text, Path(folder)), text)
        except BackendError as error:
            return {"refused": str(error)}
        limit_memory(memory)
        functions = {name: function for name in operations if callable(function := getattr(self.source, name, None))}
        framework, file = self.framework, source_file(self.source)
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
        self.objects[number] = self.framework.lay_out(array, dtype, layout)

    def call(self, operation: str, arrays: Any, keywords: Any) -> Any:
        function = getattr(self.source, operation)
        return self.guarded(lambda: self.framework.force(function(*self.native(arrays), **self.native(keywords))))

    def linearize(self, fields: list[Any]) -> Any:
        what = self.differentiation(fields)

        def both() -> Any:
            return what.linearize(self.framework, getattr(self.source, what.operation))

        return self.guarded(both, lambda found: [self.told(found[0]), self.kept(found[1])])

    def pulled(self, pull: Handle, cotangent: Any) -> Any:
        return self.guarded(lambda: self.objects[pull.number](self.native(cotangent)))

    def accumulate(self, fields: list[Any], cotangents: Any) -> Any:
        what = self.differentiation(fields)
        return self.guarded(
            lambda: what.accumulate(self.framework, getattr(self.source, what.operation), self.native(cotangents))
        )

    def differentiation(self, fields: list[Any]) -> Differentiation:
        operation, positional, dtype, arrays, keywords = fields
        return Differentiation(operation, tuple(positional), dtype, tuple(self.native(arrays)), self.native(keywords))

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
            return told(answer) if told else self.told(self.framework.describe_foreign(answer))

        try:
            return {"answer": self.framework.run_guarded(whole, NO_TIMEOUT_SECONDS)}
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
            last = {"fault": str(as_fault(error)), "facts": [], "lost": False}
        return {"reply": last, "oracle": ORACLE in sys.modules}


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


def receive_exactly(channel: socket.socket, size: int) -> memoryview:
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
        header, rest = LENGTHS.unpack(receive_exactly(channel, LENGTHS.size))
        message = unpack(bytes(receive_exactly(channel, header)), receive_exactly(channel, rest))
        try:
            answer = pack(server.reply(message))
        except Exception as error:
            answer = pack(
                {"reply": {"fault": f"its answer cannot be sent: {error}", "facts": [], "lost": False}, "oracle": False}
            )
        channel.sendall(answer)


def main(number: str) -> None:
    die_with_the_parent()
    faulthandler.enable()
    serve(socket.socket(fileno=int(number)))
