"""A kernel that states a domain is called only inside it. Each kernel here raises outside its domain."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from spec_tests.calls.gradient import Gradient
from spec_tests.calls.in_domain import outside_domain
from spec_tests.calls.operation import Operation
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.implementation.backend import Backend, build_backend
from spec_tests.implementation.domain import canonical, find_complaints
from spec_tests.inputs.draw import Draw
from spec_tests.specification.registry import Specification, dimensions, gradients, has_named_batch, operations, specification

from ..support.in_process import backend
from ..support.pytest_process import ATTENTION, NUMPY, RELU, RMS_NORM, ROPE, SOFTMAX, Run, suite, suite_of_each, write
from ..support.random_draw import RandomDraw

pytestmark = [pytest.mark.rotating, pytest.mark.xdist_group("implementation/domain")]  # which share a run
PLAIN = RMS_NORM + SOFTMAX + RELU + ATTENTION + ROPE
DOMAINS = {
    "dimensions": """
domain = {"scaled_dot_product_attention": {"d_k": (8, 24), "d_v": "d_k", "n": range(4, 41, 4), "batch_dims": (2,)}}

def scaled_dot_product_attention(q, k, v):
    if not (q.ndim == 4 and q.shape[-1] in (8, 24) and v.shape[-1] == q.shape[-1] and q.shape[-2] in range(4, 41, 4)):
        raise ValueError(f"q {q.shape}, v {v.shape}")
    return attention(q, k, v)
""",
    "values": """
domain = {"rms_norm": {"eps": (1e-5, 1e-6), "d": (16, 32), "dtype": ("float32",)}, "softmax": {"axis": (-1,)}}
dtypes = ("float64", "float32")
plain_rms_norm, plain_softmax = rms_norm, softmax

def rms_norm(x, weight, *, eps):
    if x.dtype != "float32" or eps not in (1e-5, 1e-6) or len(weight) not in (16, 32):
        raise ValueError(f"{x.dtype}, eps {eps}, weight {weight.shape}")
    return plain_rms_norm(x, weight, eps=eps)

def softmax(x, *, axis):
    if axis != -1:
        raise ValueError(axis)
    return plain_softmax(x, axis=axis)
""",
    "one value": """
domain = {"rms_norm": {"eps": (1e-5,)}}
plain_rms_norm = rms_norm

def rms_norm(x, weight):  # its eps is built in
    return plain_rms_norm(x, weight, eps=1e-5)
""",
    "zero, which some laws cannot do with": """
domain = {name: {"eps": (0.0, 1e-5)} for name in ("rms_norm", "layer_norm")}
dtypes = ("float64",)

def layer_norm(x, weight, bias, *, eps):
    x = x - x.mean(-1, keepdims=True)
    with np.errstate(all="ignore"):
        return x / np.sqrt(np.mean(x**2, -1, keepdims=True) + eps) * weight + bias
""",
    "consecutive positions": """
domain = {"rope": {"positions": "consecutive", "d_k": (4, 8)}}

def rope(x, positions):
    if x.shape[-1] not in (4, 8) or not np.array_equal(positions, np.arange(x.shape[-2])):
        raise ValueError(f"{x.shape[-1]}, {positions}")
    return turned(x, positions)
""",
    "offset positions": """
domain = {"rope": {"positions": "offset"}}

def rope(x, positions):
    if not np.array_equal(positions, positions.flat[0] + np.arange(x.shape[-2])):
        raise ValueError(positions)
    return turned(x, positions)
""",
    "products": """
domain = {"multihead_self_attention": {"d": "h d_k", "d_v": "d_k", "is_causal": (False,), "theta": (500.0, 2.5)}}

def multihead_self_attention(x, w_q, w_k, w_v, w_o, *, num_heads, is_causal, theta):
    d = x.shape[-1]
    if is_causal or theta not in (500.0, 2.5) or not w_q.shape == w_k.shape == w_v.shape == w_o.shape == (d, d):
        raise ValueError(f"is_causal {is_causal}, theta {theta}, x {x.shape}, w_q {w_q.shape}, w_v {w_v.shape}")
    heads = (*x.shape[:-1], num_heads, d // num_heads)
    q, k, v = (np.swapaxes((x @ w.T).reshape(heads), -2, -3) for w in (w_q, w_k, w_v))
    q, k = (turned(y, np.arange(x.shape[-2]), theta) for y in (q, k))
    y = np.swapaxes(attention(q, k, v), -2, -3)
    return (y.reshape(x.shape) @ w_o.T).astype(x.dtype)
""",
    "contiguous and never empty": """
domain = {name: {"contiguous": True, "empty": False} for name in ("relu", "rms_norm")}
plain_rms_norm, plain_relu = rms_norm, relu

def checked(*arrays):
    for a in arrays:
        if not a.flags.c_contiguous or not a.size:
            raise ValueError(f"{a.shape}, strides {a.strides}")

def rms_norm(x, weight, *, eps):
    checked(x, weight)
    return plain_rms_norm(x, weight, eps=eps)

def relu(x):
    checked(x)
    return plain_relu(x)
""",
}


OPERATIONS = {
    "dimensions": "scaled_dot_product_attention",
    "values": "rms_norm or softmax",
    "one value": "rms_norm",
    "zero, which some laws cannot do with": "rms_norm or layer_norm",
    "products": "multihead_self_attention",
}
TRIED_WITH_REFERENCE = {
    "dimensions": "scaled_dot_product_attention",
    "values": "rms_norm",
    "products": "multihead_self_attention",
}


def name_file(restriction: str) -> str:
    return f"within_{[*DOMAINS].index(restriction)}"


@pytest.fixture(scope="module")
def restricted(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return one run on a backend for each domain."""
    selections = {name: OPERATIONS.get(name, "rope" if "positions" in name else "relu or rms_norm") for name in DOMAINS}
    laws = " or ".join(f"{name_file(name)} and ({selection})" for name, selection in selections.items())
    bodies = {name_file(name): PLAIN + lines for name, lines in DOMAINS.items()}
    return suite_of_each(tmp_path_factory.mktemp("restricted"), bodies, "--hypothesis-seed=5", "-k", laws)


@pytest.mark.parametrize("restriction", DOMAINS)
def test_nothing_outside_the_domain_is_tried(restriction: str, restricted: Run) -> None:
    statuses = [fact["status"] for fact in restricted.facts if fact["backend"] == name_file(restriction)]
    assert "failed" not in statuses, restricted.text
    assert "passed" in statuses
    assert restricted.code == 0, restricted.text


@pytest.mark.parametrize("restriction", TRIED_WITH_REFERENCE)
def test_the_reference_is_tried_inside_the_domain(restriction: str, restricted: Run) -> None:
    facts = [fact for fact in restricted.facts if fact["backend"] == name_file(restriction) and fact["status"] == "passed"]
    assert {f"{TRIED_WITH_REFERENCE[restriction]}.{law}" for law in ("reference", "batch_independence")} <= {
        fact["id"] for fact in facts
    }


KERNEL = """
dtypes = ("float16",)
domain = {
    "scaled_dot_product_attention": {
        "d_k": (64, 128), "d_v": "d_k", "n": range(16, 4097, 16), "m": range(16, 4097, 16),
        "batch_dims": (1,), "contiguous": True, "empty": False,
    }
}

def scaled_dot_product_attention(q, k, v, *, is_causal=False, scale=None):
    width, lengths = q.shape[-1], {q.shape[-2], k.shape[-2]}
    if width not in (64, 128) or v.shape[-1] != width or any(n % 16 for n in lengths) or {q.ndim, k.ndim, v.ndim} != {3}:
        raise ValueError(f"q {q.shape}, k {k.shape}, v {v.shape}")
    return attention(q, k, v, is_causal=is_causal, scale=scale).astype(q.dtype)
"""
NEED_OTHER_SIZES = {  # one key, two keys, none, a width of 4 or 16, or one width four times another
    "one_key", "two_keys", "empty", "no_queries", "default_scale", "scale_follows_the_width_of_queries",
}  # fmt: skip


def test_a_kernel_for_two_widths_and_whole_tiles_is_tried_by_every_law(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + ATTENTION + KERNEL)
    options = ("-k", "scaled_dot_product_attention and not alibi")
    run = suite(tmp_path, "--backend=mine.py", "--hypothesis-seed=5", "--effort=default", *options)
    assert run.code == 0, run.text
    lengths = "n 16 to 4096 in steps of 16, m 16 to 4096 in steps of 16"
    stated = f"scaled_dot_product_attention: d_k 64 or 128, d_v = d_k, {lengths}, batch_dims 1, contiguous, not empty"
    assert stated in " ".join(run.text.partition("tried only within this domain:")[2].split())
    idle = {fact["id"].rpartition(".")[2] for fact in run.facts if "no example" in fact["reason"] or "domain" in fact["reason"]}
    assert idle <= NEED_OTHER_SIZES


SIZES = {"h": (4,), "h_kv": (2,), "d_k": (8,), "d_v": (16,), "num_layers": (2,)}
VALUES: dict[str, Any] = {
    "eps": (1e-5,), "axis": (-1,), "theta": (500.0,), "layout": ("half",), "scale": (0.125,), "is_causal": (True,),
    "window": (3,), "approximate": ("tanh",), "activation": ("gelu",), "norm": ("post",), "aligned": ("top-left",),
    "num_heads": (4,), "num_kv_heads": (2,), "n": (24,), "m": (24,), "style": ("encoder",), "d_model": (64,),
    "d_ff": (64,), "num_layers": (2,), "vocab_size": (7,), "softcap": (15.0,), "left_window": (3,), "right_window": (2,),
    "rotary_dim": (6,), "attention_factor": (2.0,), "gate": ("second",), "limit": (7.0,), "alpha": (1.702,), "offset": (1.0,),
    "sections": ((1, 1, 1), None), "section_layout": ("interleaved",), "steps": (3,),
    "block_size": (2,), "rank": (2,), "dt_softplus": (True,), "dt_limit": ((0.25, 2.0),), "indexer_scores.activation": ("none",),
    "coefficients": ((1.5, -0.5, 0.0),), "momentum": (0.5,), "nesterov": (False,), "adjust": ("match_rms_adamw",),
    "ignore_index": (-1,), "label_smoothing": (0.5,), "z_loss": (0.1,), "reduction": ("sum",), "step": (3,),
    "learning_rate": (0.1,), "beta1": (0.5,), "beta2": (0.95,), "weight_decay": (0.1,), "max_learning_rate": (0.1,),
    "min_learning_rate": (0.01,), "warmup_steps": (7,), "cosine_steps": (3,),
    "repetition_penalty": (2.0,), "frequency_penalty": (0.5,), "presence_penalty": (0.5,),
    "top_k": (3,), "top_p": (0.75,), "min_p": (0.25,), "method": ("gumbel",), "seed": (3,), "num_samples": (2,),
    "max_norm": (0.5,), "k": (2,), "scaling_factor": (2.5,), "groups": (2,), "top_groups": (1,), "d_k": (8,), "factor": (4.0,),
    "original_length": (64,), "length": (300,), "low_frequency_factor": (2.0,), "high_frequency_factor": (8.0,),
    "beta_fast": (16.0,), "beta_slow": (2.0,), "short_factors": (None,), "long_factors": (None,), "group_score": ("max",),
    "dtype": ("float8_e5m2",), "block": ((1, 16),), "scale_dtype": ("float32",), "q_dtype": ("int8",),
    "a_dtype": ("float8_e4m3fn",), "b_dtype": ("int8",), "block_a": ((1, 16),), "block_b": ((3, 1),),
    "scale_dtype_a": ("float32",), "scale_dtype_b": ("float32",), "scaled_matmul.dtype": ("float32",),
    "order": ("awq",), "signed": (True,), "cache_dtype": ("int8",),
    "dequantize.dtype": ("float32",), "scale_rounding": ("floor",), "symmetric": (True,), "dynamic_quantize.eps": (0.0,),
    "mscale": (0.5,), "mscale_all_dim": (0.25,), "padding_idx": (0,),
    "clip_low": (0.1,), "clip_high": (0.28,), "ratio_limit": (3.0,), "kl_weight": (0.1,), "horizon": (64,),
    "beta": (0.5,), "temperature": (2.0,), "group_size": (2,), "lower_bound": (-5.0,),
    "scoring": ("sigmoid",), "renormalize": (True,), "scaling": ("yarn",), "truncate": (False,),
    "logit_softcap": (15.0,), "embedding_scale": (4.0,), "global_every": (2,), "local_theta": (100.0,),
}  # fmt: skip


def some_values(spec: Specification, keyword: str) -> tuple[Any, ...]:
    """Return the value of VALUES, or the last of the operation's own choices if it has others."""
    choices, own = spec.declaration.choices.get(keyword), VALUES.get(f"{spec.name}.{keyword}")
    return own or (choices[-1:] if choices and VALUES.get(keyword, (None,))[0] not in choices else VALUES[keyword])


def restrictions(name: str) -> list[dict[str, Any]]:
    """Return domains with one restriction each: a dimension to one size or a few, a keyword to a value, the batch to a rank."""
    spec = specification(name)
    sizes = [{label: SIZES.get(label, (24,))} for label in dimensions(spec)]
    sizes += [{label: range(16, 200, 16)} for label in dimensions(spec) - SIZES.keys()]
    sizes += [{keyword: some_values(spec, keyword)} for keyword in spec.parameters if keyword not in spec.positional]
    batched = any(spec.core.values()) and not spec.declaration.unbatched and not has_named_batch(spec)
    ranks = [{"batch_dims": (2,)}, {"batch_dims": (0,)}] if batched else []
    return sizes + ranks + ([{"positions": "consecutive"}] if "positions" in spec.positional else [])


@cache
def numpy_cpu() -> Backend:
    return backend("numpy-cpu")


def restrict(name: str, domain: dict[str, Any]) -> Operation:
    """Return the operation of numpy-cpu with this domain."""
    spec = specification(name)
    assert not list(find_complaints(spec, domain))
    kind = Gradient if spec.is_gradient else Operation
    operation = kind(spec, numpy_cpu(), "float32", spec.precision)
    operation.__dict__["domain"] = canonical(spec, domain)
    return operation


def count_by_place(operation: Operation) -> Counter[str]:
    """Draw calls and count them by the reason why they lie outside the domain, which is "" for those inside."""
    found = Counter[str]()

    @settings(max_examples=20, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(data=st.data())
    def run(data: st.DataObject) -> None:
        try:
            call = Draw(data.conjecture_data.draw_integer, operation).call()
        except NotImplementedVariant as refusal:
            found[str(refusal)] += 1
        else:
            found[outside_domain(call)] += 1
            assert np.size(call.value) >= 0  # the equation accepts the arguments

    run()
    return found


@pytest.mark.parametrize("name", operations())
def test_strategies_draw_inside_any_one_restriction(name: str) -> None:
    for domain in restrictions(name):
        found = count_by_place(restrict(name, domain))
        assert found[""] >= 0.6 * found.total(), (domain, found)


@pytest.mark.parametrize("reduction", ["sum", "none"])
def test_logits_of_no_rows_are_empty_whatever_they_add_up_to(reduction: str) -> None:
    operation = restrict("cross_entropy", {"empty": False})
    call = operation.call(np.zeros((0, 3)), np.zeros(0, int), reduction=reduction)
    assert outside_domain(call) == "its domain excludes empty arrays"
    assert outside_domain(operation.call(np.zeros((1, 3)), np.zeros(1, int), reduction=reduction)) == ""


@pytest.mark.parametrize("name", gradients())
def test_a_gradient_is_tried_inside_the_domain(name: str) -> None:
    found = count_by_place(restrict(name, {"empty": False}))
    assert set(found) <= {"", "its domain excludes empty arrays"}
    assert found[""] >= 0.6 * found.total()


def test_a_domain_of_the_command_line_is_not_called_the_backend_s(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RELU + 'domain = {"relu": {"empty": False}}\n')
    for option, said in (
        ((), "relu: not empty"),
        (('--domain={"relu": {"dtype": ["float32"]}}',), "relu: dtype float32 (given by --domain)"),
    ):
        run = suite(tmp_path, "--backend=mine.py", "--effort=smoke", "-k", "relu and not vjp", *option)
        assert run.code == 0, run.text
        assert f"tried only within this domain:\n  {said}\n" in run.text


def test_an_array_that_every_call_must_have_is_in_every_call() -> None:
    operation = restrict("linear_attention", {"g": "required", "beta": "required"})
    assert operation.missing == ""
    found = count_by_place(operation)
    assert found[""] == found.total()
    arrays = [np.ones(shape) for shape in ((1, 2, 1), (1, 2, 1), (1, 2, 1), (1, 2, 1))]
    assert outside_domain(operation.call(*arrays)) == "its domain has no call without beta"


def test_only_an_optional_array_can_be_required() -> None:
    spec = specification("linear_attention")
    assert list(find_complaints(spec, {"g": "required"})) == []
    assert "'required'" in next(find_complaints(spec, {"g": (1,)}))
    assert "names 'q'" in next(find_complaints(spec, {"q": "required"}))


def test_what_no_call_has_is_in_none() -> None:
    under_test = backend("numpy-cpu")
    under_test.replace_domain(
        {"swiglu": {"b1": (None,), "b2": (None,), "b3": (None,)}, "multihead_self_attention": {"num_kv_heads": (None,)}}
    )
    for name, left_out in (("swiglu", {"b1", "b2", "b3"}), ("multihead_self_attention", {"num_kv_heads"})):
        spec = specification(name)
        operation = Operation(spec, under_test, "float32", spec.precision)
        assert operation.left_out == left_out
        found = count_by_place(operation)
        assert found[""] == found.total()
    operation = Operation(specification("swiglu"), under_test, "float32", "eager")
    call = operation.call(np.ones((1, 2)), np.ones((3, 2)), np.ones((2, 3)), np.ones((3, 2)), b2=np.ones(2))
    assert outside_domain(call) == "its domain has no b2"


def test_a_value_that_a_keyword_does_not_have_is_answered_with_those_that_it_has() -> None:
    (complaint,) = find_complaints(specification("rope"), {"layout": ("halves",)})
    assert complaint.endswith("'halves' is none of interleaved, half")
    assert list(find_complaints(specification("rope"), {"layout": ("half",), "rotary_dim": (None,)})) == []


@pytest.mark.parametrize("is_required", [False, True])
@pytest.mark.parametrize("name", ["scaled_dot_product_attention", "scaled_dot_product_attention_vjp"])
def test_what_no_call_has_is_none_where_a_function_requires_it(name: str, is_required: bool) -> None:
    def with_default(q: Any, k: Any, v: Any, *, scale: float | None = None) -> Any: ...

    def without_default(q: Any, k: Any, v: Any, *, scale: float | None) -> Any: ...

    source = SimpleNamespace(
        framework="numpy",
        scaled_dot_product_attention=without_default if is_required else with_default,
        domain={"scaled_dot_product_attention": {"scale": (None,)}},
    )
    kind = Gradient if name.endswith("_vjp") else Operation
    called = kind(specification(name), build_backend(source, set(operations())), "float64", "eager")
    assert called.accepts("scale") == is_required
    assert called.domain.get("scale") == ((None,) if is_required else None)


@pytest.mark.parametrize(("stated", "drawn"), [((2, None), {2, None}), ((2, 4), {2, 4})])
def test_as_many_heads_of_keys_as_of_queries_may_be_unsaid(stated: tuple[int | None, ...], drawn: set[int | None]) -> None:
    operation = restrict("multihead_self_attention", {"num_heads": (2, 4), "num_kv_heads": stated})
    found = set[Any]()
    for seed in range(40):
        call = RandomDraw(operation, seed).call()
        found.add(call.keywords["num_kv_heads"])
        assert outside_domain(call) == ""
        assert np.size(call.value) >= 0
    assert found == drawn
