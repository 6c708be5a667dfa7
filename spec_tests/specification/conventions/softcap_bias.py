"""Whether a softcap caps the scores with their bias, or the bias is added to capped scores."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from ._convention import Convention, Equation, Value


def _has_both(named: dict[str, Any], settled: dict[str, str]) -> bool:
    return named.get("softcap") is not None and named.get("bias") is not None


def _eager(x: Any) -> Any:
    """Return x, marked as an operand that unfused code may store: see `reference_numpy/_marks.py`."""
    return x.eager() if hasattr(x, "eager") else x


def _combine(*, bias_is_capped: bool) -> Callable[[Equation], Equation]:
    """Return the change that allows both, in an equation that raises ValueError where both are given.

    The capped scores with their bias are the bias of queries of zeros, which have no other scores.
    """

    def change(equation: Equation) -> Equation:
        @wraps(equation)
        def capped(q: Any, k: Any, v: Any, mask: Any = None, bias: Any = None, *, softcap: Any = None, **options: Any) -> Any:
            given = {**options, **({} if mask is None else {"mask": mask})}
            if softcap is None or bias is None:
                given |= {name: x for name, x in (("bias", bias), ("softcap", softcap)) if x is not None}
                return equation(q, k, v, **given)
            scale = options.get("scale")
            scale = 1 / np.sqrt(q.shape[-1]) if scale is None else scale
            scores = np.matmul(_eager(q), np.swapaxes(_eager(k), -1, -2)) * scale
            scores = scores + bias if bias_is_capped else scores
            scores = np.tanh(scores / softcap) * softcap
            scores = scores if bias_is_capped else scores + bias
            return equation(0.0 * q, k, v, bias=scores, **given)

        return capped

    return change


CONVENTION = Convention(
    "softcap_bias",
    "whether a bias is added to the scores before or after they are capped",
    ("scaled_dot_product_attention",),
    {
        "after": Value("added to capped scores: c tanh(s / c) + bias", _combine(bias_is_capped=False)),
        "before": Value("capped with the scores: c tanh((s + bias) / c)", _combine(bias_is_capped=True)),
    },
    _has_both,
    is_closed=True,
)
