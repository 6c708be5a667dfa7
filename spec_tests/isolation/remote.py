"""A backend whose functions, and a framework whose arrays, are in another process."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..implementation.autodiff import Differentiation
from ..implementation.backend import Backend, validate
from ..implementation.environment import environment_of
from ..implementation.framework import CannotMakeArray, Foreign, as_float64, numpy_dtype
from ..implementation.guard import Fault, Refused, current_limits
from ..implementation.lookup import BackendError
from ..specification.pytree import tree_map
from .process import START_TIMEOUT_SECONDS, Process, ProcessEnded
from .wire import Handle, MalformedMessage


class Connection:
    """To the process; what needs no answer waits for what does. A process that is lost is replaced when it is needed next."""

    def __init__(self, text: str, folder: Path, names: list[str]):
        self.text, self.folder, self.names = text, folder, names
        self.environment = environment_of(text, folder)
        self.process: Process | None = None
        self.imports_oracle = False  # its process has imported the equations
        self.calls = self.numbered = self.lives = 0
        self.seconds = 0.0  # that the next request may take; 0: as --time-limit says
        self.steps: list[Any] = []
        self.forgotten: list[int] = []

    def later(self, name: str, *arguments: Any) -> None:
        self.steps.append([name, arguments])

    def ask(self, name: str, *arguments: Any) -> Any:
        if self.process is None:
            self.load()
        assert self.process is not None
        steps, forgotten = [*self.steps, [name, arguments]], self.forgotten[:]
        self.steps, self.forgotten = [], self.forgotten[len(forgotten) :]
        return self._asked(self.process, steps, forgotten, self.seconds or current_limits().seconds)

    def _asked(self, process: Process, steps: list[Any], forgotten: list[int], seconds: float) -> Any:
        try:
            reply = process.ask({"steps": steps, "forgotten": forgotten}, seconds)
            self.imports_oracle |= bool(reply["oracle"])
            return reply["reply"]
        except ProcessEnded:
            raise self.lost(process.fate()) from None
        except (MalformedMessage, LookupError, TypeError) as error:
            raise self.lost(Fault(f"its process sent what is no answer ({error})", lost=True)) from None
        except Fault as late:
            raise self.lost(late) from None
        except BaseException:  # a person's interruption: half of the answer is on its way
            self.lost(Fault(""))
            raise

    def lost(self, fault: Fault) -> Fault:
        if self.process is not None:
            self.process.close()
        self.process, self.steps, self.forgotten = None, [], []
        return fault

    def load(self) -> dict[str, Any]:
        """What the process says of the backend that it has loaded."""
        self.lost(Fault(""))
        self.process, self.lives = Process(self.folder, self.environment), self.lives + 1
        given = (self.text, str(self.folder), self.names, current_limits().memory)
        told = self._asked(self.process, [["load", given]], [], max(START_TIMEOUT_SECONDS, current_limits().seconds))
        if not isinstance(told, dict) or "fault" in told or "refused" in told:
            refused = told.get("refused") if isinstance(told, dict) else ""
            raise self.lost(Fault(str(refused or f"loading it again failed: {told}"), lost=True))
        return told


class RemoteArray:
    """An array that stays where it is. What was seen of it holds until something is called."""

    __slots__ = ("call", "handle", "life", "lines", "looked")

    def __init__(self, lines: Connection, number: int, looked: dict[str, Any] | None = None):
        self.lines, self.handle, self.life = lines, Handle(number), lines.lives
        self.looked, self.call = looked, lines.calls

    def __del__(self) -> None:
        if self.life == self.lines.lives:
            self.lines.forgotten.append(self.handle.number)

    @property
    def seen(self) -> dict[str, Any]:
        if self.looked is None or self.call != self.lines.calls:
            self.looked, self.call = _from_wire(self.lines, "look", self.handle), self.lines.calls
        return self.looked


def _to_wire(tree: Any) -> Any:
    return tree_map(lambda x: x.handle if isinstance(x, RemoteArray) else x, tree)


def _from_wire(lines: Connection, name: str, *arguments: Any) -> Any:
    """The answer to a request that has nothing to do with the backend's own code, or little."""
    reply = lines.ask(name, *arguments)
    if isinstance(reply, dict) and "fault" in reply:
        raise Fault(str(reply["fault"]))
    return reply


class RemoteFramework:
    """An ArrayFramework whose arrays stay in the other process."""

    name: str
    device: str | None
    place: str
    version: str
    namespace: str
    dtypes: tuple[str, ...]
    integer: str
    differentiates: str
    accumulates: bool
    device_lost = False  # a process whose device is lost is replaced

    def __init__(self, lines: Connection, told: dict[str, Any]):
        self.lines = lines
        self.__dict__.update({**told, "dtypes": tuple(told["dtypes"])})

    def back(self, told: Any) -> Any:
        """The backend's answer, its arrays being those there."""
        if isinstance(told, Handle):
            return RemoteArray(self.lines, told.number)
        if isinstance(told, dict) and "at" in told:
            return RemoteArray(self.lines, told["at"].number, told["seen"])
        if isinstance(told, dict):
            return {str(name): self.back(item) for name, item in told["named"].items()}
        return type(told)(map(self.back, told)) if isinstance(told, list | tuple) else told

    def asked(self, name: str, *arguments: Any) -> Any:
        """What a step of the backend's own answers there."""
        self.lines.calls += 1
        reply = self.lines.ask(name, *map(_to_wire, arguments))
        try:
            if "refusal" in reply:
                raise Refused(str(reply["refusal"]))
            if "fault" not in reply:
                return self.back(reply["answer"])
            fault = Fault(str(reply["fault"]), [(str(a), str(b)) for a, b in reply["facts"]], lost=bool(reply["lost"]))
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            raise self.lines.lost(Fault(f"its process sent what is no answer ({error})", lost=True)) from None
        if fault.lost:
            fault.facts.append(("therefore", "its process is replaced"))
            self.lines.lost(fault)
        raise fault

    def run_guarded(self, step: Callable[[], Any], seconds: float) -> Any:
        """The guard is there; here is the clock."""
        self.lines.seconds = seconds
        try:
            return step()
        finally:
            self.lines.seconds = 0.0

    def lay_out(self, array: np.ndarray, dtype: str, layout: str) -> Any:
        if self.lines.process is None:
            self.lines.load()
        self.lines.numbered += 1
        dtype = self.integer if dtype == "int64" else dtype
        with np.errstate(over="ignore"):
            self.lines.later("make", self.lines.numbered, np.asarray(array, dtype=numpy_dtype(dtype)), dtype, layout)
        return RemoteArray(self.lines, self.lines.numbered)

    def native(self, array: Any, dtype: str) -> Any:
        return self.lay_out(np.asarray(array), dtype, "contiguous")

    def stacked(self, x: Any, copies: int) -> Any:
        raise CannotMakeArray(f"no array of {copies} copies is made in the process of an isolated backend")

    def force(self, x: Any) -> Any:
        return x

    def is_array(self, x: Any) -> bool:
        return type(x) is RemoteArray

    def describe_type(self, x: Any) -> str:
        return x.kind if type(x) is Foreign else f"a {type(x).__name__}"

    def describe_foreign(self, x: Any) -> Any:
        return x

    def numpy(self, x: Any) -> np.ndarray:
        values = x.seen["values"]
        if isinstance(values, str):
            raise Fault(values)
        return as_float64(np.array(values))

    def dtype_of(self, x: Any) -> str:
        return str(x.seen["dtype"])

    def device_of(self, x: Any) -> str:
        return str(x.seen["device"])

    def on_device(self, x: Any) -> bool:
        return self.device_of(x) == self.place

    def is_alive(self) -> bool:
        return True

    def overwrite(self, x: Any, value: Any) -> bool:
        written = _from_wire(self.lines, "overwrite", x.handle, _to_wire(value))
        self.lines.calls += 1
        return bool(written)


class RemoteSource:
    """Functions with the signatures that the process reports, and what else the backend says of itself."""

    def __init__(self, framework: RemoteFramework, told: dict[str, Any]):
        self.__name__, self.__file__, self.kind = told["module"], told["file"], told["kind"]
        self.__dict__.update(told["stated"])
        for name, signature in told["functions"].items():
            setattr(self, name, RemoteFunction(framework, name, signature))
        if told["spoken"]:
            self.spoken = lambda operation, *arrays, **keywords: self._spoken(framework, operation, arrays, keywords)

    @staticmethod
    def _spoken(framework: RemoteFramework, operation: str, arrays: Any, keywords: Any) -> Any:
        name, given = _from_wire(framework.lines, "spoken", operation, _to_wire(arrays), _to_wire(keywords))
        return name, framework.back(given)


class RemoteFunction:
    def __init__(self, framework: RemoteFramework, name: str, parameters: list[Any] | None):
        self.framework, self.name = framework, name
        if parameters is not None:
            kinds = list(inspect._ParameterKind)
            self.__signature__ = inspect.Signature(
                [
                    inspect.Parameter(p, kinds[kind], default=... if optional else inspect.Parameter.empty)
                    for p, kind, optional in parameters
                ]
            )

    def __call__(self, *arrays: Any, **keywords: Any) -> Any:
        return self.framework.asked("call", self.name, arrays, keywords)


@dataclass(frozen=True)
class IsolatedBackend(Backend):
    framework: RemoteFramework = field(repr=False)

    @property
    def imports_oracle(self) -> bool:
        return self.framework.lines.imports_oracle

    def linearize(self, what: Differentiation) -> tuple[Any, Callable[[Any], dict[str, Any]]]:
        y, pull = self.framework.asked("linearize", _fields(what))
        return y, lambda cotangent: self.framework.asked("pulled", pull, cotangent)

    def accumulate(self, what: Differentiation, cotangents: list[Any]) -> dict[str, Any]:
        return self.framework.asked("accumulate", _fields(what), cotangents)


def _fields(what: Differentiation) -> list[Any]:
    return [what.operation, list(what.positional), what.dtype, list(what.arrays), what.keywords]


def load_isolated(text: str, folder: Path, operations: Collection[str], gradients: Collection[str]) -> Backend:
    """The backend that `--backend=text` names, in a process of its own; raises BackendError with one sentence."""
    lines = Connection(text, folder, [*operations, *gradients])
    try:
        told = lines.load()
        framework = RemoteFramework(lines, told["framework"])
        backend = IsolatedBackend(told["name"], RemoteSource(framework, told), framework, text)
    except Fault as fault:
        said = fault.what if fault.what.startswith("--backend=") else f"--backend={text}: while it was imported, {fault.what}"
        raise BackendError(said) from None
    except (LookupError, TypeError, ValueError) as error:
        raise BackendError(f"--backend={text}: its process describes it in no known way ({error})") from None
    validate(backend, operations)
    return backend
