"""The backend under test: its functions, what it states about itself, and how it is loaded and validated."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from operator import is_
from pathlib import Path
from types import ModuleType
from typing import Any

from ..specification.carriers import CODES, NATIVE, Carrier, find_carrier_complaint
from ..specification.conventions import find_convention_complaint
from ..specification.formats import DTYPES, PRECISIONS
from ..specification.narrow_formats import NarrowFormat
from ..specification.registry import import_specifications, specification
from ..specification.run_settings import current_settings
from ..specification.work import Meter, SafetyNet, no_safety_net
from .array_framework import ArrayFramework
from .autodiff import Differentiation
from .domain import find_complaints
from .environment import DEVICES, backend_file, states_ranks
from .framework import Framework
from .guard import MIN_TIMEOUT_SECONDS, Fault
from .lookup import BackendError, built_in_backends, contain, describe_class, identify, resolve
from .plain_values import NestedTooDeep, copy_plain
from .printable import printable_line, text_of
from .shapes_seen import ShapesSeen


@dataclass(frozen=True)
class Backend:
    """An implementation under test. `source` is any object whose attributes are functions with the names of operations."""

    name: str
    source: Any
    framework: ArrayFramework = field(repr=False)
    text: str = ""  # the value of --backend; "" if the backend was given as an object

    def function(self, operation: str) -> Any:
        """Return the backend's function of this name, or None. What the source had when it was first asked is decisive.

        For a function that is no longer there, return one that raises a Fault, so that its laws fail and are not left out.
        """
        function = getattr(self.source, operation, None)
        if not self.presence.setdefault(operation, callable(function)):
            return None
        return function if callable(function) else _Vanished(operation)

    def state(self, name: str, default: Any) -> Any:
        """Return what the source states by this name, or the default. It is copied when it is first asked for."""
        if name not in self.statements:
            try:
                self.statements[name] = copy_plain(getattr(self.source, name, None))
            except NestedTooDeep as error:
                raise BackendError(f"--backend={self.text or self.name}: its `{name}` cannot be read: {error}") from error
        return default if self.statements[name] is None else self.statements[name]

    @cached_property
    def statements(self) -> dict[str, Any]:
        """What the source has stated, None where it states nothing. `validate` asks for all that verdicts depend on."""
        return {}

    @cached_property
    def presence(self) -> dict[str, bool]:
        """Whether the source had a function, by the operation. `validate` asks for all of them."""
        return {}

    def has(self, operation: str) -> bool:
        """Whether the backend implements the operation. A gradient may also come from its framework and the forward operation."""
        forward = operation.removesuffix("_vjp")
        differentiable = forward != operation and bool(self.framework.differentiates) and self.function(forward)
        return bool(self.function(operation) or differentiable)

    def describe_absence(self, operation: str) -> str:
        """Return the sentence that the backend lacks the operation, and what it has that may be meant."""
        hint = self.state("absence_hints", {}).get(operation)
        return f"{self.name} does not implement {operation}{f'; it {hint}' if hint else ''}"

    def describe_names(self, operation: str) -> str:
        """Return the names under which the backend has the operation and its arguments, "" if they are ours."""
        return str(self.state("renamed_operations", {}).get(operation.removesuffix("_vjp"), ""))

    @cached_property
    def call_counts(self) -> Counter[str]:
        """How many calls of each operation this process has made."""
        return Counter()

    @cached_property
    def recorded_calls(self) -> dict[tuple[str, str], list[Any]]:
        """Calls that the examples have made, by operation and dtype. The run adds them, for diagnoses."""
        return {}

    @cached_property
    def first_calls(self) -> dict[tuple[str, str, tuple[int, ...]], Any]:
        """The first call of the run with a result of each shape, by operation, dtype and shape: what code may have kept."""
        return {}

    @cached_property
    def fresh_calls(self) -> dict[tuple[str, str], list[Any]]:
        """Calls that were made for a diagnosis alone, by operation and dtype."""
        return {}

    @cached_property
    def causes(self) -> list[Any]:
        """The causes of its failures that were found. The run adds them."""
        return []

    @cached_property
    def meter(self) -> Meter:
        """Counts the work that is done on the backend. Calls, and what judges them, add to it."""
        return Meter()

    @cached_property
    def shapes(self) -> ShapesSeen:
        """The shapes that it was called with in this process. Calls add to them."""
        return ShapesSeen()

    @cached_property
    def work_after_failures(self) -> dict[str, int]:
        """How much work was done after the failures of each operation. The run counts it."""
        return {}

    @cached_property
    def safety_net(self) -> SafetyNet:
        """What ends a search that takes too long by the clock. The run sets it."""
        return no_safety_net

    @cached_property
    def call_histories(self) -> dict[str, Any]:
        """What each operation was called with so far, by its name. Calls add to it, for the diagnosis of state that is kept."""
        return {}

    @cached_property
    def has_gradient(self) -> dict[str, dict[str, bool]]:
        """For each gradient, whether the framework has returned one of each argument in some call. Calls add to it."""
        return {}

    @cached_property
    def dtypes(self) -> tuple[str, ...]:
        return tuple(self.state("dtypes", None) or self.framework.dtypes)

    @cached_property
    def domain(self) -> dict[str, dict[str, Any]]:
        return dict(self.state("domain", {}))

    @cached_property
    def domain_is_given(self) -> bool:
        """Whether --domain has replaced the domain that the backend states."""
        return False

    @property
    def domain_label(self) -> str:
        """What sentences call the domain: --domain, or the backend's."""
        return "--domain" if self.domain_is_given else f"{self.name}'s domain"

    def replace_domain(self, domain: dict[str, dict[str, Any]]) -> None:
        """Test this domain in place of the one that the backend states. Raise BackendError if it does not fit the operations."""
        for name, restrictions in domain.items():
            for complaint in find_complaints(specification(name), restrictions):
                raise BackendError(f"--domain: {complaint}")
        self.__dict__.update(domain=domain, domain_is_given=True)

    @cached_property
    def carriers(self) -> dict[str, str]:
        return dict(self.state("carriers", {}))

    def carrier(self, f: NarrowFormat) -> Carrier:
        """Return how arrays of a narrow format are carried: as stated, else natively where the framework has an 8-bit dtype."""
        usual = NATIVE if f.bits == 8 and f.name in self.framework.narrow_dtypes else CODES
        stated = self.carriers.get(f.name, usual)
        return Carrier(f, CODES if self.framework.passes_copies else stated)

    @cached_property
    def conventions(self) -> dict[str, str | dict[str, str]]:
        return dict(self.state("conventions", {}))

    def convention(self, name: str, operation: str) -> str | None:
        """Return the value of a convention that the backend states for the operation, or None."""
        stated = self.conventions.get(name)
        return stated.get(operation.removesuffix("_vjp")) if isinstance(stated, dict) else stated

    @cached_property
    def inferred_conventions(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """By operation and convention, the values that the answers leave possible. `trials/conventions.py` adds them."""
        return {}

    def precision(self, operation: str) -> str | None:
        """Return the precision class that the backend states for the operation, or None.

        A class stated for all operations does not hold for gradients, because the forward result may have been stored,
        and so rounded, before. A dict may state a class for a gradient by its name.
        """
        stated = self.state("precision", None)
        if isinstance(stated, dict):
            return stated.get(operation)
        return None if operation.endswith("_vjp") else stated

    def admitted_precision(self, operation: str) -> str | None:
        """Return the precision class that the format of an imported kernel admits in place of the operation's own, or None."""
        admitted: dict[str, str] = self.state("admitted_precision", {})
        return admitted.get(operation)

    def run_guarded(self, step: Callable[[], Any], operation: str) -> Any:
        """Run a step of the operation, wait until its work is done, and return its answer. Raise Refused or Fault.

        The step has the limit of --time-limit. After each timeout the limit for that operation is halved, but it is never
        less than MIN_TIMEOUT_SECONDS, unless --time-limit is.
        """

        def run_and_synchronize() -> Any:
            answer = step()
            getattr(self.source, "synchronize", lambda: None)()
            return answer

        limit = current_settings().limits.seconds
        timeout = min(limit, max(MIN_TIMEOUT_SECONDS, limit / 2 ** self.timeouts[operation]))
        try:
            return self.framework.run_guarded(run_and_synchronize, timeout)
        except Fault as fault:
            if fault.timed_out and timeout < limit:
                cause = f"{operation} had no answer within {limit:g} s, so that others are not waited for as long"
                fault.facts.append(("before", f"{cause}; if it only is slow, give it a larger --time-limit"))
            self.timeouts[operation] += fault.timed_out
            raise

    def linearize(self, what: Differentiation) -> tuple[Any, Callable[[Any], dict[str, Any]]]:
        """Return the result of an operation, and a function from a cotangent to the gradients of its arguments."""
        assert isinstance(self.framework, Framework)
        return what.linearize(self.framework, self.function(what.operation))

    def accumulate(self, what: Differentiation, cotangents: list[Any]) -> dict[str, Any]:
        """Return the gradient that each argument holds after a backward pass for each cotangent."""
        assert isinstance(self.framework, Framework)
        return what.accumulate(self.framework, self.function(what.operation), cotangents)

    @property
    def runs_on_ranks(self) -> bool:
        """Whether the backend says that it runs on ranks: processes that are given shards, or devices of one process."""
        return hasattr(self.source, "shards") or getattr(self.source, "ranks", None) == DEVICES

    def adds_summands(self, name: str) -> bool:
        """Whether the ranks answer summands of this operation or gradient, in the dtype of the result, which the suite adds."""
        return False

    @property
    def imports_oracle(self) -> bool:
        """Whether an attribute of the backend is, or comes from, a module of the suite's own equations.

        This finds imports at the top of the backend's file, and none that are hidden deeper.
        """
        values = list(getattr(self.source, "__dict__", {}).values())
        known, found = self.__dict__.get("checked for the oracle", ([], False))  # each verdict asks; the attributes seldom change
        if len(values) != len(known) or not all(map(is_, values, known)):
            found = any(map(_is_of_oracle, values))
            self.__dict__["checked for the oracle"] = values, found
        return bool(found)

    @cached_property
    def timeouts(self) -> Counter[str]:
        """How often each operation has timed out. Each timeout halves the limit of its next calls."""
        return Counter()

    @property
    def version(self) -> str:
        return printable_line(text_of(getattr(self.source, "version", f"{self.framework.name} {self.framework.version}")))


def _is_of_oracle(value: Any) -> bool:
    """Whether a value is, or comes from, a module of the equations, under whatever name that was imported."""
    name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", "")
    code = getattr(getattr(value, "__wrapped__", value), "__code__", None)
    file = getattr(value, "__file__", None) if isinstance(value, ModuleType) else getattr(code, "co_filename", None)
    return str(name).partition(".")[0] == ORACLE or _lies_in_oracle(str(file))


@cache  # it is asked for each value of the backend in each verdict
def _lies_in_oracle(file: str) -> bool:
    return Path(file).parent.name == ORACLE


class _Vanished:
    """Stands for a function that the backend had when it was loaded."""

    def __init__(self, operation: str):
        self.operation = operation

    def __call__(self, *arrays: Any, **keywords: Any) -> Any:
        raise Fault(f"{self.operation} was there when the backend was loaded, and is not there now")


ORACLE = "reference_numpy"


def load(text: str, folder: Path, operations: Collection[str]) -> Backend:
    """Return the backend that --backend=text names. Raise BackendError, whose text is one sentence."""
    if states_ranks(backend_file(text, folder)):
        raise BackendError(f"--backend={text}: it runs on several ranks, in processes of its own; test it with spec-tests run")
    return contain(lambda: build_backend(resolve(text, folder), operations, text), text)


def build_backend(source: Any, operations: Collection[str], text: str = "") -> Backend:
    """Return the backend that an object is. `text` is the value of --backend that named the object, if one did."""
    source, name, framework = identify(source, text)
    return validate(Backend(copy_plain(name), source, framework, text), operations)


def validate(backend: Backend, operations: Collection[str]) -> Backend:
    """Return the backend. Raise BackendError if it has no operation, or states something that the suite does not know."""
    for complaint in _find_complaints(backend, operations):
        raise BackendError(f"{f'--backend={backend.text}' if backend.text else backend.name}: {complaint}")
    return backend


def _find_complaints(backend: Backend, operations: Collection[str]) -> Iterator[str]:
    """Yield what is wrong with the backend's statements about itself, each in one sentence."""
    for name in operations:
        backend.function(f"{name}_vjp")  # see `presence`
    found = [backend.function(name) for name in operations]
    if not any(found):
        hints = backend.state("absence_hints", {}).values()
        meant = "".join(f"; it {hint}" if index == 0 else f"\nIt {hint}" for index, hint in enumerate(hints))
        of_a_class = describe_class(backend.source, operations, backend.text)
        known = of_a_class or ("" if hints else " (spec-tests list operations prints them)")
        yield f"it defines none of the operations{known}{meant}"
    if backend.text and backend.name != backend.text and backend.name in built_in_backends():
        yield f"it calls itself {backend.name}, which is a backend of the suite's own; give it another name"
    stated = backend.state("dtypes", ())
    if isinstance(stated, str):
        yield f"its dtypes is the string {stated!r}; give a tuple, as in dtypes = ({stated!r},)"
    for dtype in backend.dtypes:
        if dtype not in DTYPES:
            yield f"its dtypes name {dtype!r}; there are {', '.join(DTYPES)}"
        elif dtype not in backend.framework.dtypes:
            yield f"its dtypes name {dtype!r}, which {backend.framework.name} lacks here"
    import_specifications(name for name in backend.domain if name in operations)
    for name, restrictions in backend.domain.items():
        if name in operations:
            yield from find_complaints(specification(name), restrictions)
        else:
            hint = "".join(f"; did you mean {match}?" for match in difflib.get_close_matches(name, operations, n=1))
            yield f"its domain names {name!r}, which is no operation{hint}"
    if complaint := find_carrier_complaint(stated := backend.state("carriers", {})):
        yield complaint
        return
    for name, kind in stated.items():
        if kind == NATIVE and name not in backend.framework.narrow_dtypes:
            yield f"its carriers give {name} as native, which {backend.framework.name} lacks here; there is {CODES}"
    yield from filter(None, (find_convention_complaint(key, value) for key, value in backend.conventions.items()))
    for name in operations:
        if backend.precision(name) not in (None, *PRECISIONS):
            yield f"its precision is {backend.precision(name)!r}; there are {', '.join(PRECISIONS)}"
