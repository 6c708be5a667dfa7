"""A backend that is a process: its functions send calls, and its arrays travel in messages."""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..implementation.backend import Backend, validate
from ..implementation.guard import Fault
from ..implementation.lookup import BackendError
from ..implementation.printable import printable_line
from ..specification.registry import Specification, specification
from .command import parse_command
from .connection import Connection
from .description import Description, Signature, find_misfits
from .isolated_backend import IsolatedBackend, build_source, describing
from .message import PROTOCOL_VERSION, Answer, ProcessArray, format_keyword, pack
from .process_framework import CopyingFramework
from .server_process import WROTE

SAID = (WROTE, "printed", "printed first", "printed last")  # facts about what a process wrote


class ServerFramework(CopyingFramework):
    """The ArrayFramework of a process that a command starts."""

    name = "process"
    version = f"protocol {PROTOCOL_VERSION}"

    def __init__(self, connection: Connection, description: Description):
        self.connection = connection
        self.dtypes, self.integer = description.dtypes, description.integer


class ServerFunction:
    """A function of the backend. Calling it sends the call to the process."""

    def __init__(self, connection: Connection, spec: Specification, signature: Signature):
        self.connection, self.spec = connection, spec
        self.keywords = signature.keywords
        self.arrays = [name for name in spec.positional if name in (*signature.arrays, *signature.optional)]
        kinds, optional = inspect.Parameter, set(signature.optional)
        self.__signature__ = inspect.Signature(
            [kinds(x, kinds.POSITIONAL_OR_KEYWORD, default=None if x in optional else kinds.empty) for x in self.arrays]
            + [kinds(x, kinds.KEYWORD_ONLY) for x in self.keywords]
        )

    def __call__(self, *arrays: Any, **keywords: Any) -> Any:
        answer = self.connection.call(*self.build_request(arrays, keywords))
        if answer.kind == "value":
            return int(answer.text)
        return self._gradients(answer) if self.spec.is_gradient else self._results(answer)

    def build_request(
        self, arrays: tuple[Any, ...], keywords: Mapping[str, Any]
    ) -> tuple[dict[str, str], dict[str, ProcessArray]]:
        """Return the metadata and the arrays of a call."""
        given = {**dict(zip(self.spec.positional, arrays, strict=False)), **keywords}
        flat = dict(pair for name in self.spec.positional if name in given for pair in _flatten(given[name], name))
        texts = {name: format_keyword(given[name]) for name in self.keywords if name in given}
        return {"request": "call", "operation": self.spec.name, **texts}, flat

    @staticmethod
    def _results(answer: Answer) -> Any:
        """Return the result, or the results by name if there are several."""
        if not answer.arrays:
            raise Fault("the answer to the call holds no array")
        return answer.arrays["result"] if answer.arrays.keys() == {"result"} else dict(answer.arrays)

    def _gradients(self, answer: Answer) -> tuple[Any, ...]:
        """Return the gradients in the order of the operation's arguments, None where the answer has none."""
        arguments = self.spec.positional[1:]
        for name in answer.arrays:
            if name.partition(".")[0] not in arguments:
                raise Fault(f"the answer holds a gradient of {printable_line(name)}; the arguments are {', '.join(arguments)}")
        return tuple(_unflatten(answer.arrays, name) for name in arguments)


class ServerSource:
    """The source of the backend: its functions, what it states, and how to write a request into a file."""

    def __init__(self, connection: Connection, description: Description, known: Collection[str]):
        command = connection.command
        self.__name__, self.__file__, self.kind = command.name, command.file and str(command.file), "process"
        self.dtypes = description.dtypes
        said = f"{description.name} {description.version}".strip()
        self.version = f'"{said}", as it says'
        self.shell_text = command.shell_text
        self.__dict__.update(description.stated)
        for name, signature in description.operations.items():
            if name in known:
                setattr(self, name, ServerFunction(connection, specification(name), signature))

    def pack_request(self, operation: str, arrays: tuple[Any, ...], keywords: Mapping[str, Any]) -> bytes:
        """Return the bytes of the request that a call sends."""
        return pack(*getattr(self, operation).build_request(arrays, keywords))


def _flatten(tree: Any, name: str) -> Iterator[tuple[str, ProcessArray]]:
    """Yield each array with its dotted name."""
    if isinstance(tree, ProcessArray):
        yield name, tree
    elif isinstance(tree, dict):
        for key, item in tree.items():
            yield from _flatten(item, f"{name}.{key}")
    elif isinstance(tree, list | tuple):
        for number, item in enumerate(tree):
            yield from _flatten(item, f"{name}.{number}")


def _unflatten(arrays: Mapping[str, ProcessArray], name: str) -> Any:
    """Return the array of this name, or the dict or list of those whose dotted names begin with it. None if there are none."""
    if name in arrays:
        return arrays[name]
    keys = list(dict.fromkeys(path[len(name) + 1 :].partition(".")[0] for path in arrays if path.startswith(f"{name}.")))
    if keys and all(re.fullmatch(r"\d{1,6}", key) for key in keys):
        return [_unflatten(arrays, f"{name}.{number}") for number in range(max(map(int, keys)) + 1)]
    return {key: _unflatten(arrays, f"{name}.{key}") for key in keys} or None


def load_process(text: str, folder: Path, operations: Collection[str], gradients: Collection[str]) -> Backend:
    """Return the backend that --backend=text names, in its process. Raise BackendError, whose text is one sentence."""
    command = parse_command(text, folder)
    known = (*operations, *gradients)
    try:
        connection = Connection(command)
        connection.start()
    except Fault as fault:
        printed = "".join(
            f"; it {label} {fact if label == WROTE else repr(fact)}" for label, fact in fault.facts if label in SAID
        )
        raise BackendError(f"--backend={text}: when it was asked to describe itself, {fault.what}{printed}") from None
    description, name = connection.described, printable_line(command.name)
    if description.python is not None:
        with describing(text):
            remote, source = build_source(connection, known, command.file)
        return validate(IsolatedBackend(name, source, remote, text), operations)
    for misfit in find_misfits(description, known):
        connection.discard_process(Fault(""))
        raise BackendError(f"--backend={text}: {misfit}")
    framework = ServerFramework(connection, description)
    return validate(Backend(name, ServerSource(connection, description, known), framework, text), operations)
