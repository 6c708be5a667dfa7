"""In one process with the suite a backend may replace what the suite relies on: it is found out, told, and put back."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Iterator
from operator import attrgetter, is_
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

RELIED_ON = ("builtins", "hypothesis", "hypothesis.core", "math", "numpy", "numpy.linalg", "pytest", "time")
OURS = ("reference_numpy", "spec_tests")
HERE = Path(__file__).parent
CODE, DEFAULTS = attrgetter("__code__"), attrgetter("__defaults__")


def _modules() -> Iterator[ModuleType]:
    for name, module in sorted(sys.modules.items()):
        if isinstance(module, ModuleType) and (name in RELIED_ON or name.partition(".")[0] in OURS):
            yield module


def _places() -> Iterator[tuple[Any, str, dict[str, Any]]]:
    """Each module and each of our own classes, its name, and its functions, classes and methods."""
    for module in _modules():
        yield module, module.__name__, _callables(module)
        if module.__name__.partition(".")[0] in OURS:
            for name, value in list(vars(module).items()):
                if isinstance(value, type) and value.__module__ == module.__name__:
                    yield value, f"{module.__name__}.{name}", _callables(value)


def _callables(place: Any) -> dict[str, Any]:
    return {name: value for name, value in list(vars(place).items()) if callable(value)}


def _same(found: Iterable[Any], known: Iterable[Any]) -> bool:
    return all(map(is_, found, known))  # twice a test, thousands of them: no loop of Python's


class Integrity:
    """Of everything that is loaded when it is made."""

    def __init__(self) -> None:
        for folder in OURS:  # so that no backend has them first
            for path in sorted((HERE.parent / folder).glob("[a-z]*.py")):
                if not path.name.startswith("test_"):
                    importlib.import_module(f"{folder}.{path.stem}")
        self.places = list(_places())
        self.tests = {name for name in sys.modules if name.startswith("spec_tests.test_")}
        every = ((value, f"{place}.{name}") for _, place, names in self.places for name, value in names.items())
        named = {value: called for value, called in every if isinstance(value, FunctionType)}
        self.functions, self.named = list(named), list(named.values())
        self.codes, self.defaults = list(map(CODE, named)), list(map(DEFAULTS, named))

    def restored(self) -> list[str]:
        """What was replaced since; it is as it was again."""
        return [*self._places_restored(), *self._bodies_restored()]

    def _places_restored(self) -> Iterator[str]:
        for place, called, names in self.places:
            now = vars(place)
            if not _same(map(now.get, names), names.values()):
                for name, value in names.items():
                    if now.get(name) is not value:
                        setattr(place, name, value)
                        yield f"{called}.{name}"

    def _bodies_restored(self) -> Iterator[str]:
        if not (_same(map(CODE, self.functions), self.codes) and _same(map(DEFAULTS, self.functions), self.defaults)):
            for function, code, defaults, called in zip(self.functions, self.codes, self.defaults, self.named, strict=True):
                if function.__code__ is not code or function.__defaults__ is not defaults:
                    function.__code__, function.__defaults__ = code, defaults
                    yield called

    def imported(self) -> list[str]:
        """Which of the suite's tests were loaded since."""
        return sorted(name for name in sys.modules if name.startswith("spec_tests.test_") and name not in self.tests)
