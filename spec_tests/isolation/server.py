"""What runs in the process of an isolated backend: it loads the backend and answers requests.

It must import neither the equations nor anything that judges, because the backend could find them in its process.
"""

from __future__ import annotations

import faulthandler
import inspect
import os
import re
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..implementation.autodiff import Differentiation
from ..implementation.environment import DEVICES
from ..implementation.framework import CannotMakeArray
from ..implementation.guard import Fault, Refused, as_fault
from ..implementation.lookup import BackendError, identify, resolve, source_file
from ..implementation.rank_devices import read_ranks
from .survivors import adopt_orphans
from .wire import LENGTHS, Handle, pack, unpack

BACKEND_PROPERTIES = (  # those that a backend may state, and what `recognize` has found out
    "dtypes", "domain", "conventions", "precision", "version", "device", "renamed_operations", "absence_hints",
    "beyond", "import_kind", "promised_tiers", "shards", "ranks",
)  # fmt: skip
FRAMEWORK_PROPERTIES = (
    "name", "device", "place", "version", "namespace", "dtypes", "integer", "differentiates", "accumulates", "has_states",
)  # fmt: skip
WORLD_SIZE = "WORLD_SIZE"  # the variable with the number of ranks, as torchrun names it
ORACLE = "reference_numpy"
SEEN_OF_ORACLE: list[str] = []  # what this process has imported, run or read of the equations
NO_TIMEOUT_SECONDS = 10.0**9  # the other process has the time limit


class Server:
    """The objects that stay in this process, by their number, and the requests that use them.

    The other process chooses the numbers of the arrays that it asks for. They are positive. Results have negative numbers.
    """

    def __init__(self) -> None:
        self.objects: dict[int, Any] = {}
        self.last_number = 0
        self.state = ""

    # --- requests: a message has the names of these methods ---------------------------------------------------------------

    def load(self, text: str, folder: str, operations: list[str], memory: int | None) -> dict[str, Any]:
        """Load the backend that --backend=text names and return a description of it, or of why that is refused."""
        try:
            self.source, name, self.framework = identify(resolve(text, Path(folder)), text)
        except BackendError as error:
            return {"refused": str(error)}
        if getattr(self.source, "ranks", None) == DEVICES:
            self.framework.world_size = int(os.environ[WORLD_SIZE])
        limit_memory(memory)
        functions = {name: function for name in operations if callable(function := getattr(self.source, name, None))}
        file = source_file(self.source)
        return {
            "name": name,
            "module": str(getattr(self.source, "__name__", "")),
            "kind": type(getattr(self.source, "recognized_source", self.source)).__name__,
            "file": str(file) if file else None,
            "stated": {key: getattr(self.source, key) for key in BACKEND_PROPERTIES if hasattr(self.source, key)},
            "functions": {name: describe_signature(function) for name, function in functions.items()},
            "translates_calls": bool(getattr(self.source, "translate_call", None)),
            "framework": {name: getattr(self.framework, name) for name in FRAMEWORK_PROPERTIES},
        }

    def make(self, number: int, array: Any, dtype: str, layout: str) -> None:
        self.objects[number] = self.framework.lay_out(array, dtype, layout)

    def enter(self, state: str) -> None:
        """Run the backend in this state of the framework from now on, in none if it is ""."""
        self.state = state

    def call(self, operation: str, arrays: Any, keywords: Any) -> Any:
        if not callable(function := getattr(self.source, operation, None)):
            raise Fault(f"{operation} was there when the backend was loaded, and is not there now")
        return self.run_guarded(lambda: self.framework.force(function(*self.from_wire(arrays), **self.from_wire(keywords))))

    def linearize(self, fields: list[Any]) -> Any:
        """Return the result of the operation, and the handle of a function from a cotangent to gradients."""
        what = self.build_differentiation(fields)

        def step() -> Any:
            return what.linearize(self.framework, getattr(self.source, what.operation))

        return self.run_guarded(step, lambda pair: [self.to_wire(pair[0]), self.keep(pair[1])])

    def pull_back(self, pull: Handle, cotangent: Any) -> Any:
        return self.run_guarded(lambda: self.objects[pull.number](self.from_wire(cotangent)))

    def accumulate(self, fields: list[Any], cotangents: Any) -> Any:
        what = self.build_differentiation(fields)
        return self.run_guarded(
            lambda: what.accumulate(self.framework, getattr(self.source, what.operation), self.from_wire(cotangents))
        )

    def describe_array(self, x: Handle) -> Any:
        return self.read_array(self.objects[x.number])

    def overwrite(self, x: Handle, value: Any) -> bool:
        return self.framework.overwrite(self.objects[x.number], self.from_wire(value))

    def translate_call(self, operation: str, arrays: Any, keywords: Any) -> Any:
        translated = self.source.translate_call(operation, *self.from_wire(arrays), **self.from_wire(keywords))
        return [translated[0], self.to_wire(translated[1])] if translated else []

    # --- what the requests share ------------------------------------------------------------------------------------------

    def run_guarded(self, step: Callable[[], Any], convert: Callable[[Any], Any] | None = None) -> Any:
        """Run a step of the backend. Return its answer as it can be sent, or the refusal or the fault.

        `convert` makes of an answer what can be sent, and is `to_wire` if it is not given.
        """

        def run_and_convert() -> Any:
            answer = self.framework.in_state(self.state, step) if self.state else step()
            getattr(self.source, "synchronize", lambda: None)()
            return convert(answer) if convert else self.to_wire(self.framework.describe_foreign(answer))

        try:
            return {"answer": self.framework.run_guarded(run_and_convert, NO_TIMEOUT_SECONDS)}
        except Refused as refusal:
            return {"refusal": str(refusal)}
        except Fault as error:
            return describe_fault(error)

    def to_wire(self, x: Any) -> Any:
        """Replace each array by its handle and its contents."""
        if self.framework.is_array(x):
            return {"at": self.keep(x), "seen": self.read_array(x)}
        if isinstance(x, dict):
            return {"named": {name: self.to_wire(item) for name, item in x.items()}}
        return type(x)(map(self.to_wire, x)) if isinstance(x, list | tuple) else x

    def from_wire(self, tree: Any) -> Any:
        """Replace each handle by its object."""
        if isinstance(tree, Handle):
            return self.objects[tree.number]
        if isinstance(tree, dict):
            return {key: self.from_wire(item) for key, item in tree.items()}
        return type(tree)(self.from_wire(item) for item in tree) if isinstance(tree, list | tuple) else tree

    def keep(self, x: Any) -> Handle:
        """Give an object a number, and keep it until the other process forgets it."""
        self.last_number -= 1
        self.objects[self.last_number] = x
        return Handle(self.last_number)

    def read_array(self, x: Any) -> dict[str, Any]:
        """Return the dtype, the device and the values of an array. If it cannot be read, its values are the error's text."""
        values: Any
        ranks: list[Any] = []
        try:
            values = self.framework.stored(x)
            if self.framework.world_size > 1:
                ranks = read_ranks(self.framework, x, values)
        except Exception as error:
            if isinstance(error, Fault) and error.lost:
                raise
            values = f"{type(error).__name__}: {error}"
        seen = {"dtype": self.framework.dtype_of(x), "device": self.framework.device_of(x), "values": values}
        return {**seen, "ranks": ranks} if ranks else seen

    def build_differentiation(self, fields: list[Any]) -> Differentiation:
        operation, positional, results, arrays, keywords = fields
        return Differentiation(
            operation, tuple(positional), tuple(results), tuple(self.from_wire(arrays)), self.from_wire(keywords)
        )

    def reply(self, message: dict[str, Any]) -> dict[str, Any]:
        """Drop the objects that are forgotten, run all requests of the message, and return the answer to the last one."""
        for number in message["forgotten"]:
            self.objects.pop(number, None)
        answer = None
        try:
            for name, arguments in message["steps"]:
                answer = getattr(self, name)(*arguments)
        except CannotMakeArray as reason:
            answer = {"unmade": str(reason)}
        except BaseException as error:
            answer = describe_fault(as_fault(error))
        return {"reply": answer, "oracle": bool(SEEN_OF_ORACLE)}


def describe_fault(error: Exception) -> dict[str, Any]:
    """Return what is sent of a fault, or of a refusal where none is expected."""
    fault = error if isinstance(error, Fault) else Fault(str(error))
    return {"fault": fault.what, "facts": fault.facts, "lost": fault.lost, "raised": fault.raised}


def describe_signature(function: Any) -> list[list[Any]] | None:
    """Return the name, the kind and whether it has a default of each parameter. Return None if there is no signature."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    return [[p.name, int(p.kind), p.default is not p.empty] for p in parameters]


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


def limit_memory(size: int | None) -> None:
    """Limit the bytes of the process's data. The limit is not on its address space: drivers reserve much that they never use."""
    with suppress(ImportError):  # the run has said so
        import resource

        if size is not None:
            resource.setrlimit(resource.RLIMIT_DATA, (size, size))


def die_with_the_parent() -> None:
    """Have the system kill this process when its parent ends, in whatever way, and before others when memory runs out.

    This works on Linux only.
    """
    with suppress(Exception):
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        Path("/proc/self/oom_score_adj").write_text("1000")


def receive_exactly(channel: socket.socket, size: int) -> memoryview:
    """Return this many bytes. End the process if the other side has closed the channel."""
    buffer = memoryview(bytearray(size))
    start = 0
    while start < size:
        if not (count := channel.recv_into(buffer[start:])):
            os._exit(0)
        start += count
    return buffer


def serve(channel: socket.socket) -> None:
    """Answer messages until the channel closes."""
    server = Server()
    while True:
        header, rest = LENGTHS.unpack(receive_exactly(channel, LENGTHS.size))
        message = unpack(bytes(receive_exactly(channel, header)), receive_exactly(channel, rest))
        try:
            answer = pack(server.reply(message))
        except Exception as error:
            answer = pack({"reply": describe_fault(Fault(f"its answer cannot be sent: {error}")), "oracle": False})
        channel.sendall(answer)


def main(number: str) -> None:
    """Serve on the socket that has this file descriptor."""
    die_with_the_parent()
    adopt_orphans()
    sys.addaudithook(watch_oracle)
    faulthandler.enable()
    os.set_inheritable(int(number), False)  # what the backend starts must not hold the channel open
    serve(socket.socket(fileno=int(number)))
