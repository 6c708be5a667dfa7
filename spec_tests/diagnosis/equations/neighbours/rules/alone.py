"""An operation that looks at all of its input at once is computed for parts of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from .....specification.registry import operations, specification
from ..edit import Change
from ._rule import Place, load, rule
from .axes import BLOCKS


@rule(ast.FunctionDef)
def part_by_part(place: Place) -> Iterator[Any]:
    """Each array of a list is treated by itself, or a loss is the mean of the losses of blocks of rows."""
    name = place.node.name
    if name not in operations():
        return
    spec = specification(name)
    keywords = [ast.keyword(k, load(k)) for k in spec.parameters if k not in spec.positional]
    step, blocks = ("each_alone", [()]) if spec.declaration.list_like else ("mean_of_blocks", [(n,) for n in (1, 2, *BLOCKS)])
    if spec.declaration.list_like or spec.declaration.joins_rows:
        for block in blocks:
            arguments = [*map(ast.Constant, (name, *block)), *map(load, spec.positional)]
            result = ast.Return(ast.Call(load(step), arguments, keywords))
            yield (Change(place.node, "body", None, [result]),)
