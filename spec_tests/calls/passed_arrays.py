"""The arrays of a call as a backend takes and returns them, where it states another form than that of the equation."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..bounds.bounded import Bounded
from ..implementation.backend import Backend
from ..specification.conventions import Added, Exchanged, Stored, find_passings
from ..specification.pytree import map_paths
from ..specification.registry import Specification
from .axis_order import AxisOrder, order_of_arguments, order_of_results

if TYPE_CHECKING:
    from .call import Call


class PassedArrays:
    """What an operation knows of the conventions by which its arrays are passed. Everything else has the equation's arrays."""

    spec: Specification
    backend: Backend

    @cached_property
    def _passed(self) -> list[Added | Exchanged | Stored]:
        """Return in what the backend's function differs from the equation, as it states."""
        stated = [(passing, self.backend.convention(passing.name, self.spec.name)) for passing in find_passings(self.spec.name)]
        return [how for passing, value in stated if value and (how := passing.values[value])]

    @cached_property
    def shifts(self) -> dict[str, float]:
        """Return what the backend's function adds to an argument, by its name, where it states that it does."""
        return {how.argument: how.number for how in self._passed if isinstance(how, Added)}

    @cached_property
    def stored(self) -> dict[str, Stored]:
        """Return which arrays the backend's function takes and returns in another dtype, by their names."""
        return {how.array: how for how in self._passed if isinstance(how, Stored)}

    @cached_property
    def _exchanged(self) -> list[Exchanged]:
        """Return which axes the backend's function has elsewhere."""
        return [how for how in self._passed if isinstance(how, Exchanged)]

    @cached_property
    def argument_order(self) -> AxisOrder:
        """Return the order of the axes of the arguments."""
        return order_of_arguments(self.spec, self._exchanged) if self._exchanged else AxisOrder()

    @cached_property
    def result_order(self) -> AxisOrder:
        """Return the order of the axes of the results."""
        return order_of_results(self.spec, self._exchanged) if self._exchanged else AxisOrder()

    def as_given(self, name: str, tree: Any) -> Any:
        """Return an argument as the backend's function takes it."""
        if name in self.shifts:
            tree = np.asarray(getattr(tree, "value", tree)) - self.shifts[name]
        if not self.argument_order.axes:
            return tree
        return map_paths(lambda path, x: self.argument_order.exchange(path, x.value if isinstance(x, Bounded) else x), tree, name)

    def read(self, name: str, shape: tuple[int, ...], read: Callable[[tuple[int, ...]], np.ndarray]) -> np.ndarray:
        """Return the values of a result. `read` reads an array of this shape as the backend returns it."""
        values: np.ndarray = self.result_order.exchange(name, read(self.result_order.exchange_places(name, shape)))
        return values

    def as_returned(self, call: Call, values: np.ndarray) -> dict[str, np.ndarray]:
        """Return the values of all results by name, each as the backend returns it. The name of a single one is ""."""
        if call.parts is None:
            return {"": self.result_order.exchange(call.keywords.get("wrt", ""), np.asarray(values))}
        return {name: self.result_order.exchange(name, x) for name, x in call.parts.split(values).items()}
