"""Triton kernels for the operations that are usually written as one: a row or a block of queries for each program.

16-bit numbers are computed in float32, float64 in float64, and rounded once where they are stored.
"""

import torch
import torch.nn.functional as F
import triton
import triton.language as tl

from ._torch_cuda_settings import GPU
from ._triton_formats import *
from ._triton_serving import *

framework = "torch"
device = "cuda"
version = ", ".join([f"triton {triton.__version__}, torch {torch.__version__}", *GPU])
conventions = {"causal_alignment": "bottom-right", "fully_masked_rows": "zero", "lse_base": "e"}
HEADS = {"d_k": range(1, 257), "d_v": range(1, 257), "dtype": ("float32", "bfloat16", "float16")}
domain = FORMATS | {"merge_attention_states": {"dtype": HEADS["dtype"]}} | dict.fromkeys(
    (
        "scaled_dot_product_attention", "grouped_query_attention", "attention_with_lse", "attention_with_kv_cache",
        "paged_attention", "variable_length_attention",
    ),
    HEADS,
)  # fmt: skip

ROWS, COLUMNS = 4, 1024


@triton.jit
def _places(count, n, rows: tl.constexpr, block: tl.constexpr):
    """Where the rows of this program begin, which of them there are, and a block of columns."""
    i = tl.program_id(0) * rows + tl.arange(0, rows)[:, None]
    return i.to(tl.int64) * n, i < count, tl.arange(0, block)[None, :]


@triton.jit
def _softmax(x, y, count, n, wide: tl.constexpr, rows: tl.constexpr, block: tl.constexpr):
    row, there, columns = _places(count, n, rows, block)
    top, total = tl.full((rows, 1), float("-inf"), wide), tl.full((rows, 1), 0.0, wide)
    for start in range(0, n, block):
        at = start + columns
        v = tl.load(x + row + at, mask=there & (at < n), other=float("-inf")).to(wide)
        higher = tl.maximum(top, tl.max(v, axis=1, keep_dims=True))
        shift = tl.where(higher == float("-inf"), 0.0, higher)  # nothing seen yet but -inf
        total = total * tl.exp(top - shift) + tl.sum(tl.exp(v - shift), axis=1, keep_dims=True)
        top = higher
    for start in range(0, n, block):
        at = start + columns
        v = tl.load(x + row + at, mask=there & (at < n), other=0.0).to(wide)
        tl.store(y + row + at, (tl.exp(v - top) / total).to(y.dtype.element_ty), mask=there & (at < n))


@triton.jit
def _norm(
    x, weight, bias, eps, y, count, n,
    centred: tl.constexpr, wide: tl.constexpr, rows: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    row, there, columns = _places(count, n, rows, block)
    mean, squares = tl.full((rows, 1), 0.0, wide), tl.full((rows, 1), 0.0, wide)
    if centred:
        for start in range(0, n, block):
            at = start + columns
            v = tl.load(x + row + at, mask=there & (at < n), other=0.0).to(wide)
            mean += tl.sum(v, axis=1, keep_dims=True)
        mean /= n
    for start in range(0, n, block):
        at = start + columns
        v = tl.load(x + row + at, mask=there & (at < n), other=0.0).to(wide) - mean
        squares += tl.sum(tl.where(at < n, v * v, 0.0), axis=1, keep_dims=True)
    root = tl.sqrt(squares / n + tl.load(eps).to(wide))
    for start in range(0, n, block):
        at = start + columns
        v = tl.load(x + row + at, mask=there & (at < n), other=0.0).to(wide) - mean
        v = v / root * tl.load(weight + at, mask=at < n, other=0.0).to(wide)
        if centred:
            v += tl.load(bias + at, mask=at < n, other=0.0).to(wide)
        tl.store(y + row + at, v.to(y.dtype.element_ty), mask=there & (at < n))


@triton.jit
def _rope(
    x, positions, frequencies, y, count, d,
    interleaved: tl.constexpr, wide: tl.constexpr, rows: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    row, there, k = _places(count, d, rows, block)
    inside = there & (k < d // 2)
    first = row + (2 * k if interleaved else k)
    second = first + (1 if interleaved else d // 2)
    frequency = tl.load(frequencies + k, mask=k < d // 2, other=0.0).to(wide)
    angle = tl.load(positions + row // d, mask=there, other=0).to(wide) * frequency
    cos, sin = tl.cos(angle), tl.sin(angle)
    a = tl.load(x + first, mask=inside, other=0.0).to(wide)
    b = tl.load(x + second, mask=inside, other=0.0).to(wide)
    tl.store(y + first, (a * cos - b * sin).to(y.dtype.element_ty), mask=inside)
    tl.store(y + second, (a * sin + b * cos).to(y.dtype.element_ty), mask=inside)


@triton.jit
def _gate(gate, signal, y, count, n, wide: tl.constexpr, rows: tl.constexpr, block: tl.constexpr):
    row, there, columns = _places(count, n, rows, block)
    for start in range(0, n, block):
        at, inside = row + start + columns, there & (start + columns < n)
        a, b = tl.load(gate + at, mask=inside, other=0.0).to(wide), tl.load(signal + at, mask=inside, other=0.0).to(wide)
        tl.store(y + at, (a / (1 + tl.exp(-a)) * b).to(y.dtype.element_ty), mask=inside)


def _launch(kernel, x, *arguments, block=0, **options):
    """The kernel on the rows of x, the last of the arrays being the result; not at all where there is nothing to do."""
    arrays = [x, *(a for a in arguments if isinstance(a, torch.Tensor))]
    numbers = [a for a in arguments if not isinstance(a, torch.Tensor)]
    y, n = torch.empty_like(x), x.shape[-1]
    if x.numel():
        count, wide = x.numel() // n, tl.float64 if x.dtype is torch.float64 else tl.float32
        block = min(triton.next_power_of_2(block or n), COLUMNS)
        kernel[(triton.cdiv(count, ROWS),)](*arrays, y, count, n, *numbers, **options, wide=wide, rows=ROWS, block=block)
    return y


def _make_array(number, x):
    """The number in float64 on the device of x, since Triton passes a float argument in 32 bits."""
    return torch.full((1,), number, dtype=torch.float64, device=x.device)


def softmax(x, *, axis):
    return _launch(_softmax, x.movedim(axis, -1).contiguous()).movedim(-1, axis)


def rms_norm(x, weight, *, eps):
    return _launch(_norm, x.contiguous(), weight.contiguous(), weight, _make_array(eps, x), centred=False)


def layer_norm(x, weight, bias, *, eps):
    return _launch(_norm, x.contiguous(), weight.contiguous(), bias.contiguous(), _make_array(eps, x), centred=True)


def rope(x, positions, *, theta=10000.0, layout="interleaved"):
    positions, d = positions.expand(x.shape[:-1]).contiguous(), x.shape[-1]
    frequencies = _make_array(theta, x) ** (-torch.arange(0, d, 2, dtype=torch.float64, device=x.device) / d)
    return _launch(_rope, x.contiguous(), positions, frequencies, block=d // 2, interleaved=layout == "interleaved")


def swiglu(x, w1, w2, w3):
    return F.linear(_launch(_gate, F.linear(x, w1), F.linear(x, w3)), w2)
