"""What these kernels share: tensors on a GPU or, with TRITON_INTERPRET=1, on the CPU, in the interpreter of Triton."""

import math
import os

import torch  # noqa: F401 (for the kernels)
import triton
import triton.language as tl

framework = "torch"
dtypes = ("float32",)
interpreted = os.environ.get("TRITON_INTERPRET") == "1"
device = "cpu" if interpreted else "cuda"
LOG2_E = tl.constexpr(math.log2(math.e))
LN_2 = tl.constexpr(math.log(2))


def as_rows(x):
    return x.contiguous().reshape(math.prod(x.shape[:-1]), x.shape[-1])


def block_for(n):
    return max(triton.next_power_of_2(n), 1)


def over_axis(function, x, axis):
    """Apply a function of rows along an axis. A result of one number for each row drops the axis."""
    moved = x.movedim(axis, -1)
    y = function(as_rows(moved))
    return y.reshape(moved.shape).movedim(-1, axis) if y.ndim == 2 else y.reshape(moved.shape[:-1])


def limit_sizes(operation, **sizes):
    """Return the domain of an operation: in the interpreter, where a program takes milliseconds, few and short rows."""
    limits = {size: range(1, most + 1) for size, most in sizes.items()} | {"batch_dims": range(2)}
    return {operation: limits} if interpreted else {}
