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
from ..processes.isolated_backend import PythonSource, build_signature, describing
from ..specification.registry import Specification, specification
from .ranks import Ranks
from .sharded_framework import CutOf, ShardedFramework
from .statements import Shards


class ShardedFunction:
    """A function of the backend, with its signature. Calling it calls the function on all ranks."""

    def __init__(self, framework: ShardedFramework, shards: Shards, name: str, parameters: list[Any] | None):
        self.framework, self.shards, self.spec = framework, shards, specification(name)
        if parameters is not None:
            self.__signature__ = build_signature(parameters)

    def __call__(self, *arrays: Any, **keywords: Any) -> Any:
        cut = CutArguments(self.framework, self.shards, self.spec, arrays, keywords)
        answers = self.framework.ask("call", lambda rank: [self.spec.name, *cut.by_rank[rank]])
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

        names = what.operation, list(what.positional), list(what.results)
        answers = framework.ask("linearize", lambda rank: [*names, *cut.by_rank[rank]])
        y = framework.merge([answer[0] for answer in answers], result_cuts(self.shards, forward))
        pulls, generation = [answer[1] for answer in answers], framework.ranks.generation

        def pull_back(cotangent: Any) -> dict[str, Any]:
            if generation != framework.ranks.generation or not framework.ranks.are_running:
                raise Fault("the processes of its ranks were replaced after the forward pass", lost=True)
            pieces = shard_cotangent(framework, self.shards, what.operation, cotangent)
            gradients = framework.ask("pull_back", lambda rank: [pulls[rank], pieces[rank]])
            return framework.merge(gradients, gradient_cuts(self.shards, spec))

        return y, pull_back


def load_sharded(text: str, folder: Path, operations: Collection[str], gradients: Collection[str], world_size: int) -> Backend:
    """Return the backend that --backend=text names, on so many ranks. Raise BackendError, whose text is one sentence."""
    if obstacles := find_obstacles_to_processes():
        raise BackendError(f"--backend={text}: it runs on ranks, and this system lacks {', '.join(obstacles)}")
    names = [*operations, *gradients]
    ranks = Ranks(text, folder, names, world_size)
    try:
        with describing(text):
            description, side = ranks.start()
            framework = ShardedFramework(ranks, side.framework)
        try:
            shards = Shards(side.stated["shards"])
        except (LookupError, ValueError) as error:
            raise BackendError(f"--backend={text}: {error}") from None
        source = PythonSource(
            side, names, backend_file(text, folder), lambda name, parameters: ShardedFunction(framework, shards, name, parameters)
        )
        return validate(ShardedBackend(description.name, source, framework, text, shards=shards), operations)
    except BackendError:
        ranks.close()
        raise
