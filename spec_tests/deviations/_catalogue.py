"""Deviations: known bugs of an operation, each a small function in spec_tests/deviations/<operation>.py.

They test the suite, which must catch each of them. They name bugs: a failing result is compared with theirs. And they document
what an invariant is for. A file in the folder is registered by its presence.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, wraps
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..specification.composition import parts_of, substitute
from ..specification.formats import DISCRETE_DTYPES, DTYPES
from ..specification.registry import specification

FOLDER = Path(__file__).parent
HALF = ("bfloat16", "float16")
KINDS = MappingProxyType(
    {
        "equation": "another equation: NumPy lines that any number type runs through",
        "convention": "another equation, which some of the field mean",
        "arithmetic": "the right equation in an arithmetic that nobody promised",
        "fault": "the right equation and arithmetic, in code that mishandles memory, state or shapes",
    }
)

SUBSTITUTED = ("equation", "convention")  # kinds that can replace a part of a composed operation, on any number type


@dataclass(frozen=True)
class Deviation:
    operation: str
    function: Callable[..., Any]
    kind: str
    caught_by: tuple[str, ...]  # invariants, each of which must catch it
    dtypes: tuple[str, ...]  # in which it can be seen
    seen: tuple[str, ...]  # addresses of public threads about it
    like: tuple[str, ...] = ()  # names of deviations that compute the same: a diagnosis that names one of them is right
    meant: str = ""  # the line with which a backend states that it computes this, if there is one
    part: Deviation | None = None  # the deviation of the part, if a part of the operation deviates

    @property
    def name(self) -> str:
        return self.part.name if self.part else self.function.__name__.replace("_", "-")

    @property
    def id(self) -> str:
        return f"{self.operation}/{self.part.id if self.part else self.name}"

    @property
    def what(self) -> str:
        """The first sentence of its docstring, which diagnoses quote."""
        if self.part:
            return f"{self.part.operation}: {self.part.what}"
        return inspect.cleandoc(self.function.__doc__ or "").partition("\n\n")[0].replace("\n", " ").removesuffix(".")

    def shows_in(self, dtype: str) -> bool:
        """Whether it can be seen in a dtype: in `dtypes`, and in results that are masks or counts."""
        return dtype in (*self.dtypes, *DISCRETE_DTYPES)

    def asks(self, parameter: str) -> bool:
        """Whether its function has a parameter of that name."""
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
    meant: str = "",
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function as a deviation of the operation named by its file, or of `operations` in every_operation__*.py.

    caught_by: the invariants that must catch it, without the operation's name. dtypes: those in which it can be seen. meant: the
    line of a backend that states it as its own choice.

    An equation or a convention takes the reference's arguments, of any number type. It names those that it uses, and may take
    the others as `**options`, to pass them on. An arithmetic may also have the keywords `held`, a function that rounds to the
    dtype under test, `storage`, the format of that dtype, and `equation`, the reference. A fault takes the right function
    first, then native arrays. It may have the keyword `memory`, a dict that lasts as long as the backend.
    """
    assert kind in KINDS, kind
    assert caught_by, "an invariant must catch it"

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        names = operations or (function.__module__.rpartition(".")[2].partition("__")[0],)
        invariants = [tuple(f"{name}.{law}" for law in caught_by) for name in names]
        pairs = zip(names, invariants, strict=True)
        new = (Deviation(name, function, kind, ids, dtypes, seen, like, meant) for name, ids in pairs)
        function.deviations = (*getattr(function, "deviations", ()), *new)  # type: ignore[attr-defined]
        return function

    return decorate


@cache
def catalogue() -> dict[str, Deviation]:
    """Return every deviation by its id."""
    files = sorted(path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("_"))
    modules = (importlib.import_module(f"spec_tests.deviations.{file}") for file in files)
    found = (deviation for module in modules for f in vars(module).values() for deviation in getattr(f, "deviations", ()))
    return {deviation.id: deviation for deviation in found}


def find(name: str) -> Deviation | None:
    """Return the deviation of that id, such as rms_norm/eps-outside-sqrt.

    transformer_block/rms_norm/eps-outside-sqrt is the same deviation inside another operation.
    """
    if name in catalogue():
        return catalogue()[name]
    operation, _, part_id = name.partition("/")
    inside = (deviation for deviation in deviations_of_parts(operation) if deviation.part and deviation.part.id == part_id)
    return next(inside, None)


@cache
def deviations_of(operation: str) -> tuple[Deviation, ...]:
    """Return the deviations of the operation itself, without those of its parts."""
    return tuple(deviation for deviation in catalogue().values() if deviation.operation == operation)


@cache
def deviations_of_parts(operation: str) -> tuple[Deviation, ...]:
    """Return the deviations of the operations that this one is composed of, each inside this one."""
    of_parts = (deviation for part in parts_of(operation) for deviation in deviations_of(part))
    return tuple(put_inside(operation, deviation) for deviation in of_parts if deviation.kind in SUBSTITUTED)


def put_inside(operation: str, inner: Deviation) -> Deviation:
    """Return the deviation that the operation has if its part has the deviation `inner`."""
    reference, part = specification(operation).reference, take_every_option(inner)

    @wraps(reference)
    def equation(*arguments: Any, **keywords: Any) -> Any:
        with substitute(inner.operation, part):
            return reference(*arguments, **keywords)

    return replace(inner, operation=operation, function=equation, part=inner, caught_by=(f"{operation}.reference",))


def take_every_option(deviation: Deviation) -> Callable[..., Any]:
    """Return the deviation's function, with the optional arguments that it lacks if its file adds them."""
    parameters = inspect.signature(deviation.function).parameters.values()
    with_options = getattr(importlib.import_module(f"spec_tests.deviations.{deviation.operation}"), "with_options", None)
    if with_options is None or any(p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL) for p in parameters):
        return deviation.function
    return with_options(deviation.function)
