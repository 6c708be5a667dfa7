"""A sharded backend: its functions run on all ranks at once, each on its own shards of the arguments."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
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
from .placements import Placement, settle
from .ranks import Ranks
from .sharded_framework import ShardedFramework
from .statements import Shards, read_mesh


class ShardedFunction:
    """A function of the backend, with its signature. Calling it calls the function on all ranks."""

    def __init__(self, framework: ShardedFramework, shards: Shards, name: str, parameters: list[Any] | None):
        self.framework, self.shards, self.spec = framework, shards, specification(name)
        if parameters is not None:
            self.__signature__ = build_signature(parameters)

    def __call__(self, *arrays: Any, **keywords: Any) -> Any:
        places = Places(self.shards, self.spec, arrays, keywords)
        given = cut_arguments(self.framework, places, arrays, keywords)
        answers = self.framework.ask("call", lambda rank: [self.spec.name, *given[rank]])
        return self.framework.merge(answers, places.of_gradient if self.spec.is_gradient else places.of_result)


class Places:
    """Where the ranks have the arrays of one call, whose numbers of heads may be arguments."""

    def __init__(self, shards: Shards, spec: Specification, arrays: tuple[Any, ...], keywords: dict[str, Any]):
        self.shards, self.spec = shards, spec
        self.forward = specification(spec.forward) if spec.is_gradient else spec
        self.named = {**dict(zip(spec.positional, arrays, strict=False)), **keywords}

    def _settle(self, placement: Placement) -> Placement:
        try:
            return settle(placement, self.named)
        except ValueError as error:
            raise Fault(f"its shards of {self.forward.name} do not fit a call: {error}") from None

    def of_argument(self, name: str) -> Placement:
        return self._settle(self.shards.place_argument(self.forward.name, name))

    def of_gradient(self, path: str) -> Placement:
        """Return where a gradient is, by the path of its argument or by its number."""
        return self._settle(self.shards.place_gradient(self.forward.name, _find_name(path, self.spec.positional[1:])))

    def of_result(self, path: str) -> Placement:
        """Return where a result is, by its name or by its number among several."""
        return self._settle(self.shards.place_result(self.forward.name, _find_name(path, self._results)))

    def of_cotangent(self, name: str) -> Placement:
        return self._settle(self.shards.place_cotangent(self.forward.name, name))

    @property
    def _results(self) -> list[str]:
        return list(self.forward.results) if self.forward.has_several_results else []

    def cut_cotangent(self, framework: ShardedFramework, cotangent: Any) -> list[Any]:
        """Return the cotangent of each rank, which is cut as the result is."""
        if not self._results or not isinstance(cotangent, list | tuple):
            return framework.shards_of(cotangent, self.of_cotangent(""))
        pieces = [framework.shards_of(c, self.of_cotangent(name)) for name, c in zip(self._results, cotangent, strict=True)]
        return [tuple(piece[rank] for piece in pieces) for rank in range(framework.world_size)]


def _find_name(path: str, names: Sequence[str]) -> str:
    return names[int(path)] if path.isdecimal() and int(path) < len(names) else path


def cut_arguments(framework: ShardedFramework, places: Places, arrays: tuple[Any, ...], keywords: dict[str, Any]) -> list[Any]:
    """Return the arguments and the keywords of each rank."""
    spec = places.spec
    named = [
        places.cut_cotangent(framework, x)
        if name == "cotangent" and spec.is_gradient
        else framework.shards_of(x, places.of_argument(name))
        for name, x in zip(spec.positional, arrays, strict=False)
    ]
    options = {name: framework.shards_of(x, places.of_argument(name)) for name, x in keywords.items()}
    return [([x[rank] for x in named], {name: x[rank] for name, x in options.items()}) for rank in range(framework.world_size)]


@dataclass(frozen=True)
class ShardedBackend(Backend):
    """A Backend whose functions run on several ranks, each in a process of its own."""

    framework: ShardedFramework = field(repr=False)
    shards: Shards = field(repr=False, kw_only=True)

    @property
    def imports_oracle(self) -> bool:
        return self.framework.ranks.imports_oracle

    def adds_summands(self, name: str) -> bool:
        return self.shards.adds_summands(name)

    def linearize(self, what: Differentiation) -> tuple[Any, Callable[[Any], dict[str, Any]]]:
        """Return the result, and a function from a cotangent to the gradients. Every rank differentiates its own part."""
        framework, forward = self.framework, specification(what.operation)
        places = Places(self.shards, forward, what.arrays, what.keywords)
        backward = Places(self.shards, specification(f"{what.operation}_vjp"), (), places.named)
        given = cut_arguments(framework, places, what.arrays, what.keywords)

        names = what.operation, list(what.positional), list(what.results)
        answers = framework.ask("linearize", lambda rank: [*names, *given[rank]])
        y = framework.merge([answer[0] for answer in answers], places.of_result)
        pulls, generation = [answer[1] for answer in answers], framework.ranks.generation

        def pull_back(cotangent: Any) -> dict[str, Any]:
            if generation != framework.ranks.generation or not framework.ranks.are_running:
                raise Fault("the processes of its ranks were replaced after the forward pass", lost=True)
            pieces = places.cut_cotangent(framework, cotangent)
            gradients = framework.ask("pull_back", lambda rank: [pulls[rank], pieces[rank]])
            return framework.merge(gradients, backward.of_gradient)

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
            shards = Shards(side.stated["shards"], read_mesh(backend_file(text, folder), world_size))
        except (LookupError, ValueError) as error:
            raise BackendError(f"--backend={text}: {error}") from None
        source = PythonSource(
            side, names, backend_file(text, folder), lambda name, parameters: ShardedFunction(framework, shards, name, parameters)
        )
        return validate(ShardedBackend(description.name, source, framework, text, shards=shards), operations)
    except BackendError:
        ranks.close()
        raise
