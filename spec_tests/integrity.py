"""In one process with the suite a backend may replace what the suite relies on: it is found out, told, and put back."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

RELIED_ON = ("builtins", "hypothesis", "hypothesis.core", "math", "numpy", "numpy.linalg", "pytest", "time")
OURS = ("reference_numpy", "spec_tests")
HERE = Path(__file__).parent


def _modules() -> Iterator[ModuleType]:
    for name, module in sorted(sys.modules.items()):
        if isinstance(module, ModuleType) and (name in RELIED_ON or name.partition(".")[0] in OURS):
            yield module


def _places() -> Iterator[tuple[Any, str, str, Any]]:
    """The functions and classes of each module, and the methods of our own classes: where each is, its name, what it is."""
    for module in _modules():
        for name, value in list(vars(module).items()):
            if callable(value):
                yield module, name, f"{module.__name__}.{name}", value
            if isinstance(value, type) and value.__module__ == module.__name__ and module.__name__.partition(".")[0] in OURS:
                for method, function in list(vars(value).items()):
                    if callable(function):
                        yield value, method, f"{module.__name__}.{name}.{method}", function


class Integrity:
    """Of everything that is loaded when it is made."""

    def __init__(self) -> None:
        for folder in OURS:  # so that no backend has them first
            for path in sorted((HERE.parent / folder).glob("[a-z]*.py")):
                if not path.name.startswith("test_"):
                    importlib.import_module(f"{folder}.{path.stem}")
        places = list(_places())
        self.tests = {name for name in sys.modules if name.startswith("spec_tests.test_")}
        self.names = [(vars(place), name, value, place, called) for place, name, called, value in places]
        functions = {id(value): (value, called) for _, _, called, value in places if isinstance(value, FunctionType)}
        self.bodies = [(function, function.__code__, function.__defaults__, called) for function, called in functions.values()]

    def restored(self) -> list[str]:
        """What was replaced since; it is as it was again."""
        replaced = []
        for names, name, value, place, called in self.names:
            if names.get(name) is not value:
                setattr(place, name, value)
                replaced.append(called)
        for function, code, defaults, called in self.bodies:
            if function.__code__ is not code or function.__defaults__ is not defaults:
                function.__code__, function.__defaults__ = code, defaults
                replaced.append(called)
        return replaced

    def imported(self) -> list[str]:
        """Which of the suite's tests were loaded since."""
        return sorted(name for name in sys.modules if name.startswith("spec_tests.test_") and name not in self.tests)
