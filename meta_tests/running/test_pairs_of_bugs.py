"""Test that two independent bugs stay two causes, and that one bug which shows in several places is one."""

from functools import wraps
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from spec_tests.deviations import OracleBackend, find, put_into_oracle, take_every_option
from spec_tests.implementation.backend import Backend, build_backend
from spec_tests.specification.composition import substitute
from spec_tests.specification.registry import operations
from spec_tests.trials.cause import Cause

from ..support.in_process import attempt, trials

PAIRS = (  # of a part, and of an operation that calls it
    ("softmax/mean-subtracted", "scaled_dot_product_attention/not-scaled"),
    ("softmax/base-two", "attention_with_weights/keys-reversed"),
    ("softmax/differences-clipped", "moe_router/bias-weighs"),
    ("softmax/axis-ignored", "scaled_dot_product_attention/scale-by-d-k"),
    ("linear/square-weight-transposed", "swiglu/gate-and-signal-exchanged"),
    ("linear/square-weight-transposed", "glu/no-gate"),
    ("linear/bias-ignored", "feed_forward/residual-included"),
    ("silu/steeper-gate", "swiglu/added"),
    ("silu/hard", "gated_activation/layout-ignored"),
    ("sigmoid/hard", "glu/gate-and-signal-exchanged"),
    ("gelu/erf-of-x", "feed_forward/activation-ignored"),
    ("relu/leaky", "feed_forward/gelu-for-relu"),
    ("rms_norm/eps-outside-sqrt", "add_rms_norm/residual-not-added"),
    ("rms_norm/gain-ignored", "transformer_block/first-residual-missing"),
    ("rope/theta-ignored", "multihead_self_attention/never-causal"),
    ("grouped_query_attention/first-head-for-all", "multihead_self_attention/merged-without-transpose"),
    ("causal_mask/own-key-hidden", "scaled_dot_product_attention/scale-by-d-k"),
    ("logsumexp/base-two", "cross_entropy/mean-is-the-sum"),
    ("cross_entropy/mean-is-the-sum", "linear_cross_entropy/logits-over-root-d"),
    ("adamw_step/decay-ignored", "adamw_steps/step-never-counted"),
)


def find_causes(backend: Any, *names: str) -> list[Cause]:
    """Compare operations of a backend with the oracle, as a run does, and return the causes that this finds."""
    under_test: Backend = build_backend(backend, set(operations()))
    for test, trial in trials(under_test, about=lambda law: law.compares_with_oracle, dtypes=("float32",), names=names):
        if test.invariant.subject(trial.operation_name) in names:
            attempt(test, trial, seed=1, shrink=True)
    causes: list[Cause] = under_test.causes
    return causes


def put_both(part: str, whole: str) -> OracleBackend:
    """Return the oracle with two deviations. That of the whole calls the wrong part."""
    inner, outer = find(part), find(whole)
    assert inner
    assert outer
    wrong_part, wrong_whole = take_every_option(inner), take_every_option(outer)

    @wraps(wrong_whole)
    def equation(*arguments: Any, **keywords: Any) -> Any:
        with substitute(inner.operation, wrong_part):
            return wrong_whole(*arguments, **keywords)

    backend = put_into_oracle(outer.operation, equation)
    setattr(backend, inner.operation, getattr(put_into_oracle(inner.operation, wrong_part), inner.operation))
    return backend


@pytest.mark.rotating
@pytest.mark.parametrize("pair", PAIRS, ids=" + ".join)
def test_two_independent_bugs_stay_two_causes(pair: tuple[str, str]) -> None:
    names = [name.partition("/")[0] for name in pair]
    causes = find_causes(put_both(*pair), *names)
    assert sorted(cause.operation for cause in causes) == sorted(names), [(cause.operation, cause.ids) for cause in causes]


def merge_without_transpose(x: Any, w_q: Any, w_k: Any, w_v: Any, w_o: Any, *, num_heads: int, theta: None = None) -> Any:
    """Attention whose heads are split and merged by a reshape alone, and whose result is slightly curved, which has no name."""
    batch, n = x.shape[:-2], x.shape[-2]
    h = x.astype(np.float64)
    q, k, v = (np.reshape(h @ w.T, (*batch, num_heads, n, len(w) // num_heads)) for w in (w_q, w_k, w_v))
    scores = np.where(np.tri(n, dtype=bool), q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]), -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    y = np.reshape(weights / weights.sum(-1, keepdims=True) @ v, (*batch, n, len(w_v))) @ w_o.T
    return (y + np.sin(3 * y) / 8).astype(x.dtype)


def block(x: Any, weights: Any, *, num_heads: int, eps: float, theta: None = None) -> Any:
    """A right block around it."""
    w, oracle = weights, OracleBackend()
    normed = oracle.rms_norm(x, w["attn_norm"], eps=eps)
    h = x + merge_without_transpose(normed, *(w[f"w_{name}"] for name in "qkvo"), num_heads=num_heads)
    return h + oracle.swiglu(oracle.rms_norm(h, w["ffn_norm"], eps=eps), w["w1"], w["w2"], w["w3"])


@pytest.mark.rotating
@pytest.mark.parametrize("name", ["transformer_block", "multihead_self_attention"])
def test_a_block_with_a_wrong_part_has_no_cause_of_its_own(name: str) -> None:
    backend = SimpleNamespace(
        name="mine",
        framework="numpy",
        dtypes=("float32",),
        multihead_self_attention=merge_without_transpose,
        transformer_block=block,
    )
    (cause,) = find_causes(backend, name)
    assert cause.operation == "multihead_self_attention"


@pytest.mark.rotating
def test_a_wrong_block_of_right_parts_is_to_blame_itself() -> None:
    def swiglu(x: Any, w1: Any, w2: Any, w3: Any) -> Any:
        y = oracle.linear(oracle.silu(oracle.linear(x, w1)) * oracle.linear(x, w3), w2)
        return y + np.sin(3 * y) / 8

    oracle = OracleBackend()
    backend = SimpleNamespace(
        name="mine", framework="numpy", dtypes=("float32",), swiglu=swiglu, linear=oracle.linear, silu=oracle.silu
    )
    assert {cause.operation for cause in find_causes(backend, "swiglu")} == {"swiglu"}


@pytest.mark.rotating
def test_a_gradient_is_not_to_blame_where_the_result_is_wrong_for_other_values_alone() -> None:
    torch = pytest.importorskip("torch")

    def rope(x: Any, positions: Any, *, theta: float) -> Any:
        """Turn pairs of halves. For x = 0 the result is right, and the gradient is wrong."""
        half = x.shape[-1] // 2
        angles = positions.double()[..., None] * theta ** (-torch.arange(half).double() / max(half, 1))
        a, b = x[..., :half], x[..., half:]
        return torch.cat([a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()], -1).to(x.dtype)

    backend = SimpleNamespace(name="mine", framework="torch", dtypes=("float32",), rope=rope)
    (cause,) = find_causes(backend, "rope_vjp")
    assert cause.ids == ("rope/half-for-interleaved",)


@pytest.mark.rotating
def test_another_result_where_a_gradient_is_needed_is_one_cause() -> None:
    """Both its gradient and its result are wrong then."""
    torch = pytest.importorskip("torch")
    source = SimpleNamespace(name="mine", framework="torch", dtypes=("float32",))
    source.sigmoid = lambda x: x * 0 if x.requires_grad else torch.sigmoid(x)
    under_test: Backend = build_backend(source, set(operations()))
    laws = {f"sigmoid_vjp.{name}" for name in ("reference", "forward_unchanged")}
    broken = set()
    for test, trial in trials(under_test, dtypes=("float32",), names=("sigmoid_vjp",)):
        law = test.invariant.id_for(trial.operation_name)
        if law in laws and attempt(test, trial, seed=1, shrink=True):
            broken.add(law)
    (cause,) = under_test.causes
    assert (broken, cause.operation) == (laws, "sigmoid_vjp")
