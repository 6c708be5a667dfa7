"""The vector-Jacobian product of an operation, as an operation of its own. Its first argument is a cotangent.

If `wrt` names one argument, the value is the gradient of that argument. If it names several, the value is one vector: their
gradients, flattened, one after the other. The backend's `<operation>_vjp` computes them, or else automatic differentiation.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from ..bounds.bounded import Bounded
from ..implementation.autodiff import Differentiation
from ..specification.formats import INTEGER, Format
from ..specification.pytree import join, leaves
from ..specification.registry import specification
from .call import Call
from .history import notes_losses
from .operation import Operation
from .parts import Parts
from .recorder import Recorder
from .violation import NotImplementedVariant, Violation, format_index


@dataclass(frozen=True)
class Gradient(Operation):
    """The gradient of an operation of one backend in one dtype, called with NumPy arrays."""

    @cached_property
    def forward(self) -> Operation:
        """Return the operation that is differentiated."""
        spec = specification(self.spec.forward)
        recorder = Recorder()
        recorder.steps = self.recorder.steps  # a law may make calls of both
        return Operation(spec, self.backend, self.dtype, spec.precision, recorder)

    def release(self) -> None:
        super().release()
        self.forward.release()
        self.forward.recorder.calls.clear()

    @cached_property
    def own(self) -> Any:
        """Return the backend's own `<operation>_vjp`, None if it has none."""
        return self.backend.function(self.name)

    @cached_property
    def function(self) -> Callable[..., Any]:
        return self.own or self._differentiate

    @cached_property
    def accepted_keywords(self) -> frozenset[str] | None:
        return super().accepted_keywords if self.own else self.forward.accepted_keywords

    @cached_property
    def required(self) -> frozenset[str]:
        return super().required if self.own else self.forward.required

    def accepts(self, keyword: str) -> bool:
        return keyword == "wrt" or super().accepts(keyword)

    @cached_property
    def domain(self) -> dict[str, Any]:
        return self.forward.domain

    @cached_property
    def missing(self) -> str:
        if self.own:
            return super().missing
        if self.forward.missing or self.backend.framework.differentiates:
            return self.forward.missing
        return self.backend.describe_absence(self.name)

    # --- one call ---------------------------------------------------------------------------------------------------

    def call(self, *arguments: Any, wrt: str | tuple[str, ...] = (), **keywords: Any) -> Call:
        """Return the call. `wrt` names the arguments whose gradients it returns; without it, every argument that has one."""
        call = super().call(*arguments, **keywords)
        known = self._has_gradient(call)
        reached = tuple(name for name in self.floating_shapes(call) if known.get(_drop_indices(name), True))
        if not (wrt or reached):
            raise NotImplementedVariant(
                f"{self.backend.name}'s {self.spec.forward} carries no gradient of its arguments", "gradient"
            )
        call.keywords["wrt"] = wrt or reached
        return call

    def floating_shapes(self, call: Call) -> dict[str, tuple[int, ...]]:
        """Return the shape of each floating array among the arguments that have a gradient."""
        given = {**dict(zip(self.spec.positional, call.arguments, strict=False)), **call.keywords}
        names = (name for name in self.spec.positional[1:] if name not in self.spec.declaration.constant_arguments)
        arrays = ((path, x) for name in names for path, x in leaves(given.get(name), name))
        return {
            path: x.shape for path, x in arrays if isinstance(x, Bounded) or (isinstance(x, np.ndarray) and x.dtype.kind == "f")
        }

    def native(self, call: Call, layout: str = "contiguous") -> tuple[tuple[Any, ...], dict[str, Any]]:
        positional, keywords = super().native(call, layout)
        return positional, {name: value for name, value in keywords.items() if name != "wrt"}

    @notes_losses
    def values(self, call: Call, result: Any) -> np.ndarray:
        """Return the gradients that the call asks for as float64, and record them on the call.

        A gradient that automatic differentiation does not return is 0 if a result has no cotangent, or if the equation allows 0.
        Else it is not asked for again, and a failure if another call has returned it.
        """
        wrt = call.keywords["wrt"]
        names, shapes, found = [wrt] if isinstance(wrt, str) else wrt, self.floating_shapes(call), self.by_name(result)
        absent = [name for name in names if found.get(name) is None]
        is_partial = any(x is None for _, x in leaves(call.arguments[0]))
        if absent and self.own and not is_partial:
            raise Violation(f"there is no gradient of {', '.join(absent)}")
        present = [name for name in names if name not in absent]
        read = {name: self.read(name, shapes[name], partial(self._array, name, found[name])) for name in present}
        self._note_gradients(call, found | read)
        arrays = [read[name] if name in read else np.zeros(shapes[name]) for name in names]
        gradients = call.storage.round(arrays[0] if isinstance(wrt, str) else join(arrays))
        if absent and not is_partial:
            self._refuse_absent(call, result, gradients, absent)
        return call.record(result, gradients)

    def _note_gradients(self, call: Call, found: dict[str, Any]) -> None:
        """Note which arguments have a gradient. Zeros show none: torch.func.vjp returns zeros where there is none.

        What the call has read is given as NumPy arrays, so that nothing is copied from a device twice.
        """
        known = self._has_gradient(call)
        for path, x in found.items():
            name = _drop_indices(path)
            if known.get(name) is not True and self._has_nonzero(x):
                known[name] = True

    def _has_nonzero(self, gradient: Any) -> bool:
        framework = self.backend.framework
        if not isinstance(gradient, np.ndarray):
            gradient = framework.numpy(gradient) if framework.is_array(gradient) else 0
        return bool(np.any(gradient != 0))

    def _refuse_absent(self, call: Call, result: Any, gradients: np.ndarray, absent: list[str]) -> None:
        """Raise an error if the equation does not allow gradients of 0 where there are none."""
        alone = Call(self, call.arguments, call.keywords)
        alone.record(result, gradients)
        refused = ~np.asarray(alone.expectation(self.precision).accepts(gradients))
        refused_in = alone.parts.split(refused) if alone.parts else {str(call.keywords["wrt"]): refused}
        needed = [name for name in absent if refused_in[name].any()]
        if lost := [name for name in needed if self._has_gradient(call).get(_drop_indices(name))]:
            raise Violation(f"there is no gradient of {', '.join(lost)}", [("other calls", "have a gradient of it")])
        if needed:
            self._has_gradient(call).update(dict.fromkeys(map(_drop_indices, needed), False))
            carries = f"{self.backend.name}'s {self.spec.forward} carries no gradient of"
            raise NotImplementedVariant(f"{carries} {', '.join(needed)}", "gradient")

    def by_name(self, result: Any) -> dict[str, Any]:
        """Return the gradients by the names of their arguments, such as x, or weights['w_q'] for an array inside an argument."""
        if not self.own:
            return dict(result)
        if not isinstance(result, list | tuple):
            kind = self.backend.framework.describe_type(result)
            raise Violation(f"the result is {kind}, not a tuple with one gradient for each array argument")
        if len(result) > (array_count := len(self.spec.positional) - 1):
            raise Violation(
                f"the result has {len(result)} gradients", [("expected", f"{array_count}, one for each array argument")]
            )
        return {path: x for name, tree in zip(self.spec.positional[1:], result, strict=False) for path, x in leaves(tree, name)}

    def _array(self, name: str, gradient: Any, shape: tuple[int, ...]) -> np.ndarray:
        """Return one gradient as a NumPy array of the shape of its argument."""
        framework = self.backend.framework
        if not framework.is_array(gradient):
            raise Violation(f"the gradient of {name} is {framework.describe_type(gradient)}, not an array of {framework.name}")
        values = framework.numpy(gradient)
        if values.shape != shape:
            raise Violation(f"the gradient of {name} has shape {values.shape}", [("expected", str(shape))])
        return values

    def list_parts(self, call: Call) -> Parts | None:
        """Return the gradients that the call's value is made of, None if it asks for a single one."""
        if isinstance(names := call.keywords["wrt"], str):
            return None
        shapes = self.floating_shapes(call)
        return Parts(
            {name: shapes[name] for name in names}, {name: self.argument_format(_base(name), call.keywords) for name in names}
        )

    def result_format(self, call: Call) -> Format:
        """Return the format of a single gradient, which is that of its argument."""
        return self.argument_format(_base(call.keywords["wrt"]), call.keywords)

    def place(self, call: Call, index: tuple[Any, ...]) -> str:
        """Return how messages name an element of the result: the argument, and the index in its gradient."""
        name, inside = call.parts.locate(index) if call.parts else (call.keywords["wrt"], index)
        return f"{name}{format_index(self.result_order.exchange_places(name, inside))}"

    def _has_gradient(self, call: Call) -> dict[str, bool]:
        """Return which arguments have a gradient in the framework's graph. A layer, for example, may copy its weights.

        Where two functions of the file stand for the operation, one may copy them and the other may not.
        """
        stated = self.backend.state("separate_functions", {})
        option = stated.get(self.spec.forward) if isinstance(stated, dict) else None
        key = self.name if option is None or call.keywords.get(option) is None else f"{self.name} with {option}"
        return self.backend.has_gradient.setdefault(key, {})

    # --- automatic differentiation --------------------------------------------------------------------------------------

    def linearize(self, *arrays: Any, **keywords: Any) -> tuple[Any, Callable[[Any], dict[str, Any]]]:
        """Return the forward result for native arguments, and a function from a cotangent to their gradients."""
        y, pull_back = self.backend.linearize(self._differentiation(arrays, keywords))
        if not self._lists_choices:
            return y, pull_back
        return y, lambda cotangent: pull_back(self._in_order_of(y, cotangent))

    def accumulate(self, cotangents: list[Any], *arrays: Any, **keywords: Any) -> dict[str, Any]:
        """Return what the gradient of each argument holds after a backward pass for each cotangent."""
        if self._lists_choices:
            y, _ = self.linearize(*arrays, **keywords)
            cotangents = [self._in_order_of(y, c) for c in cotangents]
        return self.backend.accumulate(self._differentiation(arrays, keywords), cotangents)

    @property
    def _lists_choices(self) -> bool:
        return INTEGER in self.forward.spec.results.values()

    def _in_order_of(self, y: tuple[Any, ...], cotangent: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the cotangents, which are in the order of the indices, in the order in which the result lists these."""
        framework, rules = self.backend.framework, list(self.forward.spec.results.values())
        places = np.argsort(np.argsort(framework.numpy(y[rules.index(INTEGER)]), axis=-1, kind="stable"), axis=-1, kind="stable")

        def move(c: Any) -> Any:
            return framework.lay_out(np.take_along_axis(framework.numpy(c), places, axis=-1), framework.dtype_of(c), "contiguous")

        return tuple(c if c is None else move(c) for c in cotangent)

    def _differentiation(self, arrays: tuple[Any, ...], keywords: dict[str, Any]) -> Differentiation:
        """Return what is differentiated. Arguments without a gradient, which are given by name, are not: some code refuses it."""
        results = tuple(self.forward.spec.results) if self.forward.spec.has_several_results else ()
        positional, constant = self.spec.positional[1:], self.spec.declaration.constant_arguments
        names = (*positional[: len(arrays)], *(name for name in positional[len(arrays) :] if name not in constant))
        return Differentiation(self.forward.name, names, results, arrays, keywords)

    def _differentiate(self, cotangent: Any, *arrays: Any, **keywords: Any) -> dict[str, Any]:
        _, pull_back = self.linearize(*arrays, **keywords)
        return pull_back(cotangent)


def _base(name: str) -> str:
    """Return the argument that an array belongs to: weights for weights['w_q']."""
    return name.partition("[")[0]


def _drop_indices(name: str) -> str:
    """Return the name without the indices of layers: what holds of one layer's weights holds of every layer's."""
    return re.sub(r"\[\d+\]", "", name)
