"""A sharded backend: its functions run on all ranks at once, each on its own shards of the arguments."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..implementation.autodiff import Differentiation
from ..implementation.backend import Backend, validate
from ..implementation.environment import backend_file
from ..implementation.facilities import find_obstacles_to_processes
from ..implementation.guard import Fault
from ..implementation.lookup import BackendError
from ..implementation.printable import printable_line
from ..isolation.remote import build_signature
from ..isolation.server import BACKEND_PROPERTIES
from ..specification.registry import Specification, specification
from .ranks import Ranks
from .sharded_framework import CutOf, ShardedFramework, send
from .statements import Shards


class ShardedFunction:
    """A function of the backend, with its signature. Calling it calls the function on all ranks."""

    def __init__(self, framework: ShardedFramework, shards: Shards, name: str, parameters: list[Any] | None):
        self.framework, self.shards, self.spec = framework, shards, specification(name)
        if parameters is not None:
            self.__signature__ = build_signature(parameters)

    def __call__(self, *arrays: Any, **keywords: Any) -> Any:
        cut = CutArguments(self.framework, self.shards, self.spec, arrays, keywords)
        answers = self.framework.ask("call", lambda rank, connection: [self.spec.name, *cut.send(rank, connection)])
        if self.spec.is_gradient:
            return self.framework.merge(answers, gradient_cuts(self.shards, self.spec))
        return self.framework.merge(answers, result_cuts(self.shards, self.spec))


class CutArguments:
    """The arguments of a call, cut for each rank."""

    def __init__(
        self, framework: ShardedFramework, shards: Shards, spec: Specification, arrays: tuple[Any, ...], keywords: dict[str, Any]
    ):
        named = [
            shard_cotangent(framework, shards, spec.forward, x)
            if name == "cotangent" and spec.is_gradient
            else framework.shards_of(x, shards.of_argument(spec.forward, name))
            for name, x in zip(spec.positional, arrays, strict=False)
        ]
        options = {name: framework.shards_of(x, shards.of_argument(spec.forward, name)) for name, x in keywords.items()}
        self.by_rank = [
            ([x[rank] for x in named], {name: x[rank] for name, x in options.items()}) for rank in range(framework.world_size)
        ]

    def send(self, rank: int, connection: Any) -> list[Any]:
        """Queue requests that make the arrays in a rank's process. Return what stands for the arguments: a list and a dict."""
        arrays, keywords = self.by_rank[rank]
        return [send(connection, arrays), send(connection, keywords)]


def shard_cotangent(framework: ShardedFramework, shards: Shards, operation: str, cotangent: Any) -> list[Any]:
    """Return the cotangent of each rank, which is cut as the result is."""
    spec = specification(operation)
    if not spec.has_several_results or not isinstance(cotangent, list | tuple):
        return framework.shards_of(cotangent, shards.of_result(operation))
    pieces = [framework.shards_of(c, shards.of_result(operation, name)) for name, c in zip(spec.results, cotangent, strict=True)]
    return [tuple(piece[rank] for piece in pieces) for rank in range(framework.world_size)]


def result_cuts(shards: Shards, spec: Specification) -> CutOf:
    """Return how each result is cut, by its name or by its number among several."""
    names = list(spec.results) if spec.has_several_results else []

    def cut_of(path: str) -> Any:
        name = names[int(path)] if path.isdecimal() and int(path) < len(names) else path
        return shards.of_result(spec.name, name)

    return cut_of


def gradient_cuts(shards: Shards, spec: Specification) -> CutOf:
    """Return how each gradient is cut, by the path of its argument or by its number."""
    names = list(spec.positional[1:])

    def cut_of(path: str) -> Any:
        name = names[int(path)] if path.isdecimal() and int(path) < len(names) else path
        return shards.of_argument(spec.forward, name)

    return cut_of


class ShardedSource:
    """The source of a sharded backend: what its processes report of it, and its functions with their signatures."""

    def __init__(
        self, framework: ShardedFramework, shards: Shards, description: dict[str, Any], names: list[str], file: Path | None
    ):
        self.__name__, self.__file__, self.kind = description["module"], str(file) if file else None, description["kind"]
        self.__dict__.update({name: value for name, value in description["stated"].items() if name in BACKEND_PROPERTIES})
        for name in names:
            if name in description["functions"]:
                setattr(self, name, ShardedFunction(framework, shards, name, description["functions"][name]))


@dataclass(frozen=True)
class ShardedBackend(Backend):
    """A Backend whose functions run on several ranks, each in a process of its own."""

    framework: ShardedFramework = field(repr=False)
    shards: Shards = field(repr=False, kw_only=True)

    @property
    def imports_oracle(self) -> bool:
        return self.framework.ranks.imports_oracle

    def linearize(self, what: Differentiation) -> tuple[Any, Callable[[Any], dict[str, Any]]]:
        """Return the result, and a function from a cotangent to the gradients. Every rank differentiates its own part."""
        spec = specification(f"{what.operation}_vjp")
        framework, forward = self.framework, specification(what.operation)
        cut = CutArguments(framework, self.shards, forward, what.arrays, what.keywords)

        def prepare(rank: int, connection: Any) -> list[Any]:
            arrays, keywords = cut.send(rank, connection)
            return [[what.operation, list(what.positional), list(what.results), arrays, keywords]]

        answers = framework.ask("linearize", prepare)
        y = framework.merge([answer[0] for answer in answers], result_cuts(self.shards, forward))
        pulls, generation = [answer[1] for answer in answers], framework.ranks.generation

        def pull_back(cotangent: Any) -> dict[str, Any]:
            if generation != framework.ranks.generation or not framework.ranks.are_running:
                raise Fault("the processes of its ranks were replaced after the forward pass", lost=True)
            pieces = shard_cotangent(framework, self.shards, what.operation, cotangent)
            gradients = framework.ask("pull_back", lambda rank, connection: [pulls[rank], send(connection, pieces[rank])])
            return framework.merge(gradients, gradient_cuts(self.shards, spec))

        return y, pull_back


def load_sharded(text: str, folder: Path, operations: Collection[str], gradients: Collection[str], world_size: int) -> Backend:
    """Return the backend that --backend=text names, on so many ranks. Raise BackendError, whose text is one sentence."""
    if obstacles := find_obstacles_to_processes():
        raise BackendError(f"--backend={text}: it runs on ranks, and this system lacks {', '.join(obstacles)}")
    names = [*operations, *gradients]
    ranks = Ranks(text, folder, names, world_size)
    try:
        description = ranks.start()[0]
        framework = ShardedFramework(ranks, description["framework"])
        shards = Shards(description["stated"]["shards"])
        source = ShardedSource(framework, shards, description, names, backend_file(text, folder))
        backend = ShardedBackend(printable_line(str(description["name"])), source, framework, text, shards=shards)
    except Fault as fault:
        what = fault.what if fault.what.startswith("--backend=") else f"--backend={text}: while it was imported, {fault.what}"
        raise BackendError(what) from None
    except (LookupError, TypeError, ValueError) as error:
        ranks.discard_process(Fault(""))
        raise BackendError(f"--backend={text}: {error}") from None
    try:
        validate(backend, operations)
    except BackendError:
        ranks.discard_process(Fault(""))
        raise
    return backend
