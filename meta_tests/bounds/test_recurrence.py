"""Code of linear attention in chunks of any length stays within the bounds, and its gradients do; a bad inverse does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from reference_numpy.linear_attention import linear_attention
from reference_numpy.linear_attention_vjp import linear_attention_vjp
from spec_tests.bounds.bounded import Bounded
from spec_tests.specification.formats import FORMATS, Arithmetic

DECAYS: dict[str, Callable[[np.random.Generator, tuple[int, int]], np.ndarray]] = {
    "weak": lambda r, shape: -r.exponential(0.1, shape),
    "strong": lambda r, shape: -r.uniform(0.3, 20, shape),
    "erasing": lambda r, shape: -r.choice([0.0, 200.0, 0.5], shape),
    "strong, then weak": lambda r, shape: np.where(np.arange(shape[0])[:, None] < shape[0] // 2, -190.0, -0.3) * np.ones(shape),
}


class ToBfloat16(torch.autograd.Function):
    """An operand of a product in bfloat16, and its gradient."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.bfloat16().float()

    @staticmethod
    def backward(ctx: Any, c: Any) -> Any:
        return c.bfloat16().float()


class ToFloat16(torch.autograd.Function):
    """An operand of a product in float16, and its gradient: small numbers keep few digits, or none."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.half().float()

    @staticmethod
    def backward(ctx: Any, c: Any) -> Any:
        return c.half().float()


STORED: dict[str, Callable[[Any], Any]] = {"float32": lambda x: x, "bfloat16": ToBfloat16.apply, "float16": ToFloat16.apply}


def solve(lower: Any, rows: Any) -> Any:
    """Solve (I + lower) x = rows by substitution."""
    return torch.linalg.solve_triangular(torch.eye(len(lower)) + lower, rows, upper=False, unitriangular=True)


def double(lower: Any, rows: Any) -> Any:
    """Multiply by (I - lower) (I + lower²) (I + lower⁴) …, which is the same in exact arithmetic."""
    eye, power, inverse = torch.eye(len(lower)), lower, torch.eye(len(lower)) - lower
    for _ in range(6):
        power = power @ power
        inverse = inverse @ (eye + power)
    return inverse @ rows


def attend(arrays: Any, chunk: int, rounded: Callable[[Any], Any], solved: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    """Go through one head chunk by chunk, with a scale of 1."""
    q, k, v, g, beta, state = arrays
    outs = []
    for start in range(0, len(q), chunk):
        own = slice(start, start + chunk)
        total, keys = g[own].cumsum(0), k[own]
        later = torch.ones(len(keys), len(keys), dtype=torch.bool).tril()[:, :, None]
        decays = (total[:, None] - total[None]).masked_fill(~later, -torch.inf).exp()
        if g.shape[1] == 1:
            pairs, scores = ((rounded(x) @ rounded(keys).T) * decays[..., 0] for x in (keys, q[own]))
        else:
            pairs, scores = (torch.einsum("ic,jc,ijc->ij", rounded(x), rounded(keys), decays) for x in (keys, q[own]))
        since, rate, written = total.exp(), beta[own][:, None], v[own]
        written = solved((pairs * rate).tril(-1), (written - rounded(keys * since) @ rounded(state)) * rate)
        outs.append(rounded(q[own] * since) @ rounded(state) + rounded(scores) @ rounded(written))
        state = since[-1][:, None] * state + rounded(keys * (total[-1] - total).exp()).T @ rounded(written)
    return torch.cat(outs), state


def draw(seed: int, decays: str, dtype: str, d_g: int, top: float) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Draw the arrays of one head, and cotangents of out and of the state. Odd seeds repeat one key."""
    r, n, d_k, d_v = np.random.default_rng(seed), (15, 33, 64, 100)[seed % 4], 4, 3
    q, k, v = (r.standard_normal(shape) for shape in ((n, d_k), (n, d_k), (n, d_v)))
    k = k[:1] + 0.01 * k if seed % 2 else k
    k = FORMATS[dtype].round(k / np.linalg.norm(k, axis=1, keepdims=True))
    beta = np.minimum(top * r.random(n) ** 0.3, (1 - FORMATS[dtype].u) * top / np.sum(np.square(k), axis=1))
    g, state, of_state = (FORMATS["float32"].round(x) for x in (DECAYS[decays](r, (n, d_g)), *r.standard_normal((2, d_k, d_v))))
    of_out = r.standard_normal((n, d_v))
    q, v, beta, of_out = (FORMATS[dtype].round(x) for x in (q, v, beta, of_out))
    return [q, k, v, g, beta, state], [of_out, of_state]


def shares(
    seed: int,
    decays: str,
    dtype: str,
    d_g: int,
    chunk: int,
    solved: Callable[[Any, Any], Any],
    top: float = 1.0,
    size: float = 1.0,
) -> list[float]:
    """Return how much of the bound each result and each gradient uses. size: of queries, values, states and cotangents."""
    arrays, cotangents = draw(seed, decays, dtype, d_g, top)
    cotangents = [FORMATS[dtype].round(size * x) for x in cotangents]
    arrays = [FORMATS[dtype].round(size * x) if i in (0, 2, 5) and size != 1.0 else x for i, x in enumerate(arrays)]
    arithmetic = Arithmetic.of(dtype, "mixed")

    def bounded(xs: list[np.ndarray]) -> list[Bounded]:
        return [Bounded.input(x[None], arithmetic) for x in xs]

    tensors = [torch.tensor(x, dtype=torch.float32, requires_grad=True) for x in arrays]
    results = attend(tensors, chunk, STORED[dtype], solved)
    sum((x * torch.tensor(c, dtype=torch.float32)).sum() for x, c in zip(results, cotangents, strict=True)).backward()
    answers = [*(x.detach() for x in results), *(x.grad for x in tensors)]
    expected = linear_attention(*bounded(arrays), scale=1.0)
    expected = [*expected, *linear_attention_vjp(bounded(cotangents), *bounded(arrays), scale=1.0)[:-1]]
    return [
        float(np.max(np.abs(np.asarray(x) - bound.value[0]) / bound.error[0])) for x, bound in zip(answers, expected, strict=True)
    ]


@pytest.mark.rotating(one_in=4)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("d_g", [1, 4])
@pytest.mark.parametrize("decays", DECAYS)
@pytest.mark.parametrize("chunk", [16, 32, 64])
def test_chunks_stay_within_the_bound(dtype: str, d_g: int, decays: str, chunk: int) -> None:
    for seed in range(4):
        top = 1.97 if dtype == "float32" else 1.0
        assert max(shares(seed, decays, dtype, d_g, chunk, solve, top)) <= 1, seed


@pytest.mark.rotating(one_in=4)
@pytest.mark.parametrize("size", [1.0, 2.0**-9])
@pytest.mark.parametrize("d_g", [1, 4])
@pytest.mark.parametrize("decays", DECAYS)
def test_chunks_of_subnormal_operands_stay_within_the_bound(d_g: int, decays: str, size: float) -> None:
    """Behind strong decays and at small sizes operands lie below 2**-14, and below 2**-24 they are 0."""
    for seed, chunk in zip(range(4), (16, 64, 64, 16), strict=True):
        assert max(shares(seed, decays, "float16", d_g, chunk, solve, size=size)) <= 1, seed


def test_an_inverse_by_doubling_does_not() -> None:
    """Keys that nearly repeat, at rates near 2: the powers of a chunk grow before they cancel."""
    found = max(max(shares(seed, "weak", "float32", 1, 64, double, top=2.0)) for seed in (3, 7))
    assert not found <= 1
