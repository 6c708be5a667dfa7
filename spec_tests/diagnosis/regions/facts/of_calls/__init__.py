"""The facts of a call, one family a file. A file is registered by its presence.

Each has `read(call, known)`, which yields facts with their values in a call, and `ORDER`, the place of the family: where two
facts tell the same, that of the family with the smaller number is said. `known` has the facts of the families before.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from .....calls.call import Call
from ..fact import Fact

Known = Mapping[Fact, Any]
Read = Callable[[Call, Known], Iterator[tuple[Fact, Any]]]


@cache
def readers() -> tuple[Read, ...]:
    """Return what reads each family of facts from a call, in their order."""
    names = (path.stem for path in Path(__file__).parent.glob("[!_]*.py"))
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    return tuple(module.read for module in sorted(modules, key=lambda module: module.ORDER))


def describe_for_region(call: Call) -> dict[Fact, Any]:
    """Return the facts of a call: sizes, options, equal sizes, what the arrays hold, and the place among the calls."""
    facts: dict[Fact, Any] = {}
    for read in readers():
        facts.update(read(call, facts))
    return facts
