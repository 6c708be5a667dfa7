"""Levels hold of correct code in several styles, and of no code that loses what the level is about."""

from pathlib import Path

import pytest

from ..support.in_process import attempt, backend, trials, trials_of
from ..support.pytest_process import suite, write

ATTENTION_STYLES = """
import numpy as np

framework, dtypes = "numpy", ("float16",)

def attention(q, k, v, mask=None, *, scale=None):
    q, k, v = (a.astype(WORK) for a in (q, k, v))
    with np.errstate(all="ignore"):
        s = (q @ np.swapaxes(k, -1, -2) * WORK(k.shape[-1] ** -0.5 if scale is None else scale)).astype(WORK)
        s = s if mask is None else np.where(mask, s, WORK(-np.inf))
        return weigh(s, v).astype(np.float16)

def exponentials_of_e(s, v):
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v

def powers_of_two(s, v):
    "The maximum is subtracted after the multiplication by log2(e), so that its own power is not quite 1."
    s, largest = (s.astype(np.float64) * np.log2(np.e)), (s * np.float32(np.log2(np.e))).max(-1, keepdims=True)
    e = np.exp2((s - largest).astype(np.float32))
    return e @ v / e.sum(-1, keepdims=True)

def block_by_block(s, v):
    "Blocks of two keys with a running maximum; the weights are stored in 16 bits, their sum is not."
    largest, total, y = np.float32(-np.inf), np.float32(0), np.float32(0)
    for start in range(0, s.shape[-1], 2):
        part, values = s[..., start : start + 2], v[..., start : start + 2, :]
        new = np.maximum(largest, part.max(-1, keepdims=True))
        shift = np.where(np.isfinite(new), new, 0)
        e, old = np.exp(part - shift), np.exp(largest - shift)
        total, y = total * old + e.sum(-1, keepdims=True), y * old + e.astype(np.float16).astype(np.float32) @ values
        largest = new
    return y / total

def grouped_query_attention(q, k, v, mask=None, *, scale=None):
    group = q.shape[-3] // k.shape[-3]
    return attention(q, np.repeat(k, group, -3), np.repeat(v, group, -3), mask, scale=scale)

scaled_dot_product_attention = attention
"""
STYLES = ("exponentials_of_e", "powers_of_two", "block_by_block")
NARROW = ATTENTION_STYLES + "\nWORK, weigh = np.float16, exponentials_of_e\n"
ATTENTIONS = ("scaled_dot_product_attention", "grouped_query_attention")


def find_broken(path: Path, operations: tuple[str, ...], *laws: str) -> set[str]:
    """Return those of the laws of the operations that the backend in the file breaks, at default effort."""
    under_test, broken, tried = backend(str(path)), set(), set()
    for operation in operations:
        for test, trial in trials_of(operation, under_test):
            if (name := test.invariant.id_for(trial.operation_name)) in {f"{operation}.{law}" for law in laws}:
                tried.add(name)
                broken |= {name} if attempt(test, trial, 1) else set()
    assert tried == {f"{operation}.{law}" for operation in operations for law in laws}
    return broken


@pytest.mark.rotating
@pytest.mark.parametrize("style", STYLES)
def test_scores_beyond_the_range_are_held_in_float32(style: str, tmp_path: Path) -> None:
    write(tmp_path, mine=ATTENTION_STYLES + f"\nWORK, weigh = np.float32, {style}\n")
    assert find_broken(tmp_path / "mine.py", ATTENTIONS, "range", "reference") == set()


@pytest.mark.rotating
def test_scores_in_float16_lose_the_level_alone(tmp_path: Path) -> None:
    write(tmp_path, mine=NARROW)
    assert find_broken(tmp_path / "mine.py", ATTENTIONS, "range", "reference") == {f"{name}.range" for name in ATTENTIONS}


@pytest.mark.rotating
def test_a_level_that_is_lost_fails_where_it_is_required(tmp_path: Path) -> None:
    write(tmp_path, mine=NARROW)
    selection = ("--backend=mine.py", "-k", "attention.range", "--effort=default")
    run = suite(tmp_path, *selection)
    assert run.code == 0, run.text
    assert run.statuses["scaled_dot_product_attention.range mine float16"] == "not held"
    assert "attention-range 0 of 2" in run.text
    assert suite(tmp_path, *selection, "--require-level=attention-range").code == 1


def test_the_range_of_a_dtype_that_is_computed_in_itself_is_not_tried() -> None:
    """Beyond the range of float32 no number is left in which float32 and bfloat16 could be computed."""
    found = trials(backend("numpy-cpu"), about=lambda law: law.id.endswith("attention.range"))
    assert {trial.dtype for _, trial in found} == {"float16"}


SIGMOIDS = {"1 / (1 + np.exp(-x))": True, "np.exp(np.minimum(x, 0)) / (1 + np.exp(-np.abs(x)))": True}
SIGMOIDS |= {"(1 + np.tanh(x / 2)) / 2": False}


@pytest.mark.parametrize("form", SIGMOIDS)
def test_the_tail_of_sigmoid(form: str, tmp_path: Path) -> None:
    """Forms that do not subtract hold the level. The form that does is right within ulps of 1, and does not hold it."""
    write(tmp_path, mine=f'import numpy as np\nframework, dtypes = "numpy", ("float32",)\n\ndef sigmoid(x):\n    return {form}\n')
    broken = find_broken(tmp_path / "mine.py", ("sigmoid",), "relative_tail", "reference")
    assert broken == (set() if SIGMOIDS[form] else {"sigmoid.relative_tail"})


DETACHED = """
import torch
framework, dtypes = "torch", ("float32",)

def rms_norm(x, weight, *, eps):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * weight.WITHOUT
"""


@pytest.mark.rotating
def test_a_gradient_that_is_missing_loses_the_level(tmp_path: Path) -> None:
    """A weight that is detached has no gradient. --require of the gradient fails; otherwise the level alone is lost."""
    write(tmp_path, detached=DETACHED.replace("WITHOUT", "detach()"), whole=DETACHED.replace("WITHOUT", "clone()"))
    selection = ("--backend=detached.py", "--backend=whole.py", "-k", "rms_norm_vjp.all_gradients", "--effort=default")
    run = suite(tmp_path, *selection)
    assert run.code == 0, run.text
    law = "rms_norm_vjp.all_gradients"
    assert run.statuses == {f"{law} detached float32": "not held", f"{law} whole float32": "passed"}
    required = suite(tmp_path, *selection, "--require=rms_norm_vjp")
    assert required.code == 1, required.text
    assert required.statuses == {f"{law} detached float32": "failed", f"{law} whole float32": "passed"}
    assert "there is no gradient of weight" in required.text
