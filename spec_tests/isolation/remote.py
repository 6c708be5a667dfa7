"""An isolated backend: its functions, and the arrays of its framework, are in another process."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from ..implementation.autodiff import Differentiation
from ..implementation.backend import Backend, validate
from ..implementation.environment import backend_file
from ..implementation.framework import CannotMakeArray, Foreign, as_float64, numpy_dtype
from ..implementation.guard import Fault
from ..implementation.lookup import BackendError
from ..implementation.printable import printable_line
from ..specification.pytree import tree_map
from .connection import Connection, RemoteArray, from_wire, make_array, read_answer, replace_if_lost, request, to_wire
from .server import BACKEND_PROPERTIES, FRAMEWORK_PROPERTIES, WORLD_SIZE
from .wire import MAX_MESSAGE_BYTES

MAX_ARRAY_BYTES = MAX_MESSAGE_BYTES // 4  # of one array; a message may hold several


class RemoteFramework:
    """An ArrayFramework whose arrays stay in the other process. The protocol says what each method does."""

    name: str
    device: str | None
    place: str
    version: str
    namespace: str
    dtypes: tuple[str, ...]
    integer: str
    differentiates: str
    accumulates: bool
    has_states: bool
    device_lost = False  # never: a process whose device is lost is replaced
    world_size = 1
    passes_copies = False  # the other process has the framework's own arrays

    def __init__(self, connection: Connection, properties: dict[str, Any]):
        self.connection = connection
        properties = {name: properties[name] for name in FRAMEWORK_PROPERTIES}
        texts = {name: printable_line(value) for name, value in properties.items() if isinstance(value, str)}
        self.__dict__.update({**properties, **texts, "dtypes": tuple(properties["dtypes"])})
        self.version = check_version(self.name, self.version)

    def run_step(self, name: str, *arguments: Any) -> Any:
        """Send a request that runs a function of the backend and return its answer. Raise Refused or Fault."""
        self.connection.calls += 1
        reply = self.connection.ask(name, *map(to_wire, arguments))
        try:
            return read_answer(self.connection, reply)
        except Fault as fault:
            replace_if_lost(self.connection, fault)
            raise

    def run_guarded(self, step: Callable[[], Any], seconds: float) -> Any:
        """Run a step here with this limit for its requests. The other process guards what the backend does."""
        self.connection.timeout_seconds = seconds
        try:
            return step()
        finally:
            self.connection.timeout_seconds = 0.0

    def in_state(self, state: str, step: Callable[[], Any]) -> Any:
        self.connection.queue("enter", state)
        try:
            return step()
        finally:
            if self.connection.process is not None:  # a new one is in no state
                self.connection.queue("enter", "")

    def lay_out(self, array: np.ndarray, dtype: str, layout: str) -> Any:
        if self.connection.process is None:
            self.connection.load()
        dtype = self.integer if dtype == "int64" else dtype
        with np.errstate(over="ignore"):
            values = np.asarray(array, dtype=numpy_dtype(dtype))
        return make_array(self.connection, values, dtype, layout)

    def native(self, array: Any, dtype: str) -> Any:
        return self.lay_out(np.asarray(array), dtype, "contiguous")

    def tile(self, x: Any, copies: int) -> Any:
        values = x.values
        if copies * values.nbytes > MAX_ARRAY_BYTES:
            raise CannotMakeArray(f"{copies * values.nbytes} bytes are more than is sent to an isolated backend in one array")
        return make_array(self.connection, np.concatenate([values] * copies), self.dtype_of(x))

    def force(self, x: Any) -> Any:
        return x

    def is_array(self, x: Any) -> bool:
        return type(x) is RemoteArray

    def describe_type(self, x: Any) -> str:
        return x.kind if type(x) is Foreign else f"a {type(x).__name__}"

    def describe_foreign(self, x: Any) -> Any:
        return x

    def numpy(self, x: Any) -> np.ndarray:
        return as_float64(x.values)

    def dtype_of(self, x: Any) -> str:
        return str(x.contents["dtype"])

    def device_of(self, x: Any) -> str:
        return str(x.contents["device"])

    def on_device(self, x: Any) -> bool:
        return self.device_of(x) == self.place

    def of_rank(self, answer: Any, rank: int) -> Any:
        return tree_map(lambda x: x.of_rank(rank) if isinstance(x, RemoteArray) else x, answer)

    def overwrite(self, x: Any, value: Any) -> bool:
        overwritten = request(self.connection, "overwrite", x.handle, to_wire(value))
        self.connection.calls += 1
        return bool(overwritten)


def describe_ranks(version: str, world_size: int) -> str:
    """Return the version of a framework with the number of ranks on which it runs."""
    return f"{version} on {world_size} rank{'s' if world_size > 1 else ''}"


def check_version(library: str, stated: str) -> str:
    """Return the version of a library. What the process states stands in quotes, unless the suite finds the same here."""
    try:
        found = metadata.version(library)
    except metadata.PackageNotFoundError:
        return f'"{stated}"'
    return stated if stated.partition("+")[0] == found.partition("+")[0] else f'{found}, in its process "{stated}"'


class RemoteSource:
    """The source of an isolated backend: what the process reports of it, and its functions with their signatures.

    Its file is the one that the suite finds, because the process may name any.
    """

    def __init__(self, framework: RemoteFramework, description: dict[str, Any], file: Path | None = None):
        self.__name__, self.__file__, self.kind = description["module"], str(file) if file else None, description["kind"]
        self.__dict__.update({name: value for name, value in description["stated"].items() if name in BACKEND_PROPERTIES})
        for name in framework.connection.names:
            if name in description["functions"]:
                setattr(self, name, RemoteFunction(framework, name, description["functions"][name]))
        if description["translates_calls"]:
            self.translate_call = lambda operation, *arrays, **keywords: self._translate_call(
                framework, operation, arrays, keywords
            )

    @staticmethod
    def _translate_call(framework: RemoteFramework, operation: str, arrays: Any, keywords: Any) -> Any:
        translated = request(framework.connection, "translate_call", operation, to_wire(arrays), to_wire(keywords))
        return (translated[0], from_wire(framework.connection, translated[1])) if translated else None


def build_signature(parameters: list[Any]) -> inspect.Signature:
    """Return the signature of a function of the other process, from its description."""
    kinds = list(inspect._ParameterKind)
    return inspect.Signature(
        [
            inspect.Parameter(p, kinds[kind], default=... if optional else inspect.Parameter.empty)
            for p, kind, optional in parameters
        ]
    )


class RemoteFunction:
    """A function of the backend, with its signature. Calling it calls the function in the other process."""

    def __init__(self, framework: RemoteFramework, name: str, parameters: list[Any] | None):
        self.framework, self.name = framework, name
        if parameters is not None:
            self.__signature__ = build_signature(parameters)

    def __call__(self, *arrays: Any, **keywords: Any) -> Any:
        return self.framework.run_step("call", self.name, arrays, keywords)


@dataclass(frozen=True)
class IsolatedBackend(Backend):
    """A Backend whose functions run in another process."""

    framework: RemoteFramework = field(repr=False)

    @property
    def version(self) -> str:
        """The version that the backend states, in quotes, because it is the word of its process; else that of its framework."""
        stated = getattr(self.source, "version", None)
        return super().version if stated is None else f'"{printable_line(str(stated))}"'

    @property
    def imports_oracle(self) -> bool:
        return self.framework.connection.imports_oracle

    def linearize(self, what: Differentiation) -> tuple[Any, Callable[[Any], dict[str, Any]]]:
        y, pull = self.framework.run_step("linearize", list_fields(what))
        return y, lambda cotangent: self.framework.run_step("pull_back", pull, cotangent)

    def accumulate(self, what: Differentiation, cotangents: list[Any]) -> dict[str, Any]:
        return self.framework.run_step("accumulate", list_fields(what), cotangents)


def list_fields(what: Differentiation) -> list[Any]:
    return [what.operation, list(what.positional), list(what.results), list(what.arrays), what.keywords]


def load_isolated(
    text: str, folder: Path, operations: Collection[str], gradients: Collection[str], world_size: int | None = None
) -> Backend:
    """Return the backend that --backend=text names, in a process of its own. Raise BackendError, whose text is one sentence.

    world_size is the number of ranks of a backend whose ranks are devices of its process, which has it as WORLD_SIZE.
    """
    connection = Connection(text, folder, [*operations, *gradients])
    if world_size is not None:
        connection.environment = {**connection.environment, WORLD_SIZE: str(world_size)}
    try:
        description = connection.load()
        framework = RemoteFramework(connection, description["framework"])
        if world_size is not None:
            framework.world_size, framework.version = world_size, describe_ranks(framework.version, world_size)
        backend = IsolatedBackend(
            printable_line(str(description["name"])),
            RemoteSource(framework, description, backend_file(text, folder)),
            framework,
            text,
        )
    except Fault as fault:
        what = fault.what if fault.what.startswith("--backend=") else f"--backend={text}: while it was imported, {fault.what}"
        raise BackendError(what) from None
    except (LookupError, TypeError, ValueError) as error:
        raise BackendError(f"--backend={text}: its process describes it in no known way ({error})") from None
    validate(backend, operations)
    return backend
