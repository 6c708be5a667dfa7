"""What a definition of flashinfer-bench states: its axes, its inputs and outputs, and its own reference."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

from ..specification.formats import DTYPES
from ._imported import RAISED, NotTaken, say

Call = Callable[..., dict[str, Any]]  # of the sizes of the axes, and of the inputs by name
Bound = tuple[Callable[..., Any], str, dict[str, Any]]


def is_float(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat"))


class Definition:
    """What a definition states: its axes, and its inputs and outputs by name."""

    def __init__(self, data: dict[str, Any]):
        self.name, self.reference = str(data["name"]), str(data.get("reference", ""))
        self.op_type = str(data.get("op_type") or self.name)
        self.inputs: dict[str, Any] = data["inputs"]
        self.outputs: dict[str, Any] = data["outputs"]
        self.fixed = {name: axis["value"] for name, axis in data["axes"].items() if axis.get("type") == "const"}
        arrays = [spec for spec in (*self.inputs.values(), *self.outputs.values()) if spec["shape"] is not None]
        self.unknown_dtypes = sorted({spec["dtype"] for spec in arrays if is_float(spec["dtype"])} - {*DTYPES})
        floats = {spec["dtype"] for spec in self.inputs.values() if spec["shape"] is not None and spec["dtype"] in DTYPES}
        self.dtypes = tuple(sorted(floats)) or ("float32",)
        self.words = {word for name in (self.op_type, self.name) for word in re.split(r"[^a-z0-9]+", name.lower())}

    def shape(self, name: str) -> list[str]:
        return list(self.inputs[name]["shape"] or [])

    def restrict(self, **axes: str) -> dict[str, Any]:
        """Return the domain of our dimensions, by the names of their axes here. An axis that varies restricts nothing."""
        return {ours: (self.fixed[theirs],) for ours, theirs in axes.items() if theirs in self.fixed}

    def sizes(self, **inputs: Any) -> dict[str, int]:
        """Return the size of each axis, from the arrays that have it."""
        shapes = {name: spec["shape"] or [] for name, spec in self.inputs.items()}
        arrays = ((shapes[name], x.shape) for name, x in inputs.items() if hasattr(x, "shape"))
        return {**self.fixed, **{axis: size for axes, sizes in arrays for axis, size in zip(axes, sizes, strict=False)}}

    def load_reference(self) -> Callable[..., Any]:
        """Return the function `run` of the definition's own source."""
        namespace: dict[str, Any] = {"__name__": f"reference_of_{self.name}"}
        try:
            exec(compile(self.reference, f"<the reference of {self.name}>", "exec"), namespace)
        except RAISED as error:  # of the reference itself
            raise NotTaken(f"its reference raised {say(error)}") from error
        if not callable(namespace.get("run")):
            raise NotTaken("its reference has no function run")
        return namespace["run"]

    def find_epsilon(self) -> float:
        """Return the constant that is added below a root in the reference. Raise NotTaken if there is not exactly one."""
        tree = ast.parse(self.reference)
        constants = {
            target.id: node.value.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        added = [node.right for node in ast.walk(tree) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)]
        values = {
            constants.get(x.id) if isinstance(x, ast.Name) else x.value if isinstance(x, ast.Constant) else None for x in added
        }
        floats = {value for value in values if isinstance(value, float) and 0 < value < 1}
        if len(floats) != 1:
            raise NotTaken("its epsilon is neither an input nor one constant of the reference")
        return floats.pop()
