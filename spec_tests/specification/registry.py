"""What the suite knows of the operations. Presence in the folder is registration."""

from __future__ import annotations

import importlib.util
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any


@cache
def operations() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in (Path(__file__).parent.parent / "operations").glob("*.py") if path.stem[0] != "_"))


@cache
def gradients() -> tuple[str, ...]:
    """Those of the operations that have a slope: presence of the equation is registration."""
    return tuple(f"{name}_vjp" for name in operations() if importlib.util.find_spec(f"reference_numpy.{name}_vjp"))


def same_kind(name: str) -> tuple[str, ...]:
    """The gradients, of a gradient; the operations, of an operation."""
    return gradients() if name in gradients() else operations()


@cache
def specification(name: str) -> Specification:
    """A gradient is tried as its operation is, with a cotangent."""
    return Specification(name, importlib.import_module(f"spec_tests.operations.{name.removesuffix('_vjp')}"))


@dataclass(frozen=True)
class Specification:
    """What the suite knows of an operation: its equation and how to try it (spec_tests/operations/<name>.py)."""

    name: str
    module: Any

    @cached_property
    def reference(self) -> Callable[..., Any]:
        return getattr(importlib.import_module(f"reference_numpy.{self.name}"), self.name)

    @cached_property
    def parameters(self) -> dict[str, inspect.Parameter]:
        return dict(inspect.signature(self.reference).parameters)

    @cached_property
    def positional(self) -> tuple[str, ...]:
        return tuple(p.name for p in self.parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD)

    @cached_property
    def required(self) -> tuple[str, ...]:
        return tuple(p.name for p in self.parameters.values() if p.kind is p.KEYWORD_ONLY and p.default is p.empty)

    @cached_property
    def defaults(self) -> dict[str, Any]:
        return {p.name: p.default for p in self.parameters.values() if p.kind is p.KEYWORD_ONLY and p.default is not p.empty}

    @property
    def forward(self) -> str:
        """The operation whose gradient it is; its own name, if it is none."""
        return self.name.removesuffix("_vjp")

    @property
    def is_gradient(self) -> bool:
        return self.forward != self.name

    @property
    def precision(self) -> str:
        """The loosest class that passes by default. Of a gradient: the parts that x gathers, each cast to 16 bits, may be added
        there, and a look-up's gradient is a sum."""
        stated = getattr(self.module, "precision", "eager")
        return {"exact": "eager", "fused": "mixed"}.get(stated, stated) if self.is_gradient else stated

    @property
    def composed(self) -> bool:
        return getattr(self.module, "composed", False)

    @property
    def cost(self) -> float:
        """Examples are divided by it: so that each operation has about the same time."""
        return getattr(self.module, "cost", 1.5 if self.composed else 1.0)

    @property
    def dtype(self) -> str | None:
        """The dtype of the result, where it is not that of the arguments."""
        return getattr(self.module, "dtype", None)

    @property
    def core(self) -> dict[str, int]:
        """How many trailing dimensions of an array argument are not batch; arguments without an entry have no batch."""
        return getattr(self.module, "core", {})


@cache
def argument_dimensions(spec: Specification) -> dict[str, tuple[str, ...]]:
    """The names of each array's trailing dimensions, as the equation's docstring gives them under Shapes."""
    found = re.findall(r"(\w+) \((?:\.\.\., ?)?([\w ,]*)\)", _shapes_section(spec))
    return {name: tuple(filter(None, re.split(r", *", sizes))) for name, sizes in found if not sizes.startswith("any shape")}


def _shapes_section(spec: Specification) -> str:
    return (spec.reference.__doc__ or "").partition("Shapes\n")[2].partition("->")[0]


@cache
def dimensions(spec: Specification) -> frozenset[str]:
    """Every name of a dimension: of the arrays, of the parts of a layer, of the axis, or of an elementwise operation's last."""

    own = {factor for sizes in argument_dimensions(spec).values() for size in sizes for factor in size.split()}
    parts = [
        dimensions(specification(op)) for op in operations() if op != spec.name and re.search(rf"\b{op}\b", _shapes_section(spec))
    ]
    return frozenset(own.union(*parts) or ({"n"} if "axis" in spec.parameters else {"d"} if spec.positional else set()))
