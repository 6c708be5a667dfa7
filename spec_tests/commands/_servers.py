"""What the subcommands about servers share."""

from __future__ import annotations

import difflib
from collections.abc import Sequence


def find_complaint(names: Sequence[str]) -> str:
    """Return a sentence about the first name that is no operation and no gradient, "" if there is none."""
    from ..specification.registry import gradients, operations

    known = (*operations(), *gradients())
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3)
            hint = f"did you mean {' or '.join(near)}?" if near else "spec-tests list operations prints all"
            return f"there is no operation {name!r}; {hint}"
    return ""
