"""Whether the sum that add_rms_norm returns is normalized as it is stored, or before it is rounded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._convention import Convention, Value
from ._in_parts import change_part


def _store(_: Callable[..., Any]) -> Callable[..., Any]:
    """Return a mark that rounds the sum to the dtype of the arguments, in place of one that only allows it."""
    return lambda total: total.held(total.arithmetic.storage) if hasattr(total, "held") else total


def _keep(_: Callable[..., Any]) -> Callable[..., Any]:
    """Return a mark that leaves the sum as it is."""
    return lambda total: total


CONVENTION = Convention(
    "residual_rounding",
    "whether the sum is normalized as it is stored, or before it is rounded to 16 bits",
    ("add_rms_norm",),
    {
        "rounded": Value("normalized as it is stored", change_part("add_rms_norm", "returned", _store), is_deliberate=False),
        "unrounded": Value(
            "normalized before it is rounded", change_part("add_rms_norm", "returned", _keep), is_deliberate=False
        ),
    },
    lambda named, settled: True,
    is_closed=False,
    dtypes=("bfloat16", "float16"),
    is_allowed=True,
)
