"""Deviations: what goes wrong with an operation, each a small function in spec_tests/deviations/<operation>.py.

They prove the suite (each must be caught), name the bug (a failing result is compared with theirs), and document what an
invariant is for. Presence in the folder is registration.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, wraps
from pathlib import Path
from typing import Any

from ..specification.composition import parts_of, substitute
from ..specification.formats import DTYPES
from ..specification.registry import specification

FOLDER = Path(__file__).parent
HALF = ("bfloat16", "float16")
KINDS = {
    "equation": "another equation: NumPy lines that any number type runs through",
    "convention": "another equation, which some of the field mean",
    "arithmetic": "the right equation in an arithmetic that nobody promised",
    "fault": "the right equation and arithmetic, in code that mishandles memory, state or shapes",
}

SUBSTITUTED = ("equation", "convention")


@dataclass(frozen=True)
class Deviation:
    operation: str
    function: Callable[..., Any]
    kind: str
    caught_by: tuple[str, ...]  # each of them must
    dtypes: tuple[str, ...]  # in which it can be seen at all
    seen: tuple[str, ...]  # public threads
    like: tuple[str, ...] = ()  # names of equations that compute the same: one of them in its place is right
    part: Deviation | None = None  # where it is one of the operation's parts that deviates

    @property
    def name(self) -> str:
        return self.part.name if self.part else self.function.__name__.replace("_", "-")

    @property
    def id(self) -> str:
        return f"{self.operation}/{self.part.id if self.part else self.name}"

    @property
    def what(self) -> str:
        """The first sentence of its docstring, as it stands in a diagnosis."""
        if self.part:
            return f"{self.part.operation}: {self.part.what}"
        return inspect.cleandoc(self.function.__doc__ or "").partition("\n\n")[0].replace("\n", " ").removesuffix(".")

    def asks(self, parameter: str) -> bool:
        return parameter in inspect.signature(self.function).parameters

    def __repr__(self) -> str:
        return f"<{self.id}>"


def deviation(
    *caught_by: str,
    kind: str = "equation",
    dtypes: tuple[str, ...] = DTYPES,
    seen: tuple[str, ...] = (),
    like: tuple[str, ...] = (),
    operations: tuple[str, ...] = (),
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function as a deviation of the operation whose file it stands in, or, in every_operation.py, of `operations`.

    caught_by: the invariants that must catch it, without the operation's name. dtypes: those in which it shows.

    An equation, or convention, takes what the reference takes, on any number type. An arithmetic may ask, by keyword, for
    `held`, which rounds to the dtype under test, for `storage`, that dtype's format, and for `equation`, the reference: one of
    every operation takes any arguments. A fault takes the right function first, then native arrays; it may ask for
    `memory`, a dict that lasts as long as the backend.
    """
    assert kind in KINDS, kind
    assert caught_by, "an invariant must catch it"

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        names = operations or (function.__module__.rpartition(".")[2].partition("__")[0],)
        laws = [tuple(f"{name}.{law}" for law in caught_by) for name in names]
        registered = (Deviation(name, function, kind, ids, dtypes, seen, like) for name, ids in zip(names, laws, strict=True))
        function.deviations = (*getattr(function, "deviations", ()), *registered)  # type: ignore[attr-defined]
        return function

    return decorate


@cache
def catalogue() -> dict[str, Deviation]:
    """Every deviation by its id."""
    files = sorted(path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("_"))
    modules = (importlib.import_module(f"spec_tests.deviations.{file}") for file in files)
    listed = (one for module in modules for f in vars(module).values() for one in getattr(f, "deviations", ()))
    return {one.id: one for one in listed}


def find(name: str) -> Deviation | None:
    """rms_norm/eps-outside-sqrt, or transformer_block/rms_norm/eps-outside-sqrt: the same inside another operation."""
    operation, _, inner = name.partition("/")
    whole = catalogue().get(name)
    return whole or next((one for one in deviations_of_parts(operation) if one.part and one.part.id == inner), None)


def deviations_of(operation: str) -> tuple[Deviation, ...]:
    return tuple(one for one in catalogue().values() if one.operation == operation)


def deviations_of_parts(operation: str) -> tuple[Deviation, ...]:
    """The deviations of the operations that this one is made of, inside it."""
    return tuple(inside(operation, one) for part in parts_of(operation) for one in deviations_of(part) if one.kind in SUBSTITUTED)


def inside(operation: str, inner: Deviation) -> Deviation:
    """The operation made of a deviating part."""
    right = specification(operation).reference

    @wraps(right)
    def equation(*arguments: Any, **keywords: Any) -> Any:
        with substitute(inner.operation, inner.function):
            return right(*arguments, **keywords)

    return replace(inner, operation=operation, function=equation, part=inner, caught_by=(f"{operation}.reference",))
