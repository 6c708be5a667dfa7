"""Roundings to integers, and so to the numbers of a format: cut off, down, up, or with ties that do not go to the even one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ._rule import Place, fill, name_of, rule

ROUNDINGS = (
    "np.trunc(x)", "ties_away_from_zero(x)", "np.floor(x)", "np.ceil(x)", "ties_upward(x)", "ties_toward_zero(x)",
    "rounded_away(x)",
)  # fmt: skip


@rule(ast.Call)
def another_rounding(place: Place) -> Iterator[Any]:
    """A number is rounded to an integer in another way than to the nearest one, ties to even."""
    if name_of(place.node) == "rint":
        yield from (fill(template, x=place.node.args[0]) for template in ROUNDINGS)
