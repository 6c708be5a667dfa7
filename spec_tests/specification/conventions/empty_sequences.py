"""Whether a sequence of which no token counts is one of the sequences that a loss is averaged over."""

from __future__ import annotations

import inspect
from functools import wraps
from typing import Any

import numpy as np

from ._convention import Convention, Equation, Value

BY_SEQUENCE = ("seq-mean-token-mean", "seq-mean-token-sum", "constant")


def _has_empty_sequence(named: dict[str, Any], settled: dict[str, str]) -> bool:
    counts = np.any(np.asarray(named["mask"]), axis=-1)
    return named.get("reduction", "token-mean") in BY_SEQUENCE and not bool(np.all(counts))


def _leave_out(equation: Equation) -> Equation:
    """Return the equation on the sequences of which some token counts. The gradient of the others is 0."""
    names = tuple(inspect.signature(equation).parameters)

    @wraps(equation)
    def without(*arguments: Any, **options: Any) -> Any:
        named = {**dict(zip(names, arguments, strict=False)), **options}
        if not _has_empty_sequence(named, {}):
            return equation(*arguments, **options)
        counts = np.any(np.asarray(named["mask"]), axis=-1)
        y = equation(
            **{name: x[counts] if name != "cotangent" and len(getattr(x, "shape", ())) else x for name, x in named.items()}
        )
        if not isinstance(y, tuple):
            return y
        if not counts.any():
            return named["log_probs"] * 0.0, *y[1:]
        return np.where(counts[:, None], np.take(y[0], np.maximum(np.cumsum(counts) - 1, 0), axis=0), 0.0), *y[1:]

    return without


CONVENTION = Convention(
    "empty_sequences",
    "whether a sequence of which no token counts is one of the sequences that the loss is averaged over",
    ("policy_loss",),
    {
        "counted": Value("it is, and adds 0", lambda equation: equation),
        "excluded": Value("it is not", _leave_out),
    },
    _has_empty_sequence,
    is_closed=True,
    decides_every_call=True,
)
