"""The call that used most of the allowed error, in so few words that a report can keep them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .bounded import Bounded
from .tree import leaves

if TYPE_CHECKING:
    from .operation import Result


def in_short(result: Result, share: np.ndarray, precision: str) -> dict[str, Any]:
    """Which arguments, and at which element: what was expected, what came, and the allowed distance."""
    call, expectation = result.call, result.call.expectation(precision)
    at = np.unravel_index(int(np.argmax(share)), share.shape)
    return {
        "share": float(share[at]),
        "arguments": {
            f"{name}{path}": _argument(x) for name, value in call.named.items() if name != "wrt" for path, x in leaves(value)
        },
        "at": call.operation.place(call, at),
        "expected": float(expectation.value[at]),
        "got": float(result.value[at]),
        "bound": float(expectation.radius[at]),
    }


def _argument(x: Any) -> Any:
    """Of an array its shape and how small and large its numbers are."""
    x = x.value if isinstance(x, Bounded) else x
    if not isinstance(x, np.ndarray):
        return x.item() if isinstance(x, np.generic) else x
    told: dict[str, Any] = {"shape": list(x.shape)}
    if x.dtype.kind == "f":
        sizes = np.abs(x[np.isfinite(x) & (x != 0)])
        told |= {"least": float(sizes.min()), "largest": float(sizes.max())} if sizes.size else {}
        told |= {"not finite": int(np.sum(~np.isfinite(x)))} if not np.all(np.isfinite(x)) else {}
    return told
