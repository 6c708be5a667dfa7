"""The operations and what the suite knows of each. A file in spec_tests/operations/ registers an operation."""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from .declaration import Declaration, DeclarationError
from .first_use import import_modules
from .formats import INTEGER
from .shapes import Shapes, parse_shapes
from .steps import count_steps


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


def specification_modules(name: str) -> tuple[str, str]:
    """Return the dotted names of the two modules of a specification: that of its arguments, and that of its equation."""
    return f"spec_tests.operations.{name.removesuffix('_vjp')}", f"reference_numpy.{name}"


def import_specifications(names: Iterable[str]) -> None:
    """Import what the specifications of these operations and gradients consist of, all at once."""
    import_modules(*(module for name in names for module in specification_modules(name)))


@cache
def specification(name: str) -> Specification:
    """Return the specification of an operation or of a gradient, which shares the declaration of its operation."""
    (module,) = import_modules(specification_modules(name)[0])
    declaration = getattr(module, "declaration", None)
    if not isinstance(declaration, Declaration):
        raise DeclarationError(f"{module.__file__} declares nothing; write declaration = Declaration(equation=…, arguments=…)")
    return Specification(name, declaration)


@dataclass(frozen=True, eq=False)
class Specification:
    """What the suite knows of an operation or a gradient: its equation, and how to draw a call of it."""

    name: str
    declaration: Declaration

    @cached_property
    def reference(self) -> Callable[..., Any]:
        """The equation: the function of this name in reference_numpy."""
        function: Callable[..., Any] = getattr(import_modules(specification_modules(self.name)[1])[0], self.name)
        return function

    @cached_property
    def steps(self) -> int:
        """How many operations the equation has, by which the work of its evaluation is counted."""
        return count_steps(self.reference)

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
        stated = self.declaration.precision
        return {"exact": "eager", "fused": "mixed"}.get(stated, stated) if self.is_gradient else stated

    @property
    def composed(self) -> bool:
        """Whether the operation chains matrix products, so that its error is also sampled (see bounds/sampled_error.py)."""
        return self.declaration.composed

    @property
    def cost(self) -> float:
        """The number by which the count of examples is divided, so that each operation takes about the same time."""
        stated = self.declaration.cost
        return (1.5 if self.composed else 1.0) if stated is None else stated

    @property
    def dtype(self) -> str | None:
        """The dtype of the result, if it is not that of the arguments."""
        return self.declaration.dtype

    @cached_property
    def results(self) -> Mapping[str, str]:
        """The name and the dtype of each result: a dtype, "" for that of the arguments, or WIDER for that or a wider one.

        INTEGER is any dtype of integers. A single result has the name "", and so has the result of a gradient: one gradient, or
        the vector of several.
        """
        return {"": ""} if self.is_gradient else self.declaration.results or {"": self.dtype or ""}

    @property
    def has_several_results(self) -> bool:
        return "" not in self.results

    @property
    def is_whole(self) -> bool:
        """Whether all results are integers: counts, indices and tokens, which no rounding moves a little."""
        return set(self.results.values()) == {INTEGER}

    @property
    def list_like(self) -> str:
        """The name of the argument, a list of arrays, that the one result is a list like; "" if no result is a list."""
        return "" if self.is_gradient else self.declaration.list_like

    def dtype_rule(self, name: str) -> str:
        """Return the entry in `results` for an array among the results, such as gradients[1] of the list gradients."""
        return self.results[name.partition("[")[0]]

    @property
    def core(self) -> Mapping[str, int]:
        """How many trailing dimensions of each array argument are not batch. Arguments without an entry have no batch."""
        return self.declaration.core

    @cached_property
    def shapes(self) -> Shapes:
        """The shapes that the equation's docstring states."""
        return parse_shapes(self.reference.__doc__ or "")


@cache
def argument_dimensions(spec: Specification) -> dict[str, tuple[str, ...]]:
    """Return the names of each array's trailing dimensions, as the equation's docstring gives them under Shapes."""
    return {name: shape.labels for name, shape in spec.shapes.arguments.items() if shape.is_plain}


def core_of(spec: Specification, named: Mapping[str, Any]) -> Mapping[str, int]:
    """Return how many trailing dimensions of each array of a call are not batch, where a keyword may say that of one.

    An array of several shapes is left out where it has one that has no batch: of fewer axes, or one that another array asks for.
    """
    core, by = spec.core, spec.declaration.core_by
    for keyword, cores in by.items():
        core = {**core, **cores.get(named.get(keyword, spec.defaults.get(keyword)), {})}
    if pooled := {name for name, table in spec.declaration.pooled.items() if named.get(table) is not None}:
        core = {name: rank for name, rank in core.items() if name not in pooled}
    shapes = {name: getattr(named.get(name), "shape", None) for name in spec.shapes.others if name in core}
    core = {**core, **_find_cores_of_others(spec, core, named, shapes)}
    lower = {name for name, shape in shapes.items() if shape is not None and len(shape) < core[name]}
    return {name: rank for name, rank in core.items() if name not in lower} if lower else core


def _find_cores_of_others(
    spec: Specification, core: Mapping[str, int], named: Mapping[str, Any], shapes: Mapping[str, Any]
) -> dict[str, int]:
    """Return how many axes are not batch of an array whose shapes all have a batch: those that leave it the batch of the call."""
    found: dict[str, int] = {}
    for name, shape in shapes.items():
        known = (spec.shapes.arguments[name], *spec.shapes.others[name])
        anchor = next((x for x in core if x not in shapes and hasattr(named.get(x), "shape")), None)
        if shape is None or anchor is None or not all(one.batch for one in known):
            continue
        rank = len(shape) - (len(named[anchor].shape) - core[anchor])
        found |= {name: rank} if rank in {len(one.labels) for one in known} else {}
    return found


def given_dimensions(
    spec: Specification, ranks: Mapping[str, int], named: Mapping[str, Any] | None = None
) -> dict[str, tuple[str, ...]]:
    """Return the same names for arrays that have so many axes each, where the docstring has a shape for each number of axes.

    named: the arguments of the call, of which a keyword may say which shape an array has.
    """
    names, core = argument_dimensions(spec), core_of(spec, named or {})
    others = [name for name in spec.shapes.others if name in ranks and name in names]
    own = {name: spec.shapes.of_rank(name, ranks[name], core.get(name)).labels for name in others}
    return {**names, **own}


def has_named_batch(spec: Specification) -> bool:
    """Whether the batch is a named dimension, as that of a cache is, so that every call has a batch of one dimension."""
    return any(len(labels) > spec.core[name] for name, labels in argument_dimensions(spec).items() if name in spec.core)


@cache
def result_ranks(spec: Specification) -> dict[str, int]:
    """Return how many trailing dimensions of each of several results are not batch, as the docstring has them after the arrow."""
    return {name: len(shape.labels) for name, shape in spec.shapes.results.items() if name in spec.results and shape.batch}


@cache
def dimensions(spec: Specification) -> frozenset[str]:
    """Return the names of all dimensions: of the arrays, and of the operations that the docstring names under Shapes.

    If there are none, the name is "n" for an operation along an axis, and "d" for an elementwise operation.
    """
    stated = spec.shapes
    others = (shape for shapes in stated.others.values() for shape in shapes)
    shapes = [shape for shape in (*stated.arguments.values(), *stated.broadcast.values(), *others) if shape.is_plain]
    factors = {factor for shape in shapes for label in shape.labels for factor in label.split()}
    own = {factor for factor in factors if not factor.isdigit()}
    parts = [dimensions(specification(op)) for op in operations() if op != spec.name and op in spec.shapes.words]
    return frozenset(own.union(*parts) or ({"n"} if "axis" in spec.parameters else {"d"} if spec.positional else set()))
