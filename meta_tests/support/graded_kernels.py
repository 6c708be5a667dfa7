"""Kernels of five operations, each with the grade that a person would give it: trivial, an attempt, or right."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

TRIVIAL, ATTEMPT, RIGHT = range(3)
GRADES = ("trivial", "attempt", "right")
START = """import numpy as np
from math import erf

framework = "numpy"
dtypes = ("float32",)

def norm(x, weight, eps):
    h = x.astype(np.float64)
    return (h / np.sqrt(np.mean(h * h, -1, keepdims=True) + eps) * weight).astype(x.dtype)


def shares(x, axis=-1):
    with np.errstate(all="ignore"):
        e = np.exp(x - np.max(x, axis=axis, keepdims=True))
        return e / np.sum(e, axis=axis, keepdims=True)


def attend(q, k, v, mask=None, bias=None, is_causal=False, scale=None, softcap=None, dtype=np.float64, offset=0):
    q, k, v = (a.astype(dtype) for a in (q, k, v))
    s = q @ np.swapaxes(k, -1, -2) * dtype(k.shape[-1] ** -0.5 if scale is None else scale)
    s = s if softcap is None else softcap * np.tanh(s / softcap)
    s = s if bias is None else s + bias
    tri = np.tri(q.shape[-2], k.shape[-2], k=offset, dtype=bool)
    for seen in (mask, tri if is_causal else None):
        s = s if seen is None else np.where(seen, s, -np.inf)
    with np.errstate(all="ignore"):
        top = np.max(s, axis=-1, keepdims=True)
        e = np.exp(s - np.where(np.isfinite(top), top, 0))
        total = np.sum(e, axis=-1, keepdims=True)
        return (np.where(total > 0, e / np.where(total > 0, total, 1), 0) @ v).astype(np.float32)


def bell(x):
    return (x * 0.5 * (1 + np.vectorize(erf, otypes=[np.float64])(x.astype(np.float64) / np.sqrt(2)))).astype(x.dtype)


def tanh_bell(x):
    h = x.astype(np.float64)
    return (h * (0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (h + 0.044715 * h**3))))).astype(x.dtype)


def turn(x, positions, theta=10000.0, layout="interleaved", sign=1.0, shift=0):
    d = x.shape[-1]
    pairs = (slice(0, d, 2), slice(1, d, 2)) if layout == "interleaved" else (slice(0, d // 2), slice(d // 2, d))
    angle = (positions[..., None] + shift) * float(theta) ** (-np.arange(0, d, 2) / d)
    a, b = (x[..., pair].astype(np.float64) for pair in pairs)
    y = np.empty(np.broadcast_shapes(x.shape, angle.shape[:-1] + (d,)), np.float64)
    c, s = np.cos(angle), sign * np.sin(angle)
    y[..., pairs[0]], y[..., pairs[1]] = a * c - b * s, a * s + b * c
    return y.astype(x.dtype)


def refuse():
    raise NotImplementedError("not yet")
"""
SIGNATURES = {
    "rms_norm": "x, weight, *, eps",
    "softmax": "x, *, axis",
    "scaled_dot_product_attention": "q, k, v, mask=None, bias=None, *, is_causal=False, scale=None, softcap=None",
    "gelu": 'x, *, approximate="none"',
    "rope": 'x, positions, *, theta=10000.0, layout="interleaved"',
}
OPTIONS = "q, k, v, mask, bias, is_causal, scale, softcap"
VALUES = "np.resize(q, (*q.shape[:-1], v.shape[-1]))"  # an array of the result's shape
EXACT_OR_TANH = '(bell if approximate == "none" else tanh_bell)'
TRIVIAL_ANSWERS = {
    "zeros": "np.zeros_like({0})",
    "ones": "np.ones_like({0})",
    "a constant": "np.full_like({0}, 0.3)",
    "NaN": "np.full_like({0}, np.nan)",
    "a copy": "{0}.copy()",
    "a larger copy": "{0} * 2",
    "noise": "np.random.default_rng(1).normal(size={0}.shape).astype({0}.dtype)",
    "refuses": "refuse()",
    "refuses unless it is empty or zero": "refuse() if np.any({0}) else np.zeros_like({0})",
    "raises": "1 // 0",
}
OTHER_KERNELS = {
    "rms_norm": {
        "its weight": (TRIVIAL, "np.broadcast_to(weight, x.shape).copy()"),
        "a fixed eps": (ATTEMPT, "norm(x, weight, 1e-6)"),
        "eps outside of the root": (
            ATTEMPT,
            "(x / (np.sqrt(np.mean(np.square(x.astype(np.float64)), -1, keepdims=True)) + eps) * weight).astype(x.dtype)",
        ),
        "sums in float16": (
            ATTEMPT,
            "(x / np.sqrt(np.mean(np.square(x.astype(np.float16)), -1, keepdims=True).astype(np.float32) + np.float32(eps))"
            " * weight).astype(x.dtype)",
        ),
        "right in small calls alone": (ATTEMPT, "norm(x, weight, eps) if x.size < 100 else np.zeros_like(x)"),
        "no weight": (ATTEMPT, "norm(x, 1.0, eps)"),
        "right": (RIGHT, "norm(x, weight, eps)"),
    },
    "softmax": {
        "equal shares": (TRIVIAL, "np.full_like(x, 1 / max(x.shape[axis], 1))"),
        "always the last axis": (ATTEMPT, "shares(x)"),
        "no maximum is subtracted": (ATTEMPT, "np.exp(x) / np.sum(np.exp(x), axis=axis, keepdims=True)"),
        "in float16": (ATTEMPT, "shares(x.astype(np.float16), axis).astype(x.dtype)"),
        "right": (RIGHT, "shares(x, axis)"),
    },
    "scaled_dot_product_attention": {
        "a mean of v": (ATTEMPT, "np.broadcast_to(np.mean(v, -2, keepdims=True), (*q.shape[:-1], v.shape[-1])).copy()"),
        "no scale": (ATTEMPT, "attend(q, k, v, mask, bias, is_causal, 1.0, softcap)"),
        "its own mask is ignored": (ATTEMPT, "attend(q, k, v, None, bias, is_causal, scale, softcap)"),
        "a query sees one key ahead": (ATTEMPT, f"attend({OPTIONS}, offset=1)"),
        "right in small calls alone": (ATTEMPT, f"attend({OPTIONS}) if k.size < 200 else np.zeros_like({VALUES})"),
        "in float16": (ATTEMPT, f"attend({OPTIONS}, dtype=np.float16)"),
        "right": (RIGHT, f"attend({OPTIONS})"),
    },
    "gelu": {
        "always tanh": (ATTEMPT, "tanh_bell(x)"),
        "a logistic curve": (ATTEMPT, "(x / (1 + np.exp(-1.702 * x.astype(np.float64)))).astype(x.dtype)"),
        "in float16": (ATTEMPT, f"{EXACT_OR_TANH}(x.astype(np.float16)).astype(x.dtype)"),
        "right": (RIGHT, f"{EXACT_OR_TANH}(x)"),
    },
    "rope": {
        "turned the other way": (ATTEMPT, "turn(x, positions, theta, layout, sign=-1.0)"),
        "always one layout": (ATTEMPT, "turn(x, positions, theta)"),
        "a fixed theta": (ATTEMPT, "turn(x, positions, 10000.0, layout)"),
        "one position too far": (ATTEMPT, "turn(x, positions, theta, layout, shift=1)"),
        "right": (RIGHT, "turn(x, positions, theta, layout)"),
    },
}


@dataclass(frozen=True)
class Kernel:
    """A kernel of one operation, with its grade."""

    operation: str
    name: str
    grade: int
    source: str


def list_kernels() -> list[Kernel]:
    """Return all kernels, those of an operation together."""
    kernels = []
    for operation, signature in SIGNATURES.items():
        like = VALUES if operation == "scaled_dot_product_attention" else "x"
        bodies = {name: (TRIVIAL, body.format(like)) for name, body in TRIVIAL_ANSWERS.items()} | OTHER_KERNELS[operation]
        for name, (grade, body) in bodies.items():
            kernels.append(Kernel(operation, name, grade, f"{START}\n\ndef {operation}({signature}):\n    return {body}\n"))
    return kernels


def by_operation() -> dict[str, list[Kernel]]:
    """Return the kernels of each operation."""
    return {name: list(group) for name, group in groupby(list_kernels(), key=lambda kernel: kernel.operation)}
