"""Faults of kernels that depend on memory, work under way, chance or few bits, and the sentence that would be right for each.

They are played on PyTorch's tensors on the CPU, and on the fake device where streams matter. The sentences were written before
the suite was run on any of them. `says` are texts that the sentences of a run must hold.
"""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

import torch

from spec_tests.implementation.backend import Backend, build_backend
from spec_tests.specification.registry import operations

from .fake_device import NAME, fake

BITS = {"TF32": 10, "bfloat16": 7, "float16": 10}  # of the fraction
DEVICE = f"{NAME}:1"
LOST = f"{NAME}:4"  # whose context a fault loses, to the end of the process


@dataclass(frozen=True)
class DeviceFault:
    """A fault: the operation that has it, and what its sentence must say."""

    operation: str
    says: tuple[str, ...]
    function: Callable[..., Any]
    device: str | None
    dtypes: tuple[str, ...]

    def backend(self) -> Backend:
        source = SimpleNamespace(framework="torch", dtypes=self.dtypes, device=self.device, **{self.operation: self.function})
        return build_backend(source, set(operations()))


FAULTS: dict[str, DeviceFault] = {}


def fault(
    operation: str, *says: str, device: str | None = None, dtypes: tuple[str, ...] = ("float32",)
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the decorator of a function that is a faulty kernel of the operation."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        FAULTS[function.__name__] = DeviceFault(operation, says, function, device, dtypes)
        return function

    return decorate


# --- memory that nothing was written to -----------------------------------------------------------------------------------


@fault("relu", "returns memory that nothing was written to")
def nothing_written(x: Any) -> Any:
    return torch.empty_like(x)


@fault("sigmoid", "never written", "whole blocks of 4")
def tail_of_vectors_unwritten(x: Any) -> Any:
    y, full = torch.empty_like(x, memory_format=torch.contiguous_format), x.numel() // 4 * 4
    y.view(-1)[:full] = torch.sigmoid(x.reshape(-1)[:full])
    return y


@fault("softmax", "never written")
def last_row_unwritten(x: Any, *, axis: int) -> Any:
    y, right = torch.empty_like(x, memory_format=torch.contiguous_format), torch.softmax(x, axis)
    rows = y.view(-1, y.shape[-1]) if y.numel() else y
    rows[:-1] = right.reshape(rows.shape)[:-1]
    return y


@fault("silu", "added to what free memory held")
def added_to_free_memory(x: Any) -> Any:
    return torch.empty_like(x).add_(torch.nn.functional.silu(x))


@fault("linear", "added to what free memory held")
def split_sums_not_zeroed(x: Any, weight: Any, bias: Any = None) -> Any:
    y = torch.empty((*x.shape[:-1], weight.shape[0]), dtype=x.dtype)
    half = weight.shape[1] // 2
    for part in (slice(0, half), slice(half, None)):
        y += x[..., part] @ weight[:, part].T
    return y if bias is None else y + bias


def pad_rows(x: Any, block: int) -> Any:
    """Return the rows of x in wider rows of free memory."""
    wide = torch.empty((*x.shape[:-1], -(-x.shape[-1] // block) * block), dtype=x.dtype)
    wide[..., : x.shape[-1]] = x
    return wide


@fault("rms_norm", "depends on what free memory holds")
def padding_counts_in_the_mean(x: Any, weight: Any, *, eps: float) -> Any:
    mean = pad_rows(x * x, 8).sum(-1, keepdim=True) / x.shape[-1]
    return x * torch.rsqrt(mean + eps) * weight


@fault("layer_norm", "depends on what free memory holds")
def padding_counts_in_the_variance(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    centred = x - x.mean(-1, keepdim=True)
    variance = pad_rows(centred * centred, 16).sum(-1, keepdim=True) / x.shape[-1]
    return centred * torch.rsqrt(variance + eps) * weight + bias


@fault("relu", "depends on what free memory holds")
def neighbour_of_a_short_buffer(x: Any) -> Any:
    flat = pad_rows(x.reshape(-1), 32)
    return torch.relu(x) + 1e-3 * flat[-1:].reshape([1] * x.ndim) if x.numel() % 32 and x.ndim else torch.relu(x)


def right_gelu(x: Any, approximate: str) -> Any:
    """Return what gelu must give. PyTorch's own loses digits where its result is small."""
    x = x.clamp(min=torch.finfo(x.dtype).min)
    if approximate == "none":
        return x * (torch.erfc(-x / math.sqrt(2)) / 2)
    u = x.clamp(-30, 30)
    return x * torch.sigmoid(math.sqrt(8 / math.pi) * (u + 0.044715 * u**3))


# --- streams --------------------------------------------------------------------------------------------------------------


@fault("gelu", "right when all work on the device is waited for", device=DEVICE)
def result_not_joined(x: Any, *, approximate: str = "none") -> Any:
    stream = fake.Stream(x.device)
    stream.wait_stream(fake.current_stream(x.device))
    with fake.stream(stream):
        return right_gelu(x, approximate)


@fault("layer_norm", "right when all work on the device is waited for", device=DEVICE)
def last_step_not_joined(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    y = torch.nn.functional.layer_norm(x, x.shape[-1:], weight, None, eps)
    stream = fake.Stream(x.device)
    stream.wait_stream(fake.current_stream(x.device))
    with fake.stream(stream):
        return y + bias


def run_beside(x: Any, kernel: Callable[[], Any]) -> Any:
    """Run a kernel on another stream, which waits for nothing, and join it."""
    stream = fake.Stream(x.device)
    with fake.stream(stream):
        y = kernel()
    fake.current_stream(x.device).wait_stream(stream)
    return y


@fault("sigmoid", "reads an input before the work that makes it has ended", device=DEVICE)
def input_read_too_early(x: Any) -> Any:
    return run_beside(x, lambda: torch.sigmoid(x))


@fault("linear", "reads an input before the work that makes it has ended", device=DEVICE)
def weight_read_too_early(x: Any, weight: Any, bias: Any = None) -> Any:
    prepared = run_beside(x, lambda: weight.T.contiguous())
    y = x @ prepared
    return y if bias is None else y + bias


# --- chance ---------------------------------------------------------------------------------------------------------------

CHANCE = random.Random(5)


@fault("softmax", "the same call has several answers", "repeats are wrong")
def one_sum_in_three_misses_a_term(x: Any, *, axis: int) -> Any:
    e = torch.exp(x - x.amax(axis, keepdim=True))
    total = e.sum(axis, keepdim=True)
    if x.shape[axis] > 1 and CHANCE.random() < 0.4:
        total = total - e.select(axis, 0).unsqueeze(axis)
    return e / total


@fault("linear", "the same call has several answers", "repeats are wrong")
def half_of_the_launches_race(x: Any, weight: Any, bias: Any = None) -> Any:
    y = x @ weight.T
    y = y if bias is None else y + bias
    if y.numel() and CHANCE.random() < 0.5:
        y = y.clone()
        y.view(-1)[CHANCE.randrange(y.numel())] *= 0.5
    return y


@fault("embedding", "the result changes after it is returned")
def written_by_a_thread_that_nobody_joins(token_ids: Any, weight: Any) -> Any:
    y = torch.zeros((*token_ids.shape, weight.shape[-1]), dtype=weight.dtype)

    def write() -> None:
        time.sleep(0.02)
        with torch.inference_mode(y.is_inference()):
            y.copy_(weight[token_ids])

    threading.Thread(target=write).start()
    return y


# --- addresses ------------------------------------------------------------------------------------------------------------

KEPT: dict[Any, Any] = {}


@fault("silu", "keeps something by the address of x")
def answered_by_address(x: Any) -> Any:
    key = ("silu", x.data_ptr(), x.shape, x.stride())
    return KEPT.setdefault(key, torch.nn.functional.silu(x)).clone()


@fault("linear", "keeps something by the address of weight")
def weight_prepared_by_address(x: Any, weight: Any, bias: Any = None) -> Any:
    key = ("linear", weight.data_ptr(), weight.shape, weight.stride())
    y = x @ KEPT.setdefault(key, weight.T.clone())
    return y if bias is None else y + bias


@fault("rms_norm", "keeps something by the address of weight")
def gain_prepared_by_address(x: Any, weight: Any, *, eps: float) -> Any:
    key = ("rms_norm", weight.data_ptr(), weight.shape)
    return torch.nn.functional.rms_norm(x, x.shape[-1:], KEPT.setdefault(key, weight.clone()), eps)


# --- addresses that are no multiple of a vector's size --------------------------------------------------------------------


def is_aligned(x: Any, size: int) -> bool:
    return x.data_ptr() % size == 0


@fault("sigmoid", "where x does not begin at a multiple of 16 bytes")
def vectors_of_16_bytes(x: Any) -> Any:
    y = torch.sigmoid(x)
    return y if is_aligned(x, 16) else torch.roll(y.reshape(-1), 1).reshape(y.shape)


@fault("rms_norm", "where weight does not begin at a multiple of 8 bytes")
def gain_in_vectors_of_8_bytes(x: Any, weight: Any, *, eps: float) -> Any:
    gain = weight if is_aligned(weight, 8) else torch.zeros_like(weight)
    return torch.nn.functional.rms_norm(x, x.shape[-1:], gain, eps)


# --- places in the grid ---------------------------------------------------------------------------------------------------


def keep_where(right: Any, kept: Any, other: float = 0.0) -> Any:
    """Return the elements at flat places of which `kept` is true; the others are `other`."""
    places = torch.arange(right.numel()).reshape(right.shape)
    return torch.where(kept(places), right, torch.full_like(right, other))


@fault("gelu", "the last elements of the result in memory, after whole blocks of 8")
def tail_of_vectors_zero(x: Any, *, approximate: str = "none") -> Any:
    return keep_where(right_gelu(x, approximate), lambda i: i < x.numel() // 8 * 8)


@fault("sigmoid", "elements of the result from the 32nd on in memory")
def one_block_of_32_launched(x: Any) -> Any:
    return keep_where(torch.sigmoid(x), lambda i: i < 32)


@fault("silu", "elements of the result from the 16th on in memory")
def later_blocks_read_the_first(x: Any) -> Any:
    flat = torch.nn.functional.silu(x).reshape(-1)
    return flat[torch.arange(flat.numel()) % 16].reshape(x.shape) if flat.numel() else flat.reshape(x.shape)


# --- precision ------------------------------------------------------------------------------------------------------------


def cut(x: Any, bits: int) -> Any:
    """Return float32 numbers with the last bits of their fraction set to 0."""
    return (x.contiguous().view(torch.int32) & -(1 << (23 - bits))).view(torch.float32)


def round_away(x: Any, bits: int) -> Any:
    """Return float32 numbers rounded to so many bits of the fraction, ties away from zero."""
    return cut((x.contiguous().view(torch.int32) + (1 << (22 - bits))).view(torch.float32), bits)


def multiply(a: Any, b: Any, narrow: Callable[[Any], Any]) -> Any:
    return narrow(a.float()) @ narrow(b.float())


def linear_with(narrow: Callable[[Any], Any], x: Any, weight: Any, bias: Any = None) -> Any:
    y = multiply(x, weight.T, narrow)
    return y if bias is None else y + bias


@fault("linear", "TF32", "cut off")
def tf32_cut(x: Any, weight: Any, bias: Any = None) -> Any:
    return linear_with(partial(cut, bits=BITS["TF32"]), x, weight, bias)


@fault("linear", "TF32", "ties away from zero")
def tf32_away(x: Any, weight: Any, bias: Any = None) -> Any:
    return linear_with(partial(round_away, bits=BITS["TF32"]), x, weight, bias)


@fault("linear", "bfloat16", "cut off")
def bfloat16_cut(x: Any, weight: Any, bias: Any = None) -> Any:
    return linear_with(partial(cut, bits=BITS["bfloat16"]), x, weight, bias)


@fault("linear", "float16")
def float16_to_even(x: Any, weight: Any, bias: Any = None) -> Any:
    return linear_with(lambda x: x.half().float(), x, weight, bias)


def swiglu_with(narrow: Callable[[Any], Any], x: Any, w1: Any, w2: Any, w3: Any) -> Any:
    gate, up = multiply(x, w1.T, narrow), multiply(x, w3.T, narrow)
    return multiply(torch.nn.functional.silu(gate) * up, w2.T, narrow)


@fault("swiglu", "every matrix product", "TF32", "cut off")
def every_product_cut(x: Any, w1: Any, w2: Any, w3: Any) -> Any:
    return swiglu_with(partial(cut, bits=BITS["TF32"]), x, w1, w2, w3)


@fault("swiglu", "every matrix product", "bfloat16", "ties away from zero")
def every_product_away(x: Any, w1: Any, w2: Any, w3: Any) -> Any:
    return swiglu_with(partial(round_away, bits=BITS["bfloat16"]), x, w1, w2, w3)


@fault("linear", "float16", "sum", dtypes=("float16",))
def accumulated_in_float16(x: Any, weight: Any, bias: Any = None) -> Any:
    y = torch.zeros((*x.shape[:-1], weight.shape[0]), dtype=x.dtype)
    for i in range(x.shape[-1]):
        y = y + x[..., i : i + 1] * weight[:, i]
    return y if bias is None else y + bias


@fault("sigmoid", "of 24 bits are right everywhere: an approximate function")
def exponential_of_few_bits(x: Any) -> Any:
    return 1 / (1 + cut(torch.exp(-x), 11))


@fault("silu", "of 24 bits are right everywhere: an approximate function")
def reciprocal_of_few_bits(x: Any) -> Any:
    return x * cut(1 / (1 + torch.exp(-x)), 10)


@fault("logsumexp", "of 24 bits are right everywhere: an approximate function")
def logarithm_of_few_bits(x: Any, *, axis: int) -> Any:
    largest = x.amax(axis, keepdim=True)
    total = torch.log2(torch.exp(x - largest).sum(axis)) * 0.6931
    return largest.squeeze(axis) + total


@fault("scaled_dot_product_attention", "only from m = 17 on")
def scaled_for_long_rows(q: Any, k: Any, v: Any, mask: Any = None, *, is_causal: bool, scale: float | None = None) -> Any:
    n, m = q.shape[-2], k.shape[-2]
    if is_causal:
        causal = torch.ones(n, m, dtype=torch.bool).tril(m - n)
        mask = causal if mask is None else causal & mask
    mask = mask if mask is None else torch.atleast_2d(mask)
    y = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale)
    return y if m < 17 else y * 1.01


@fault("layer_norm", "only from d = 9 on")
def few_bits_in_wide_rows(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    y = torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias, eps)
    return y if x.shape[-1] < 9 else y + 0.003 * torch.sin(37 * x)


# --- calls without an answer, and calls that need earlier ones ------------------------------------------------------------


@fault("silu", "invalid configuration argument")
def launch_refused_for_wide_rows(x: Any) -> Any:
    if x.ndim and x.shape[-1] > 8:
        raise RuntimeError("CUDA error: invalid configuration argument")
    return torch.nn.functional.silu(x)


@fault("sigmoid", "illegal memory access", device=LOST)
def written_beyond_its_memory(x: Any) -> Any:
    return fake.launch_out_of_bounds(x) if x.numel() > 20 else torch.sigmoid(x)


@fault("sigmoid", "wider")
def workspace_of_the_widest_call(x: Any) -> Any:
    width = x.shape[-1] if x.ndim else 0
    widest = KEPT["width"] = max(width, KEPT.get("width", 0))
    y = torch.sigmoid(x).clone()
    if 0 < width < widest:
        y[..., -1] = 0
    return y


@fault("gelu", "the same call has several answers", "repeats are wrong")
def every_fifth_call_is_lost(x: Any, *, approximate: str = "none") -> Any:
    KEPT["calls"] = KEPT.get("calls", 0) + 1
    y = right_gelu(x, approximate)
    return y if KEPT["calls"] % 5 else torch.zeros_like(y)
