"""The equations that carry a state from call to call, against sums in exact arithmetic and against PyTorch."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import torch
from mpmath import mpf

from reference_numpy.causal_conv1d import causal_conv1d
from reference_numpy.gated_rms_norm import gated_rms_norm
from reference_numpy.l2_norm import l2_norm
from reference_numpy.linear_attention import linear_attention
from reference_numpy.linear_attention_gate import linear_attention_gate
from reference_numpy.mamba2_scan import mamba2_scan

from ..support.sixty_digits import DIGITS, U, assert_within, rng


@pytest.mark.parametrize("w", [1, 2, 4])
@pytest.mark.parametrize("n", [0, 1, 3, 9])
@pytest.mark.parametrize("activation", [None, "silu"])
def test_causal_conv1d(w: int, n: int, activation: str | None) -> None:
    r = rng(60)
    x, weight, bias, state = (r.standard_normal(shape) for shape in ((3, n), (3, w), (3,), (3, w - 1)))
    out, after = causal_conv1d(x, weight, bias, state, activation=activation)
    with mpmath.workdps(DIGITS):
        for i in range(3):
            columns = [mpf(float(p)) for p in (*state[i], *x[i])]
            expected = []
            for t in range(n):
                y = mpf(float(bias[i])) + sum(mpf(float(weight[i, j])) * columns[t + j] for j in range(w))
                expected.append(y if activation is None else y / (1 + mpmath.exp(-y)))
            assert_within(out[i], expected, 40 * U * 10)
            assert after[i].tolist() == [float(p) for p in columns[n:]]


def test_causal_conv1d_is_that_of_torch() -> None:
    """Batch axes, and the order of the taps, as torch.nn.Conv1d has them."""
    r = rng(61)
    x, weight, bias = r.standard_normal((2, 3, 7)), r.standard_normal((3, 4)), r.standard_normal(3)
    tensors = (torch.from_numpy(a) for a in (x, weight[:, None], bias))
    expected = torch.nn.functional.conv1d(*tensors, padding=3, groups=3)[..., :7].numpy()
    out, state = causal_conv1d(x, weight, bias)
    assert np.max(np.abs(out - expected)) <= 40 * U * 10
    assert np.array_equal(state, x[..., 4:])


def test_packed_columns() -> None:
    """Three sequences, the second of no tokens and the third shorter than the state, each in a call of its own."""
    r, ends = rng(62), (0, 5, 5, 7)
    x, weight, bias, state = (r.standard_normal(shape) for shape in ((2, 7), (2, 4), (2,), (3, 2, 3)))
    out, after = causal_conv1d(x, weight, bias, state, np.array(ends), activation="silu")
    alone = [causal_conv1d(x[:, ends[i] : ends[i + 1]], weight, bias, state[i], activation="silu") for i in range(3)]
    assert np.array_equal(out, np.concatenate([part for part, _ in alone], axis=-1))
    assert np.array_equal(after, np.stack([columns for _, columns in alone]))
    assert np.array_equal(after[1], state[1])
    assert np.array_equal(after[2], np.concatenate([state[2, :, 2:], x[:, 5:]], axis=-1))


def test_an_unknown_activation_is_named() -> None:
    with pytest.raises(ValueError, match="relu"):
        causal_conv1d(np.ones((2, 3)), np.ones((2, 2)), activation="relu")


@pytest.mark.parametrize("has_beta", [False, True])
@pytest.mark.parametrize("d_g", [0, 1, 3])
@pytest.mark.parametrize("normalized", [False, True])
def test_linear_attention(has_beta: bool, d_g: int, normalized: bool) -> None:
    """Each state as the equations have it, in exact arithmetic, for two value heads that share queries and keys."""
    r = rng(62)
    n, d_k, d_v = 6, 3, 2
    q, k, v = (r.standard_normal(shape) for shape in ((1, n, d_k), (1, n, d_k), (2, n, d_v)))
    k = 0.8 * k / np.linalg.norm(k, axis=-1, keepdims=True)
    g = -r.exponential(1.0, (2, n, d_g)) if d_g else None
    beta = r.random((2, n)) * 2 if has_beta else None
    state = r.standard_normal((2, d_k, d_v))
    out, after = linear_attention(q, k, v, g, beta, state, scale=0.7, qk_l2norm=normalized)
    with mpmath.workdps(DIGITS):
        for i in range(2):
            s = mpmath.matrix(state[i].tolist())
            for t in range(n):
                query, key = (mpmath.matrix(x[0, t].tolist()) for x in (q, k))
                if normalized:
                    query, key = (x / mpmath.sqrt(sum(y * y for y in x) + mpf(1e-6)) for x in (query, key))
                decays = [mpmath.exp(mpf(float(g[i, t, c % d_g]))) if g is not None else mpf(1) for c in range(d_k)]
                s = mpmath.diag(decays) * s
                row = mpmath.matrix([v[i, t].tolist()])
                s = s + (key * row if beta is None else mpf(float(beta[i, t])) * key * (row - key.T * s))
                assert_within(out[i, t], list(mpf(0.7) * query.T * s), 100 * U * 10)
            assert_within(after[i].ravel(), list(s), 100 * U * 10)


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("limit", [(0.0, np.inf), (0.25, 1.5)])
def test_mamba2_scan(soft: bool, limit: tuple[float, float]) -> None:
    """Each state as the equations have it, in exact arithmetic, for four heads in two groups."""
    r = rng(67)
    n, p, s = 5, 2, 3
    x, z, dt = r.standard_normal((4, n, p)), r.standard_normal((4, n, p)), r.exponential(1.0, (4, n))
    b, c = r.standard_normal((2, n, s)), r.standard_normal((2, n, s))
    a, d, bias, state = -r.exponential(1.0, 4), r.standard_normal(4), r.random(4), r.standard_normal((4, p, s))
    out, after = mamba2_scan(x, dt, a, b, c, d, z, bias, state, dt_softplus=soft, dt_limit=limit)
    with mpmath.workdps(DIGITS):
        for i in range(4):
            held = mpmath.matrix(state[i].tolist())
            for t in range(n):
                y = mpf(float(dt[i, t])) + mpf(float(bias[i]))
                step = min(max(mpmath.log(1 + mpmath.exp(y)) if soft else y, mpf(limit[0])), mpf(limit[1]))
                row, key, query = (mpmath.matrix(v[t].tolist()) for v in (x[i], b[i // 2], c[i // 2]))
                held = mpmath.exp(step * mpf(float(a[i]))) * held + step * row * key.T
                gates = [mpf(float(g)) / (1 + mpmath.exp(-mpf(float(g)))) for g in z[i, t]]
                read = held * query + mpf(float(d[i])) * row
                assert_within(out[i, t], [u * g for u, g in zip(read, gates, strict=True)], 100 * U * 10)
            assert_within(after[i].ravel(), list(held), 100 * U * 10)


@pytest.mark.parametrize("size", [1e-7, 1e-3, 1.0, 1e5])
def test_l2_norm(size: float) -> None:
    x = size * rng(63).standard_normal((3, 5))
    y = l2_norm(x, eps=1e-6)
    with mpmath.workdps(DIGITS):
        for row, found in zip(x.tolist(), y, strict=True):
            length = mpmath.sqrt(sum(mpf(a) ** 2 for a in row) + mpf(1e-6))
            assert_within(found, [mpf(a) / length for a in row], 10 * U)


def test_l2_norm_is_that_of_torch() -> None:
    """Where eps is nothing beside the squares, torch.nn.functional.normalize gives the same."""
    x = rng(64).standard_normal((2, 3, 7))
    expected = torch.nn.functional.normalize(torch.from_numpy(x), dim=-1).numpy()
    assert np.max(np.abs(l2_norm(x, eps=0.0) - expected)) <= 10 * U


@pytest.mark.parametrize("lowest", [None, -5.0])
def test_linear_attention_gate(lowest: float | None) -> None:
    r = rng(65)
    x, a_log, bias = r.uniform(-30, 30, (2, 3, 4)), r.standard_normal(2), r.standard_normal((2, 4))
    g = linear_attention_gate(x, a_log, bias, lower_bound=lowest)
    with mpmath.workdps(DIGITS):
        for i in range(2):
            rate = mpmath.exp(mpf(float(a_log[i])))
            y = [[mpf(float(x[i, t, j])) + mpf(float(bias[i, j])) for j in range(4)] for t in range(3)]
            for found, row in zip(g[i], y, strict=True):
                soft = [-rate * mpmath.log(1 + mpmath.exp(z)) for z in row]
                expected = soft if lowest is None else [mpf(lowest) / (1 + mpmath.exp(-rate * z)) for z in row]
                assert_within(found, expected, 400 * U * 10)


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("size", [None, 1, 3])
@pytest.mark.parametrize("activation", ["silu", "sigmoid"])
def test_gated_rms_norm(before: bool, size: int | None, activation: str) -> None:
    r = rng(66)
    x, gate, weight = r.standard_normal((2, 6)), 3 * r.standard_normal((2, 6)), r.standard_normal(6)
    y = gated_rms_norm(x, gate, weight, eps=1e-3, norm_before_gate=before, group_size=size, activation=activation)
    with mpmath.workdps(DIGITS):
        for found, row, gates in zip(y, x.tolist(), gate.tolist(), strict=True):
            opened = [(mpf(a) if activation == "silu" else mpf(1)) / (1 + mpmath.exp(-mpf(a))) for a in gates]
            z = [mpf(a) * (1 if before else o) for a, o in zip(row, opened, strict=True)]
            expected = []
            for i in range(6):
                start = i - i % (size or 6)
                group = z[start : start + (size or 6)]
                n = z[i] / mpmath.sqrt(sum(a * a for a in group) / len(group) + mpf(1e-3)) * mpf(float(weight[i]))
                expected.append(n * opened[i] if before else n)
            assert_within(found, expected, 40 * U * 10)


def test_a_group_that_does_not_divide_is_named() -> None:
    with pytest.raises(ValueError, match="group_size=4"):
        gated_rms_norm(np.ones(6), np.ones(6), np.ones(6), eps=1e-5, group_size=4)


def test_heads_that_cannot_be_shared_are_named() -> None:
    with pytest.raises(ValueError, match="linear_attention"):
        linear_attention(np.ones((2, 1, 1)), np.ones((2, 1, 1)), np.ones((3, 1, 1)))
