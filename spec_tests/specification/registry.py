"""The operations and what the suite knows of each. A file in spec_tests/operations/ registers an operation."""

from __future__ import annotations

import importlib.util
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any


@cache
def operations() -> tuple[str, ...]:
    """Return the names of all operations: of the files in spec_tests/operations/ that do not begin with an underscore."""
    return tuple(sorted(path.stem for path in (Path(__file__).parent.parent / "operations").glob("*.py") if path.stem[0] != "_"))


@cache
def gradients() -> tuple[str, ...]:
    """Return the names of all gradients: `<operation>_vjp` for each operation with an equation of that name."""
    return tuple(f"{name}_vjp" for name in operations() if importlib.util.find_spec(f"reference_numpy.{name}_vjp"))


def same_kind(name: str) -> tuple[str, ...]:
    """Return all gradients if the name is that of a gradient, else all operations."""
    return gradients() if name in gradients() else operations()


@cache
def specification(name: str) -> Specification:
    """Return the specification of an operation or of a gradient, which shares the module of its operation."""
    return Specification(name, importlib.import_module(f"spec_tests.operations.{name.removesuffix('_vjp')}"))


@dataclass(frozen=True)
class Specification:
    """What the suite knows of an operation or a gradient: its equation, and how to draw a call of it."""

    name: str
    module: Any  # spec_tests/operations/<operation>.py

    @cached_property
    def reference(self) -> Callable[..., Any]:
        """The equation: the function of this name in reference_numpy."""
        return getattr(importlib.import_module(f"reference_numpy.{self.name}"), self.name)

    @cached_property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """The parameters of the equation, by name."""
        return dict(inspect.signature(self.reference).parameters)

    @cached_property
    def positional(self) -> tuple[str, ...]:
        """The names of the positional parameters."""
        return tuple(p.name for p in self.parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD)

    def part_arguments(self, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return by name the arguments that are passed by position, and those that are passed by keyword.

        An optional array is passed by keyword, since a function may take it by keyword alone.
        """
        named = dict(zip(self.positional, arguments, strict=False))
        always = {name: x for name, x in named.items() if self.parameters[name].default is inspect.Parameter.empty}
        optional = {name: x for name, x in named.items() if name not in always and x is not None}
        return always, {**keywords, **optional}

    @cached_property
    def required(self) -> tuple[str, ...]:
        """The names of the keyword-only parameters without a default."""
        return tuple(p.name for p in self.parameters.values() if p.kind is p.KEYWORD_ONLY and p.default is p.empty)

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """The defaults of the other keyword-only parameters, by name."""
        return {p.name: p.default for p in self.parameters.values() if p.kind is p.KEYWORD_ONLY and p.default is not p.empty}

    @property
    def forward(self) -> str:
        """The name of the operation; for a gradient, of the operation whose gradient it is."""
        return self.name.removesuffix("_vjp")

    @property
    def is_gradient(self) -> bool:
        """Whether this is the specification of a gradient."""
        return self.forward != self.name

    @property
    def precision(self) -> str:
        """The loosest precision class that passes by default.

        A gradient may be looser than its operation. For a fused operation it is mixed: the parts of dx may each be cast to
        16 bits and added there. For an exact look-up it is eager: the gradient is a sum.
        """
        stated = getattr(self.module, "precision", "eager")
        return {"exact": "eager", "fused": "mixed"}.get(stated, stated) if self.is_gradient else stated

    @property
    def composed(self) -> bool:
        """Whether the operation chains matrix products, so that its error is also sampled (see bounds/sampled_error.py)."""
        return getattr(self.module, "composed", False)

    @property
    def cost(self) -> float:
        """The number by which the count of examples is divided, so that each operation takes about the same time."""
        return getattr(self.module, "cost", 1.5 if self.composed else 1.0)

    @property
    def dtype(self) -> str | None:
        """The dtype of the result, if it is not that of the arguments."""
        return getattr(self.module, "dtype", None)

    @cached_property
    def results(self) -> dict[str, str]:
        """The name and the dtype of each result: a dtype, "" for that of the arguments, or WIDER for that or a wider one.

        INTEGER is any dtype of integers. A single result has the name "", and so has the result of a gradient: one gradient, or
        the vector of several.
        """
        return {"": ""} if self.is_gradient else getattr(self.module, "results", {"": self.dtype or ""})

    @property
    def has_several_results(self) -> bool:
        return "" not in self.results

    @property
    def list_like(self) -> str:
        """The name of the argument, a list of arrays, that the one result is a list like; "" if no result is a list."""
        return "" if self.is_gradient else getattr(self.module, "list_like", "")

    def dtype_rule(self, name: str) -> str:
        """Return the entry in `results` for an array among the results, such as gradients[1] of the list gradients."""
        return self.results[name.partition("[")[0]]

    @property
    def chooses(self) -> bool | str:
        """Whether the equation chooses the largest of some entries, which roundings may decide.

        A name is that of the optional array without which it chooses nothing.
        """
        chooses: bool | str = getattr(self.module, "chooses", False)
        return chooses

    @property
    def passes_choices_on(self) -> bool:
        """Whether a choice in one row shows in later rows of its sequence, too."""
        return getattr(self.module, "passes_choices_on", False)

    @property
    def arrange(self) -> Callable[[list[Any]], list[Any]]:
        """The function that puts several results into one order, where the order of what they list says nothing."""
        return getattr(self.module, "arrange", list)

    @cached_property
    def wide_arguments(self) -> tuple[str, ...]:
        """The names of the floating arguments that are float32 where the others have 16 bits."""
        return getattr(self.module, "wide_arguments", ())

    @property
    def constant_arguments(self) -> tuple[str, ...]:
        """The names of the floating arguments that have no gradient."""
        return getattr(self.module, "constant_arguments", ())

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The dtypes in which the operation is defined, () if it is in all."""
        return getattr(self.module, "dtypes", ())

    @property
    def choices(self) -> dict[str, tuple[Any, ...]]:
        """The values of each keyword that has a fixed set of values."""
        return getattr(self.module, "choices", {})

    @property
    def changeable(self) -> tuple[str, ...]:
        """The names of the operation's own real-valued keywords, each of which may take any value beside all others."""
        return getattr(self.module, "changeable", ())

    @cached_property
    def updates(self) -> tuple[str, ...]:
        """The names of the arguments that the operation may write to, if that is the backend's convention `cache_update`."""
        return getattr(self.module, "updates", ())

    @property
    def optional_weights(self) -> tuple[str, ...]:
        """The names of the entries that a dict of weights may have besides, where the backend's domain lists them."""
        return getattr(self.module, "optional_weights", ())

    @property
    def structure(self) -> tuple[str, ...]:
        """The names of the integer arrays that say how other arrays are divided. Other values need other arrays."""
        return getattr(self.module, "structure", ())

    @property
    def core(self) -> dict[str, int]:
        """How many trailing dimensions of each array argument are not batch. Arguments without an entry have no batch."""
        return getattr(self.module, "core", {})


@cache
def argument_dimensions(spec: Specification) -> dict[str, tuple[str, ...]]:
    """Return the names of each array's trailing dimensions, as the equation's docstring gives them under Shapes."""
    shapes = re.findall(r"(\w+) \((?:\.\.\., ?)?([\w ,]*)\)", _shapes_section(spec))
    return {name: tuple(filter(None, re.split(r", *", sizes))) for name, sizes in shapes if not sizes.startswith("any shape")}


def has_named_batch(spec: Specification) -> bool:
    """Whether the batch is a named dimension, as that of a cache is, so that every call has a batch of one dimension."""
    return any(len(labels) > spec.core[name] for name, labels in argument_dimensions(spec).items() if name in spec.core)


def _shapes_section(spec: Specification) -> str:
    """Return what the equation's docstring says of the arguments under Shapes."""
    return (spec.reference.__doc__ or "").partition("Shapes\n")[2].partition("->")[0]


@cache
def result_ranks(spec: Specification) -> dict[str, int]:
    """Return how many trailing dimensions of each of several results are not batch, as the docstring has them after the arrow."""
    text = (spec.reference.__doc__ or "").partition("Shapes\n")[2].partition("->")[2]
    found = dict(re.findall(r"(\w+) \(\.\.\.,? ?([\w ,]*)\)", text.partition("\n    Units")[0].partition("\n    Domain")[0]))
    return {name: len(list(filter(None, found[name].split(",")))) for name in spec.results if name in found}


@cache
def dimensions(spec: Specification) -> frozenset[str]:
    """Return the names of all dimensions: of the arrays, and of the operations that the docstring names under Shapes.

    If there are none, the name is "n" for an operation along an axis, and "d" for an elementwise operation.
    """
    factors = {factor for sizes in argument_dimensions(spec).values() for size in sizes for factor in size.split()}
    own = {factor for factor in factors if not factor.isdigit()}
    parts = [
        dimensions(specification(op)) for op in operations() if op != spec.name and re.search(rf"\b{op}\b", _shapes_section(spec))
    ]
    return frozenset(own.union(*parts) or ({"n"} if "axis" in spec.parameters else {"d"} if spec.positional else set()))
