"""Fix the last arguments of a rule, so that one rule serves many blocks, sizes and numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def bound(rule: Callable[..., Any], *values: Any) -> Callable[..., Any]:
    """Return the rule with these values as its last arguments."""
    return lambda *arguments: rule(*arguments, *values)
