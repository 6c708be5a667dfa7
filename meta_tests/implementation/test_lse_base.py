"""The conventions lse_base, which decides every call and every gradient, and softcap_bias."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from backends import torch_cpu
from reference_numpy.attention_with_lse import attention_with_lse
from reference_numpy.attention_with_lse_vjp import attention_with_lse_vjp
from reference_numpy.merge_attention_states import merge_attention_states
from reference_numpy.merge_attention_states_vjp import merge_attention_states_vjp
from spec_tests.calls.operation import Operation
from spec_tests.diagnosis.evidence import Evidence
from spec_tests.diagnosis.near_misses import find_other_convention
from spec_tests.implementation.backend import Backend, build_backend
from spec_tests.specification.conventions import apply_conventions
from spec_tests.specification.registry import operations, specification

from ..backends.correct import states
from ..backends.correct.states_in_bits import BITS, LseInBits
from ..support.in_process import caught_by


def build(**functions: Any) -> Backend:
    source = {"framework": "numpy", "dtypes": ("float32",), **functions}
    return build_backend(SimpleNamespace(**source), set(operations()))


def attend_in_bits(q: Any, k: Any, v: Any, mask: Any = None, **options: Any) -> Any:
    out, lse = states.attention_with_lse(q, k, v, mask, **options)
    return out, lse * BITS


@pytest.mark.rotating
def test_a_base_that_is_not_stated_is_found_and_the_laws_read_it() -> None:
    under_test = build(attention_with_lse=attend_in_bits)
    assert caught_by(under_test, seed=1, only="attention_with_lse.") == {}
    assert under_test.inferred_conventions["attention_with_lse", "lse_base"] == ("2",)


@pytest.mark.rotating
@pytest.mark.parametrize(("stated", "computed"), [("e", "2"), ("2", "e")])
def test_another_base_than_the_stated_one_fails(stated: str, computed: str) -> None:
    function = attend_in_bits if computed == "2" else states.attention_with_lse
    broken = caught_by(build(attention_with_lse=function, conventions={"lse_base": stated}), seed=1, only="attention_with_lse.")
    assert {"attention_with_lse.reference", "attention_with_lse.lse_of_scores", "attention_with_lse.lse_base"} <= broken.keys()
    assert broken["attention_with_lse.lse_base"].what == f"lse_base is {computed} here, where the backend states {stated}"


def attend_wrongly(q: Any, k: Any, v: Any, mask: Any = None, **options: Any) -> Any:
    out, lse = states.attention_with_lse(q, k, v, mask, **options)
    return out, lse * 1.5


@pytest.mark.parametrize(("stated", "computed"), [("e", attend_in_bits), ("2", states.attention_with_lse), ("2", attend_wrongly)])
def test_the_base_that_every_wrong_answer_has_is_named(stated: str, computed: Any) -> None:
    under_test = build(attention_with_lse=computed, conventions={"lse_base": stated})
    operation = Operation(specification("attention_with_lse"), under_test, "float32", "eager")
    rng = np.random.default_rng(1)
    for _ in range(3):
        operation(*(rng.integers(-8, 9, (1, 2, 5, 4)) / 4 for _ in range(3)))
    found = find_other_convention(Evidence.gather(operation.recorder.calls, []))
    if computed is attend_wrongly:
        assert found is None
        return
    assert found is not None
    words = {"e": "e (natural, in nats)", "2": "2 (to the base 2, in bits)"}
    other = "2" if stated == "e" else "e"
    assert found.what == f"lse_base is {words[other]} where it has to be {words[stated]}"


@pytest.mark.rotating
def test_operations_may_have_different_bases_and_their_common_law_converts() -> None:
    under_test = build(attention_with_lse=attend_in_bits, merge_attention_states=states.merge_attention_states)
    assert caught_by(under_test, seed=1, only="merge_attention_states.") == {}
    other = build(attention_with_lse=states.attention_with_lse, merge_attention_states=LseInBits.merge_attention_states)
    assert caught_by(other, seed=1, only="merge_attention_states.") == {}
    assert other.inferred_conventions["merge_attention_states", "lse_base"] == ("2",)


def test_bases_that_differ_between_dtypes_fail_in_the_later_one() -> None:
    def attend(q: Any, k: Any, v: Any, mask: Any = None, **options: Any) -> Any:
        return (attend_in_bits if q.dtype == np.float16 else states.attention_with_lse)(q, k, v, mask, **options)

    under_test = build(attention_with_lse=attend, dtypes=("float32", "float16"))
    broken = caught_by(under_test, seed=1, only="attention_with_lse.lse_base")
    assert broken["attention_with_lse.lse_base"].what == "lse_base is 2 here, and e in its other answers"


def test_weights_to_the_base_2_of_natural_lse_are_no_convention() -> None:
    def merge(out_a: Any, lse_a: Any, out_b: Any, lse_b: Any) -> Any:
        out, _ = LseInBits.merge_attention_states(out_a, lse_a, out_b, lse_b)
        return out, states.merge_attention_states(out_a, lse_a, out_b, lse_b)[1]

    broken = caught_by(build(merge_attention_states=merge), seed=1, only="merge_attention_states.")
    assert {"merge_attention_states.reference", "merge_attention_states.lse_base"} <= broken.keys()
    what = broken["merge_attention_states.lse_base"].what  # whether an answer that fits one base came before
    others = (f"the answer is not that of lse_base = {base}, as its other answers are" for base in ("2", "e"))
    assert "fits no known lse_base" in what or what in others


def torch_in_bits() -> Backend:
    bits = float(np.log2(np.e))

    def attend(*arrays: Any, **options: Any) -> Any:
        out, lse = torch_cpu.attention_with_lse(*arrays, **options)
        return out, lse * bits

    def merge(out_a: Any, lse_a: Any, out_b: Any, lse_b: Any) -> Any:
        top = torch.maximum(lse_a, lse_b).detach()
        top = top.masked_fill(top.isinf(), 0)
        out, lse = torch_cpu.merge_attention_states(out_a, (lse_a - top) / bits, out_b, (lse_b - top) / bits)
        return out, top + lse * bits

    source = {
        "framework": "torch",
        "dtypes": ("float32", "float64"),
        "attention_with_lse": attend,
        "merge_attention_states": merge,
    }
    return build_backend(SimpleNamespace(**source), set(operations()))


@pytest.mark.rotating
@pytest.mark.slow
@pytest.mark.parametrize("operation", ["attention_with_lse", "merge_attention_states"])
def test_gradients_follow_the_base(operation: str) -> None:
    assert caught_by(torch_in_bits(), seed=1, only=f"{operation}_vjp.") == {}


@pytest.mark.parametrize("name", ["q", "k", "v"])
def test_the_gradient_of_attention_in_bits_is_its_slope(name: str) -> None:
    rng = np.random.default_rng(0)
    arrays = {x: rng.standard_normal((2, 3, 4)) for x in ("q", "k", "v")}
    c, g, step = rng.standard_normal((2, 3, 4)), rng.standard_normal((2, 3)), rng.standard_normal((2, 3, 4))
    forward = apply_conventions(attention_with_lse, "attention_with_lse", {"lse_base": "2"})
    gradient = apply_conventions(attention_with_lse_vjp, "attention_with_lse_vjp", {"lse_base": "2"})

    def loss(t: float) -> float:
        out, lse = forward(**(arrays | {name: arrays[name] + t * step}))
        return float(np.sum(c * out) + np.sum(g * lse))

    d = gradient((c, g), **arrays)["qkv".index(name)]
    assert np.isclose((loss(1e-5) - loss(-1e-5)) / 2e-5, np.sum(d * step), rtol=1e-6)


@pytest.mark.parametrize("index", [0, 1, 2, 3])
def test_the_gradient_of_a_merge_in_bits_is_its_slope(index: int) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((2, 3)), rng.standard_normal(2), rng.standard_normal((2, 3)), rng.standard_normal(2)]
    c, g, step = rng.standard_normal((2, 3)), rng.standard_normal(2), rng.standard_normal(arrays[index].shape)
    forward = apply_conventions(merge_attention_states, "merge_attention_states", {"lse_base": "2"})
    gradient = apply_conventions(merge_attention_states_vjp, "merge_attention_states_vjp", {"lse_base": "2"})

    def loss(t: float) -> float:
        out, lse = forward(*(x + t * step if i == index else x for i, x in enumerate(arrays)))
        return float(np.sum(c * out) + np.sum(g * lse))

    d = gradient((c, g), *arrays)[index]
    assert np.isclose((loss(1e-5) - loss(-1e-5)) / 2e-5, np.sum(d * step), rtol=1e-6)


@pytest.mark.parametrize("stated", ["before", "after", ""])
def test_a_bias_beside_a_softcap_is_as_stated(stated: str) -> None:
    function = LseInBits.scaled_dot_product_attention
    conventions = {"softcap_bias": stated} if stated else {}
    under_test = build(scaled_dot_product_attention=function, conventions=conventions)
    broken = caught_by(under_test, seed=1, only="scaled_dot_product_attention.softcap_bias")
    assert bool(broken) is (stated == "after")
    for violation in broken.values():
        assert violation.what == "softcap_bias is before here, where the backend states after"
