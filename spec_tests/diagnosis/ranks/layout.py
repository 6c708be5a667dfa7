"""How the arrays of an operation are cut for the ranks of a backend, as diagnoses see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...calls.asked_rank import RANK
from ...calls.call import Call
from ...calls.ranks import Cut, Statement
from ...specification.pytree import tree_map
from ...specification.registry import Specification, argument_dimensions, specification
from ..operator.alternative import Named, take
from ..result_parts import map_parts


@dataclass(frozen=True)
class Layout:
    """The cuts of the arguments and results of one operation."""

    spec: Specification
    count: int  # of ranks
    stated: Statement
    alignment: str = "top-left"  # of causality where queries and keys differ in number
    blind_rows: str = "nan"  # the result of queries that see no key

    @classmethod
    def of(cls, calls: Sequence[Call], stated: Statement) -> Layout:
        """Return the layout of calls of one operation."""
        operation = calls[0].operation

        def settle(name: str, usual: str) -> str:
            said = (operation.backend.convention(name, operation.name), *(call.conventions.get(name, "") for call in calls))
            return next(filter(None, said), usual)

        count = operation.backend.framework.world_size
        return cls(operation.spec, count, stated, settle("causal_alignment", "top-left"), settle("fully_masked_rows", "nan"))

    @property
    def forward(self) -> Specification:
        return specification(self.spec.forward) if self.spec.is_gradient else self.spec

    def of_argument(self, name: str) -> Cut | None:
        return self.stated.of_argument(self.forward.name, name)

    def of_result(self, name: str = "") -> Cut | None:
        """Return how a result, or a gradient, is cut."""
        return self.of_argument(name) if self.spec.is_gradient else self.stated.of_result(self.spec.name, name)

    def axis_of(self, name: str) -> int | None:
        """Return along which axis an argument is cut, counted from its last; None if it is whole."""
        cut = self.of_argument(name)
        if cut is None:
            return None
        return cut.axis if cut.axis < 0 else cut.axis - len(argument_dimensions(self.forward).get(name, ()))

    def is_cut(self, required: Mapping[str, int | None]) -> bool:
        """Whether the arrays are cut along these axes. "result" is the first result; None: it must be whole."""
        for name, axis in required.items():
            cut = self.of_result(next(iter(self.spec.results), "")) if name == "result" else None
            found = (cut.axis if cut else None) if name == "result" else self.axis_of(name)
            if found != axis:
                return False
        return True

    def places(self, name: str, x: Any) -> list[np.ndarray]:
        """Return the entries that each rank has of an argument, along the axis of its cut."""
        cut, axis = self.of_argument(name), self.axis_of(name)
        assert cut is not None
        assert axis is not None
        return cut.places(x.shape[axis], self.count)

    def split(self, name: str, x: Any) -> list[Any]:
        """Return what each rank has of an argument."""
        axis = self.axis_of(name)
        if x is None or axis is None:
            return [x] * self.count
        return [take(x, places, axis) for places in self.places(name, x)]

    def split_as(self, name: str, x: Any) -> list[Any]:
        """Return what each rank has of an array that is cut as an argument is, of the same length there."""
        axis = self.axis_of(name)
        return [x] * self.count if axis is None else [take(x, places, axis) for places in self.places(name, x)]

    def split_all(self, named: Named) -> list[Named]:
        """Return the arguments of each rank."""
        pieces = {name: self.split(name, x) for name, x in named.items()}
        return [{name: of_ranks[rank] for name, of_ranks in pieces.items()} for rank in range(self.count)]

    def answer(self, results: Sequence[Any]) -> Any:
        """Return the answer of the rank that is asked about: its result where that is whole, the joined ones where it is cut."""

        def choose(name: str, *pieces: Any) -> Any:
            cut = self.of_result(name)
            return pieces[RANK.get()] if cut is None else self.join(cut, pieces)

        return map_parts(choose, self.spec, *results)

    def join(self, cut: Cut, pieces: Sequence[Any]) -> Any:
        axis = cut.axis if cut.axis < 0 else cut.axis - pieces[0].ndim
        joined = np.concatenate(list(pieces), axis=axis)
        order = np.argsort(np.concatenate(cut.places(joined.shape[axis], self.count)))
        return take(joined, order, axis)

    def only(self, cut: Cut, x: Any, rank: int) -> Any:
        """Return an array with zeros in place of the parts of other ranks."""

        def keep(x: Any) -> Any:
            axis = cut.axis if cut.axis < 0 else cut.axis - x.ndim
            held = np.zeros(x.shape[axis], dtype=bool)
            held[cut.places(x.shape[axis], self.count)[rank]] = True
            return np.where(held.reshape(-1, *(1,) * (-axis - 1)), x, 0.0)

        return tree_map(keep, x) if isinstance(x, dict | list) else keep(x)
