"""Code of Mamba-2's scan in chunks of any length stays within the bounds, and its gradients do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from reference_numpy._steps import UNLIMITED
from reference_numpy.mamba2_scan import mamba2_scan
from reference_numpy.mamba2_scan_vjp import mamba2_scan_vjp
from spec_tests.bounds.bounded import Bounded
from spec_tests.specification.formats import FORMATS, Arithmetic

from .test_recurrence import STORED

WIDE = (2, 5, 7, 8)  # the places of a, d, dt_bias and the state
P, S = 3, 4
RATES = {"weak": 0.1, "ordinary": 1.0, "strong": 16.0}


def scan(arrays: Any, chunk: int, rounded: Any, limit: tuple[float, float], steps_in_scores: bool) -> tuple[Any, Any]:
    """Go through one head chunk by chunk. Softplus is ln(1 + e^y) up to 20, as kernels print it.

    steps_in_scores: whether the steps multiply the scores and the keys, as in mamba_ssm, and not the inputs.
    """
    x, dt, a, b, c, d, z, bias, state = arrays
    y = dt + bias
    steps = torch.where(y > 20, y, torch.log(1 + torch.exp(y.clamp(max=20)))).clamp(*limit)
    outs = []
    for start in range(0, len(x), chunk):
        own = slice(start, start + chunk)
        of_scores, of_inputs = (steps[own], torch.ones(())) if steps_in_scores else (torch.ones(()), steps[own][:, None])
        total, written = (steps[own] * a).cumsum(0), rounded(of_inputs * x[own])
        later = torch.ones(len(total), len(total), dtype=torch.bool).tril()
        decays = (total[:, None] - total[None]).masked_fill(~later, -torch.inf).exp()
        scores = rounded((rounded(c[own]) @ rounded(b[own]).T) * decays * of_scores)
        outs.append(scores @ written + rounded(c[own] * total.exp()[:, None]) @ rounded(state).T)
        left = rounded(b[own] * ((total[-1] - total).exp() * of_scores)[:, None])
        state = total[-1].exp() * state + written.T @ left
    return (torch.cat(outs) + d * x) * torch.nn.functional.silu(z), state


def draw(seed: int, dtype: str, rate: float) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Draw the arrays of one head, and cotangents of out and of the state."""
    r, n = np.random.default_rng(seed), (15, 33, 64, 100)[seed % 4]
    x, z, b, c = (r.standard_normal(shape) for shape in ((n, P), (n, P), (n, S), (n, S)))
    dt = r.choice([20.0, 8.0, -20.0, 0.1, 1.0], n) if seed % 2 else r.normal(-1, 2, n)
    a = -rate * r.random() - 0.01
    a = max(a, -190 / np.max(np.log1p(np.exp(dt))))
    arrays = [x, dt, np.array(a), b, c, r.standard_normal(()), z, r.uniform(-0.5, 0, ()), r.standard_normal((P, S))]
    rounded = [FORMATS["float32" if i in WIDE else dtype].round(y) for i, y in enumerate(arrays)]
    cotangents = FORMATS[dtype].round(r.standard_normal((n, P))), FORMATS["float32"].round(r.standard_normal((P, S)))
    return [np.asarray(y) for y in rounded], [*cotangents]


def shares(
    seed: int, dtype: str, rate: float, chunk: int, limit: tuple[float, float], steps_in_scores: bool = False, size: float = 1.0
) -> list[float]:
    """Return how much of the bound each result and each gradient uses. size: of inputs, keys, states and cotangents."""
    (arrays, cotangents), arithmetic = draw(seed, dtype, rate), Arithmetic.of(dtype, "mixed")
    cotangents = [FORMATS[dtype].round(size * x) for x in cotangents]
    arrays = [FORMATS[dtype].round(size * x) if i in (0, 3, 8) and size != 1.0 else x for i, x in enumerate(arrays)]

    def bounded(xs: list[np.ndarray]) -> list[Bounded]:
        return [Bounded.input(x[None], arithmetic) for x in xs]

    tensors = [torch.tensor(x, dtype=torch.float32, requires_grad=True) for x in arrays]
    results = scan(tensors, chunk, STORED[dtype], limit, steps_in_scores)
    sum((x * torch.tensor(c, dtype=torch.float32)).sum() for x, c in zip(results, cotangents, strict=True)).backward()
    answers = [*(x.detach() for x in results), *(x.grad for x in tensors)]
    options: dict[str, Any] = {"dt_softplus": True, "dt_limit": limit}
    expected = mamba2_scan(*bounded(arrays), **options)
    expected = [*expected, *mamba2_scan_vjp(bounded(cotangents), *bounded(arrays), **options)]
    gaps = [(np.abs(np.asarray(x) - y.value[0]), y.error[0]) for x, y in zip(answers, expected, strict=True)]
    with np.errstate(invalid="ignore", divide="ignore"):
        return [float(np.max(np.where(gap == 0, 0.0, gap / error))) for gap, error in gaps]


@pytest.mark.rotating(one_in=4)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("limit", [UNLIMITED, (0.003, 1.7)])
@pytest.mark.parametrize("chunk", [16, 32, 64])
def test_chunks_stay_within_the_bound(dtype: str, rate: str, limit: tuple[float, float], chunk: int) -> None:
    for seed in range(4):
        found = shares(seed, dtype, RATES[rate], chunk, limit)
        assert max(found) <= 1, (seed, found)


@pytest.mark.rotating(one_in=4)
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("steps_in_scores", [False, True])
@pytest.mark.parametrize("chunk", [16, 64])
def test_chunks_of_subnormal_operands_stay_within_the_bound(rate: str, steps_in_scores: bool, chunk: int) -> None:
    """In float16 operands below 2**-14 keep few digits: inputs times small steps, and what strong decays multiply."""
    for seed in range(4):
        found = shares(seed, "float16", RATES[rate], chunk, UNLIMITED, steps_in_scores, size=2.0**-7)
        assert max(found) <= 1, (seed, found)


def test_steps_beside_states_that_have_almost_vanished() -> None:
    """Where a gradient is 1e-180, the error of a step still counts, although the squares of such numbers are 0 in float64."""
    arithmetic = Arithmetic.of("float64", "mixed")
    arrays: list[Any] = [[[[0.5], [1.0], [1.0]]], [[-16.0, 16.0, 16.0]], [-12.4], np.ones((1, 3, 2)), np.ones((1, 3, 2))]
    x, dt, a, b, c = (Bounded.input(np.asarray(y), arithmetic) for y in arrays)
    db = mamba2_scan_vjp((None, Bounded.input(np.ones((1, 1, 2)), arithmetic)), x, dt, a, b, c, dt_softplus=True)[3][0, 0]
    step, u = np.log1p(np.exp(-16.0)), FORMATS["float64"].u
    assert np.all(db.value < 1e-170)
    assert np.all(db.error >= u * db.value / step)
