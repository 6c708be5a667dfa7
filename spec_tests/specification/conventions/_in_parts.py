"""A convention that changes an equation through an equation that it is made of."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import wraps
from typing import Any

from ..changed_names import change_names
from ._convention import Equation


def change_part(operation: str, part: str, change: Callable[[Equation], Equation]) -> Callable[[Equation], Equation]:
    """Return the change of an equation that calls the equation `part`: while it runs, it calls the changed one."""

    def change_whole(equation: Equation) -> Equation:
        @wraps(equation)
        def changed(*arrays: Any, **options: Any) -> Any:
            namespace = vars(importlib.import_module(f"reference_numpy.{operation}"))
            with change_names([namespace], part, change(namespace[part])):
                return equation(*arrays, **options)

        return changed

    return change_whole
