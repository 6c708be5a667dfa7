"""From the words after --backend to functions that can be called."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from ..specification.formats import DTYPES, PRECISIONS
from ..specification.registry import specification
from .array_framework import ArrayFramework
from .autodiff import Differentiation
from .domain import find_complaints
from .framework import Framework
from .guard import MIN_TIMEOUT_SECONDS, Fault, current_limits
from .lookup import BackendError, identify, resolve


@dataclass(frozen=True)
class Backend:
    """An implementation under test: any object whose attributes are functions named as the operations."""

    name: str
    source: Any
    framework: ArrayFramework = field(repr=False)
    text: str = ""  # what `--backend=` was given

    def function(self, operation: str) -> Any:
        found = getattr(self.source, operation, None)
        return found if callable(found) else None

    def has(self, operation: str) -> bool:
        """It implements it, or, if that is a gradient, its framework can differentiate what it implements."""
        forward = operation.removesuffix("_vjp")
        derived = forward != operation and bool(self.framework.differentiates) and self.function(forward)
        return bool(self.function(operation) or derived)

    @cached_property
    def recorded_calls(self) -> dict[tuple[str, str], list[Any]]:
        """Some calls of each operation in each dtype."""
        return {}

    @cached_property
    def fresh_calls(self) -> dict[tuple[str, str], list[Any]]:
        """The same of calls that were made for a diagnosis."""
        return {}

    @cached_property
    def without_gradient(self) -> dict[str, set[str]]:
        """The arguments of each operation to which the framework pulls back no cotangent, as it turns out."""
        return {}

    @cached_property
    def dtypes(self) -> tuple[str, ...]:
        return tuple(getattr(self.source, "dtypes", None) or self.framework.dtypes)

    @cached_property
    def domain(self) -> dict[str, dict[str, Any]]:
        return dict(getattr(self.source, "domain", {}))

    @cached_property
    def conventions(self) -> dict[str, str]:
        return dict(getattr(self.source, "conventions", {}))

    def precision(self, operation: str) -> str | None:
        """What it states; of a gradient only by name, since its forward result may have been stored before."""
        stated = getattr(self.source, "precision", None)
        if isinstance(stated, dict):
            return stated.get(operation)
        return None if operation.endswith("_vjp") else stated

    def run_guarded(self, step: Callable[[], Any], operation: str) -> Any:
        """What a step of the operation answers, once it is through; raises Refused or Fault."""

        def whole() -> Any:
            answer = step()
            getattr(self.source, "synchronize", lambda: None)()
            return answer

        limit = current_limits().seconds
        patience = min(limit, max(MIN_TIMEOUT_SECONDS, limit / 2 ** self.timeouts[operation]))
        try:
            return self.framework.run_guarded(whole, patience)
        except Fault as fault:
            if fault.late and patience < limit:
                told = f"{operation} had no answer within {limit:g} s, so that others are not waited for as long"
                fault.facts.append(("before", f"{told}; if it only is slow, give it a larger --time-limit"))
            self.timeouts[operation] += fault.late
            raise

    def linearize(self, what: Differentiation) -> tuple[Any, Callable[[Any], dict[str, Any]]]:
        """Return the answer of an operation, and a function from a cotangent to the gradients of its arguments."""
        assert isinstance(self.framework, Framework)
        return what.linearize(self.framework, self.function(what.operation))

    def accumulate(self, what: Differentiation, cotangents: list[Any]) -> dict[str, Any]:
        """Return what the gradient of each argument holds after a backward pass for each cotangent."""
        assert isinstance(self.framework, Framework)
        return what.accumulate(self.framework, self.function(what.operation), cotangents)

    @property
    def imports_oracle(self) -> bool:
        """It has the suite's own equations among what it is made of, as far as that shows."""
        parts = getattr(self.source, "__dict__", {}).values()
        names = (part.__name__ if isinstance(part, ModuleType) else getattr(part, "__module__", "") for part in parts)
        return any(str(name).partition(".")[0] == ORACLE for name in names)

    @cached_property
    def timeouts(self) -> Counter[str]:
        """How often each operation had no answer in time: halves what its next calls may take."""
        return Counter()

    @property
    def version(self) -> str:
        return str(getattr(self.source, "version", f"{self.framework.name} {self.framework.version}"))


ORACLE = "reference_numpy"
CONVENTIONS = {"causal_alignment": ("bottom-right", "top-left"), "fully_masked_rows": ("zero", "nan")}


def load(text: str, folder: Path, operations: Collection[str]) -> Backend:
    """The backend that `--backend=text` names; raises BackendError with one sentence."""
    return build_backend(resolve(text, folder), operations, text)


def build_backend(source: Any, operations: Collection[str], text: str = "") -> Backend:
    """The backend that an object is, whether or not a text named it."""
    found, name, framework = identify(source, text)
    return validate(Backend(name, found, framework, text), operations)


def validate(backend: Backend, operations: Collection[str]) -> Backend:
    """It states nothing that is not known."""
    for complaint in _complaints(backend, operations):
        raise BackendError(f"{f'--backend={backend.text}' if backend.text else backend.name}: {complaint}")
    return backend


def _complaints(backend: Backend, operations: Collection[str]) -> Iterator[str]:
    if not any(backend.function(name) for name in operations):
        yield f"it defines none of the operations, which are {', '.join(sorted(operations))}"
    stated = getattr(backend.source, "dtypes", ())
    if isinstance(stated, str):
        yield f"its dtypes is the string {stated!r}; give a tuple, as in dtypes = ({stated!r},)"
    for dtype in backend.dtypes:
        if dtype not in DTYPES:
            yield f"its dtypes name {dtype!r}; there are {', '.join(DTYPES)}"
        elif dtype not in backend.framework.dtypes:
            yield f"its dtypes name {dtype!r}, which {backend.framework.name} lacks here"
    for name, restrictions in backend.domain.items():
        if name in operations:
            yield from find_complaints(specification(name), restrictions)
        else:
            near = "".join(f"; did you mean {match}?" for match in difflib.get_close_matches(name, operations, n=1))
            yield f"its domain names {name!r}, which is no operation{near}"
    for key, value in backend.conventions.items():
        if value not in CONVENTIONS.get(key, ()):
            known = "; ".join(f"{k}: {' or '.join(v)}" for k, v in CONVENTIONS.items())
            yield f"its conventions state {key} = {value!r}; there are {known}"
    for name in operations:
        if backend.precision(name) not in (None, *PRECISIONS):
            yield f"its precision is {backend.precision(name)!r}; there are {', '.join(PRECISIONS)}"
