"""An isolated backend: its functions, and the arrays of its framework, are in a process that runs `python_server.py`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..implementation.autodiff import Differentiation
from ..implementation.backend import Backend, validate
from ..implementation.environment import backend_file
from ..implementation.guard import Fault
from ..implementation.lookup import BackendError
from ..implementation.printable import printable_line
from ..importers import recognize
from .command import other_python_command, python_command
from .connection import Connection
from .description import PythonSide
from .python_server import BACKEND_PROPERTIES
from .remote_framework import RemoteFramework, describe_ranks, from_wire, to_wire


class PythonSource:
    """The source of a backend in another process: what the process reports of it, and its functions with their signatures.

    `make_function` makes the function of a name. Its file is the one that the suite finds, because the process may name any.
    """

    translate_call: Callable[..., Any]  # where the process has one

    def __init__(
        self, side: PythonSide, names: Collection[str], file: Path | None, make_function: Callable[[str, Any], Callable[..., Any]]
    ):
        self.__name__, self.__file__, self.kind = side.module, str(file) if file else None, side.kind
        self.__dict__.update({name: value for name, value in side.stated.items() if name in BACKEND_PROPERTIES})
        for name in names:
            if name in side.parameters:
                setattr(self, name, make_function(name, side.parameters[name]))


class RemoteFunction:
    """A function of the backend, with its signature. Calling it calls the function in the other process."""

    def __init__(self, framework: RemoteFramework, name: str, parameters: list[Any] | None):
        self.framework, self.name = framework, name
        if parameters is not None:
            self.__signature__ = build_signature(parameters)

    def __call__(self, *arrays: Any, **keywords: Any) -> Any:
        return self.framework.run("call", self.name, arrays, keywords)


def build_signature(parameters: list[Any]) -> inspect.Signature:
    """Return the signature of a function of the other process, from its description."""
    kinds = list(inspect._ParameterKind)
    return inspect.Signature(
        [
            inspect.Parameter(p, kinds[kind], default=... if optional else inspect.Parameter.empty)
            for p, kind, optional in parameters
        ]
    )


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
        y, pull = self.framework.run("linearize", *list_fields(what))
        return y, lambda cotangent: self.framework.run("pull_back", pull, cotangent)

    def accumulate(self, what: Differentiation, cotangents: list[Any]) -> dict[str, Any]:
        return self.framework.run("accumulate", cotangents, *list_fields(what))


def list_fields(what: Differentiation) -> list[Any]:
    return [what.operation, list(what.positional), list(what.results), list(what.arrays), what.keywords]


def load_isolated(
    text: str, folder: Path, operations: Collection[str], gradients: Collection[str], world_size: int | None = None
) -> Backend:
    """Return the backend that --backend=text names, in a process of its own. Raise BackendError, whose text is one sentence.

    world_size is the number of ranks of a backend whose ranks are devices of its process, which has it as WORLD_SIZE.
    """
    names = [*operations, *gradients]
    connection = Connection(python_command(text, folder, names, world_size))
    with describing(text):
        connection.start()
        framework, source = build_source(connection, names, backend_file(text, folder))
        if world_size is not None:
            framework.world_size, framework.version = world_size, describe_ranks(framework.version, world_size)
        backend = IsolatedBackend(connection.described.name, source, framework, text)
    return validate(backend, operations)


def load_in_python(text: str, folder: Path, operations: Collection[str], python: tuple[str, ...]) -> Backend:
    """Return the backend that --backend=text names, in a process of another Python, which these words start.

    Raise BackendError, whose text is one sentence.
    """
    connection = Connection(other_python_command(text, folder, python))
    with describing(text):
        connection.start()
        framework, source = build_source(connection, None, backend_file(text, folder))
        backend = IsolatedBackend(connection.described.name, recognize(source), framework, text)
    return validate(backend, operations)


def build_source(
    connection: Connection, names: Collection[str] | None, file: Path | None
) -> tuple[RemoteFramework, PythonSource]:
    """Return the framework and the source of a backend whose process has described it; with all functions if names is None."""
    side = connection.described.python
    if side is None:
        raise ValueError("it is no backend in Python")
    framework = RemoteFramework(connection, side.framework)
    if names is None:
        names = [name for name in side.parameters if name not in BACKEND_PROPERTIES]
    source = PythonSource(side, names, file, lambda name, parameters: RemoteFunction(framework, name, parameters))
    if side.translates_calls:
        source.translate_call = lambda *call, **keywords: translate_call(connection, *call, **keywords)
    return framework, source


def translate_call(connection: Connection, operation: str, *arrays: Any, **keywords: Any) -> Any:
    """Return how the backend's file itself writes a call: the function's name and keywords. None: as the suite writes it."""
    translated = connection.run("translate_call", *to_wire(connection, [operation, arrays, keywords]))
    return (translated[0], from_wire(connection, translated[1])) if translated else None


@contextmanager
def describing(text: str) -> Iterator[None]:
    """Raise BackendError, whose text is one sentence, where a process is lost or describes its backend in no known way."""
    try:
        yield
    except Fault as fault:
        if fault.what.startswith("--backend="):
            raise BackendError(fault.what) from None
        printed = "".join(f"; it printed {fact!r}" for label, fact in fault.facts if label == "printed")
        raise BackendError(f"--backend={text}: while it was imported, {fault.what}{printed}") from None
    except (LookupError, TypeError, ValueError) as error:
        raise BackendError(f"--backend={text}: its process describes it in no known way ({error})") from None
