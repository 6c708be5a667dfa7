"""The base of the logarithm that an lse is: e, or 2 where kernels compute with powers of two."""

from __future__ import annotations

import math
from functools import wraps
from typing import Any

import numpy as np

from ._convention import Convention, Equation, Value

BITS_OF_A_NAT, NATS_OF_A_BIT = 1 / math.log(2), math.log(2)


def _mark(name: str, x: Any, *others: Any) -> Any:
    """Return x, marked by this method where its number type has the mark: see `reference_numpy/_marks.py`."""
    return getattr(x, name)(*others) if hasattr(x, name) else x


def _finite_or_zero(x: Any) -> Any:
    return x.finite_or_zero() if hasattr(x, "finite_or_zero") else np.where(np.isfinite(x), x, 0.0)


def _return_bits(equation: Equation) -> Equation:
    """Return the attention whose lse is in bits. The conversion multiplies by a rounded constant."""

    @wraps(equation)
    def attention(*arguments: Any, **options: Any) -> Any:
        out, lse = equation(*arguments, **options)
        return out, _mark("in_bits", lse) * BITS_OF_A_NAT

    return attention


def _return_gradients_of_bits(equation: Equation) -> Equation:
    """Return the gradients of that attention. A cotangent of bits is so many times one of nats."""

    @wraps(equation)
    def gradients(cotangent: Any, *arguments: Any, **options: Any) -> Any:
        return equation(_in_nats(cotangent), *arguments, **options)

    return gradients


def _in_nats(cotangent: Any) -> tuple[Any, Any]:
    c, g = cotangent
    return c, None if g is None else g * BITS_OF_A_NAT


def _shift(lse_a: Any, lse_b: Any) -> tuple[Any, Any, Any]:
    """Return the larger lse, and how far each is below it in nats.

    Code subtracts before it exponentiates, so that no rounding is as large as the lse themselves.
    """
    top = _mark("exact", _finite_or_zero(np.maximum(lse_a, lse_b)))
    return top, (lse_a - top) * NATS_OF_A_BIT, (lse_b - top) * NATS_OF_A_BIT


def _merge_bits(equation: Equation) -> Equation:
    """Return the merge of states whose lse are in bits. A shift of both lse leaves out, and is added to the merged one."""

    @wraps(equation)
    def merge(out_a: Any, lse_a: Any, out_b: Any, lse_b: Any, **options: Any) -> Any:
        top, below_a, below_b = _shift(lse_a, lse_b)
        out, lse = equation(out_a, below_a, out_b, below_b, **options)
        return out, _mark("interpolated", top + lse * BITS_OF_A_NAT, _finite_or_zero(lse_a), _finite_or_zero(lse_b))

    return merge


def _merge_gradients_of_bits(equation: Equation) -> Equation:
    """Return the gradients of that merge."""

    @wraps(equation)
    def gradients(cotangent: Any, out_a: Any, lse_a: Any, out_b: Any, lse_b: Any, **options: Any) -> Any:
        _, below_a, below_b = _shift(lse_a, lse_b)
        d_a, s_a, d_b, s_b = equation(_in_nats(cotangent), out_a, below_a, out_b, below_b, **options)
        return d_a, s_a * NATS_OF_A_BIT, d_b, s_b * NATS_OF_A_BIT

    return gradients


CONVENTION = Convention(
    "lse_base",
    "which base the logarithm of the softmax's denominator has",
    ("attention_with_lse", "latent_attention", "latent_attention_absorbed", "merge_attention_states", "sparse_attention"),
    {
        "e": Value("natural, in nats", lambda equation: equation),
        "2": Value(
            "to the base 2, in bits",
            _return_bits,
            elsewhere={
                **dict.fromkeys(
                    ("attention_with_lse_vjp", "latent_attention_vjp", "latent_attention_absorbed_vjp", "sparse_attention_vjp"),
                    _return_gradients_of_bits,
                ),
                "merge_attention_states": _merge_bits,
                "merge_attention_states_vjp": _merge_gradients_of_bits,
            },
        ),
    },
    lambda named, settled: True,
    is_closed=True,
    in_pytorch="e",
    decides_every_call=True,
)
