"""In one process with the suite a backend may replace what the suite relies on: it is found out, told, and put back."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from operator import attrgetter, call, is_, itemgetter
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

WATCHED_MODULES = ("builtins", "hypothesis", "hypothesis.core", "math", "numpy", "numpy.linalg", "pytest", "time")
OUR_PACKAGES = ("reference_numpy", "spec_tests")
SUITE = Path(__file__).parents[1]
ON_DEMAND = ("backends", "deviations", "isolation", "operations")  # folders whose modules are imported when needed
WITH_A_REPORT = (  # modules that only a run with --report imports
    "report.backend_results", "report.badge", "report.github_step", "report.page",
    "running.recorded_details", "running.recording", "running.resuming",
)  # fmt: skip
CODE, DEFAULTS = attrgetter("__code__"), attrgetter("__defaults__")


def _modules() -> Iterator[ModuleType]:
    for name, module in sorted(sys.modules.items()):
        if isinstance(module, ModuleType) and (name in WATCHED_MODULES or name.partition(".")[0] in OUR_PACKAGES):
            yield module


class Namespace:
    """A module or one of our own classes, with its functions, classes and methods."""

    def __init__(self, holder: Any, called: str):
        self.holder, self.called = holder, called
        self.names = {name: value for name, value in list(vars(holder).items()) if callable(value)}
        self.find = itemgetter("__doc__", *self.names)  # of one name alone it would make no tuple

    def restore(self) -> Iterator[str]:
        for name, value in self.names.items():
            if vars(self.holder).get(name) is not value:
                setattr(self.holder, name, value)
                yield f"{self.called}.{name}"


def _namespaces() -> Iterator[Namespace]:
    for module in _modules():
        yield Namespace(module, module.__name__)
        if module.__name__.partition(".")[0] in OUR_PACKAGES:
            for name, value in list(vars(module).items()):
                if isinstance(value, type) and value.__module__ == module.__name__:
                    yield Namespace(value, f"{module.__name__}.{name}")


def _all_identical(found: Iterable[Any], known: Iterable[Any]) -> bool:
    return all(map(is_, found, known))  # of thousands of them, at every test: no loop of Python's


class Sweep:
    """Places that are compared all at once."""

    def __init__(self, places: list[Namespace]):
        self.places = places
        self.finders, self.namespaces = [place.find for place in places], [vars(place.holder) for place in places]
        self.recorded = list(self._found())

    def _found(self) -> Iterable[Any]:
        """What stands at each place under each name."""
        return chain.from_iterable(map(call, self.finders, self.namespaces))

    def restore(self) -> list[str]:
        with suppress(KeyError):  # a name is gone
            if _all_identical(self._found(), self.recorded):
                return []
        return [name for place in self.places for name in place.restore()]


def preloaded() -> Iterator[str]:
    """Yield the modules that are imported before any backend is, so that no backend can patch them first."""
    for package in OUR_PACKAGES:
        for path in sorted((SUITE.parent / package).rglob("[a-z]*.py")):
            *folders, name = path.relative_to(SUITE.parent / package).with_suffix("").parts
            if not (name.startswith("test_") or {*folders} & {*ON_DEMAND} or ".".join([*folders, name]) in WITH_A_REPORT):
                yield ".".join([package, *folders, name])


class PatchDetector:
    """Of everything that is loaded when it is made."""

    def __init__(self) -> None:
        for name in preloaded():
            importlib.import_module(name)
        places = [place for place in _namespaces() if place.names]
        self.others_code = Sweep([place for place in places if place.called in WATCHED_MODULES])
        self.ours = Sweep([place for place in places if place.called not in WATCHED_MODULES])
        self.tests = {name for name in sys.modules if name.startswith("spec_tests.test_")}
        every = ((value, f"{place.called}.{name}") for place in places for name, value in place.names.items())
        named = {value: called for value, called in every if isinstance(value, FunctionType)}
        self.functions, self.named = list(named), list(named.values())
        self.codes, self.defaults = list(map(CODE, named)), list(map(DEFAULTS, named))

    def restore(self) -> list[str]:
        """What was replaced since; it is as it was again."""
        return [*self.others_code.restore(), *self.ours.restore(), *self._restore_bodies()]

    def _restore_bodies(self) -> Iterator[str]:
        if not (
            _all_identical(map(CODE, self.functions), self.codes) and _all_identical(map(DEFAULTS, self.functions), self.defaults)
        ):
            for function, code, defaults, called in zip(self.functions, self.codes, self.defaults, self.named, strict=True):
                if function.__code__ is not code or function.__defaults__ is not defaults:
                    function.__code__, function.__defaults__ = code, defaults
                    yield called

    def imported_tests(self) -> list[str]:
        """Which of the suite's tests were loaded since."""
        return sorted(name for name in sys.modules if name.startswith("spec_tests.test_") and name not in self.tests)
