"""Compositions of operations: the blocks in examples/compositions are right, and a bug in each joint is caught and named."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import spec_tests

FOLDER = Path(__file__).parents[2] / "examples" / "compositions"
pytest.importorskip("torch")

LINEAR, LATENT = "linear_attention_block", "latent_attention_block"
STATES = {LINEAR: ("columns", "state"), LATENT: ("latents", "keys")}
KEPT, PAST = "padded[..., x.shape[-1] :]", "x.new_zeros(*x.shape[:-1], past)"
READ = "v.new_zeros(*v.shape[:-2], k.shape[-1], v.shape[-1])"
NORM = "x * torch.rsqrt(x.square().mean(-1, keepdim=True) + EPS) * weight * F.silu(gate)"
GATED_FIRST = "x * F.silu(gate) * torch.rsqrt((x * F.silu(gate)).square().mean(-1, keepdim=True) + EPS) * weight"
QUERY, LATENT_NORM = 'F.linear(x, weights["w_dq"])', 'norm(F.linear(x, weights["w_dkv"]), weights["kv_norm"])'
GROWN = "latents = latent if latents is None else torch.cat([latents, latent], dim=-2)"
BUGS = (  # the block, the line, the line with a bug, and what the message says
    (LINEAR, f"{KEPT}.clone()", "padded[..., :past].clone()", "causal_conv1d/first-columns-kept"),
    (LINEAR, KEPT, f"F.silu({KEPT})", "causal_conv1d/state-activated"),
    (LINEAR, f"{PAST} if columns is None else columns", PAST, "the state columns is not read"),
    (LINEAR, f"{READ} if state is None else state", READ, "the state state is not read"),
    (LINEAR, "dim=-2), state.clone()", "dim=-2), 0 * state", "state["),
    (LINEAR, NORM, GATED_FIRST, "gated_rms_norm/gate-before-the-norm"),
    (LINEAR, NORM, NORM.replace("F.silu(gate)", "gate.sigmoid()"), "gated_rms_norm/sigmoid-for-silu"),
    (LINEAR, NORM, NORM.removesuffix(" * F.silu(gate)"), "out["),
    (LINEAR, "return F.silu(out)", "return out", "causal_conv1d/activation-ignored"),
    (LINEAR, "q, k, v = mixed.mT", "k, q, v = mixed.mT", "linear_attention: q and k are exchanged"),
    (LINEAR, "x.repeat_interleave(v.shape[-3] // x.shape[-3], dim=-3)", "x.repeat(1, 2, 1, 1)", "heads-shared-by-remainder"),
    (LINEAR, 'F.softplus(a + weights["dt_bias"][:, None])', "F.softplus(a)", "linear_attention_gate/bias-ignored"),
    (LINEAR, '-weights["a_log"].exp()', '-weights["a_log"]', "linear_attention_gate/rate-not-exponentiated"),
    (LINEAR, "(q * q.shape[-1] ** -0.5, k)", "(q, k)", "linear_attention: nothing is scaled"),
    (LINEAR, "q, k = (x * (x.square()", "_ = (x * (x.square()", "linear_attention: qk_l2norm is not passed on"),
    (LINEAR, "state * g.exp()\n", "state\n", "out["),
    (LATENT, "torch.arange(past, past + n)", "torch.arange(n)", "rope/places-for-positions"),
    (LATENT, LATENT_NORM, 'F.linear(x, weights["w_dkv"])', "rms_norm, call 2: it is left out"),
    (LATENT, 'turn(F.linear(x, weights["w_kr"]), positions)', 'F.linear(x, weights["w_kr"])', "rope, call 2: it is left out"),
    (LATENT, "q.shape[-1] + WIDTH", "q.shape[-1]", "latent_attention/scale-of-the-part-without-rotation"),
    (LATENT, GROWN, "latents = latent if latents is None else latents", "the code raises RuntimeError"),
    (LATENT, ".triu(past + 1)", ".triu(1)", "latent_attention/causality-from-the-first-row"),
    (LATENT, f'norm({QUERY}, weights["q_norm"])', QUERY, "rms_norm, call 1: it is left out"),
    (LATENT, "x[..., 0::2], x[..., 1::2]", "x[..., : d // 2], x[..., d // 2 :]", "keys["),
    (LATENT, "(q @ w_uk) @ latents.mT", "(q @ w_uk) @ latents.mT * 1.01", "out["),
    (LATENT, "+ EPS) * weight", "+ EPS)", "rms_norm/gain-ignored"),
)
NAMES = [f"{block[:6]} {number}" for number, (block, *_) in enumerate(BUGS)]


@pytest.fixture
def examples(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ModuleType]]:
    """Return what imports a file of the folder, with a line in place of another."""
    monkeypatch.syspath_prepend(FOLDER)

    def load(name: str, old: str = "", new: str = "") -> ModuleType:
        source = (FOLDER / f"{name}.py").read_text()
        assert old in source
        spec = importlib.util.spec_from_loader(name, loader=None)
        assert spec
        module = importlib.util.module_from_spec(spec)
        exec(compile(source.replace(old, new) if old else source, name, "exec"), module.__dict__)
        return module

    before = set(sys.modules)
    yield load
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").parent == FOLDER:
            del sys.modules[name]


def judge(load: Callable[..., ModuleType], name: str, *change: str, **options: Any) -> None:
    tests = load("test_compositions")
    equation, draw = getattr(tests.equations, name), {LINEAR: tests.draw_linear, LATENT: tests.draw_latent}[name]
    block = getattr(load(name, *change), name)
    spec_tests.check_composition(block, equation, draw, states=STATES[name], tokens={"x": -2, "out": -2}, **options)


@pytest.mark.parametrize("name", STATES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_right(examples: Callable[..., ModuleType], name: str, dtype: str) -> None:
    judge(examples, name, dtype=dtype, examples=12)


@pytest.mark.parametrize(("name", "old", "new", "says"), BUGS, ids=NAMES)
def test_bug(examples: Callable[..., ModuleType], name: str, old: str, new: str, says: str) -> None:
    with pytest.raises(spec_tests.DoesNotConform) as failure:
        judge(examples, name, old, new, examples=12)
    assert says in str(failure.value)
