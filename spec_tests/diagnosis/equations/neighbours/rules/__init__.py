"""The rules that make neighbours of an equation, one idea a file. A file is registered by its presence."""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path

from ._rule import RULES, Rule


@cache
def rules() -> tuple[Rule, ...]:
    """Return all rules, the cheapest first."""
    for path in sorted(Path(__file__).parent.glob("[!_]*.py")):
        importlib.import_module(f"{__name__}.{path.stem}")
    return tuple(sorted(RULES.values(), key=lambda rule: rule.cost))
