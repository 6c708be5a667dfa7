"""Operations with several results, and operations that write to their arguments: how a backend may return them."""

from collections import namedtuple
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from spec_tests.calls.operation import Operation
from spec_tests.calls.violation import Violation
from spec_tests.implementation.backend import BackendError, build_backend
from spec_tests.implementation.named_results import name_results
from spec_tests.specification import run_settings
from spec_tests.specification.registry import operations, specification
from spec_tests.specification.run_settings import RunSettings

from ..support.in_process import attempt, trials_of

State = namedtuple("State", ["output", "logsumexp"])


def merge(out_a: Any, lse_a: Any, out_b: Any, lse_b: Any) -> tuple[Any, Any]:
    with np.errstate(all="ignore"):
        top = np.maximum(lse_a, lse_b)
        top = np.where(np.isinf(top), 0, top).astype(lse_a.dtype)
        e_a, e_b = np.exp(lse_a - top), np.exp(lse_b - top)
        total = np.where(e_a + e_b == 0, 1, e_a + e_b)
        a, b = (np.where(np.isneginf(s)[..., None], 0, x.astype(s.dtype)) for x, s in ((out_a, lse_a), (out_b, lse_b)))
        out = (e_a / total)[..., None] * a + (e_b / total)[..., None] * b
        return out.astype(out_a.dtype), (top + np.log(e_a + e_b)).astype(lse_a.dtype)


def violations(source: Any, operation: str) -> dict[str, Violation]:
    """Return the violations of the laws of an operation, by their ids, at smoke effort."""
    under_test = build_backend(source, operations())
    found = {}
    for test, trial in trials_of(operation, under_test):
        if test.invariant.level is None and (violation := attempt(test, trial, seed=1)):
            found[test.invariant.id_for(trial.operation_name)] = violation
    return found


@pytest.fixture(autouse=True)
def smoke(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_settings, "_current", RunSettings("smoke"))


@pytest.mark.parametrize(
    "form",
    [
        lambda out, lse: (out, lse),
        lambda out, lse: [out, lse],
        lambda out, lse: State(out, lse),
        lambda out, lse: {"lse": lse, "out": out},
        lambda out, lse: {"output": out, "normalizer": lse},
    ],
)
def test_several_results_come_in_any_form(form: Callable[[Any, Any], Any]) -> None:
    source = SimpleNamespace(framework="numpy", dtypes=("float32", "float16"), merge_attention_states=lambda *x: None)

    def merge_attention_states(out_a: Any, lse_a: Any, out_b: Any, lse_b: Any) -> Any:
        return form(*merge(out_a, lse_a, out_b, lse_b))

    source.merge_attention_states = merge_attention_states
    assert violations(source, "merge_attention_states") == {}


@pytest.mark.parametrize(
    ("result", "what"),
    [
        (np.ones(2), "the result is one object of type ndarray; expected out and lse"),
        ((np.ones(2),), "there are 1 results; expected out and lse"),
        ({"out": 1, "max": 2}, "the results are named out, max; there is no lse"),
    ],
)
def test_results_that_are_not_all_there_are_one_sentence(result: Any, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        name_results(("out", "lse"), result)


def test_an_lse_may_be_wider_than_its_attention_and_not_narrower() -> None:
    for dtype, accepted in ((np.float32, True), (np.float64, True), (np.float16, False)):

        def merge_attention_states(out_a: Any, lse_a: Any, out_b: Any, lse_b: Any, dtype: Any = dtype) -> Any:
            out, lse = merge(out_a, lse_a, out_b, lse_b)
            return out, lse.astype(dtype)

        source = SimpleNamespace(framework="numpy", dtypes=("float32",), merge_attention_states=merge_attention_states)
        found = violations(source, "merge_attention_states")
        assert ("merge_attention_states.dtype_shape_device" not in found) == accepted
        if not accepted:
            assert found["merge_attention_states.dtype_shape_device"].what == "lse is float16"


def test_a_wrong_result_is_called_by_its_name() -> None:
    def merge_attention_states(out_a: Any, lse_a: Any, out_b: Any, lse_b: Any) -> Any:
        out, lse = merge(out_a, lse_a, out_b, lse_b)
        return out, lse + lse_a.dtype.type(1)

    source = SimpleNamespace(framework="numpy", dtypes=("float32",), merge_attention_states=merge_attention_states)
    wrong = violations(source, "merge_attention_states")["merge_attention_states.reference"]
    assert "the worst is lse" in wrong.what


# --- updates in place -----------------------------------------------------------------------------------------------


def write(cache: Any, new: Any, lengths: Any) -> None:
    for row, start in enumerate(lengths):
        cache[row, :, start : start + new.shape[2]] = new[row]


def append_in_place(k_cache: Any, v_cache: Any, k: Any, v: Any, lengths: Any) -> None:
    write(k_cache, k, lengths)
    write(v_cache, v, lengths)


def append_and_return(k_cache: Any, v_cache: Any, k: Any, v: Any, lengths: Any) -> Any:
    append_in_place(k_cache, v_cache, k, v, lengths)
    return k_cache, v_cache


def append_to_copies(k_cache: Any, v_cache: Any, k: Any, v: Any, lengths: Any) -> Any:
    return append_and_return(k_cache.copy(), v_cache.copy(), k, v, lengths)


def source_of(append: Any, **stated: Any) -> Any:
    return SimpleNamespace(framework="numpy", dtypes=("float32",), kv_cache_append=append, **stated)


@pytest.mark.parametrize(
    ("append", "value"), [(append_in_place, "in place"), (append_and_return, "in place"), (append_to_copies, "returned")]
)
def test_both_ways_to_update_a_cache_are_right(append: Any, value: str) -> None:
    assert violations(source_of(append, conventions={"cache_update": value}), "kv_cache_append") == {}
    source = source_of(append)
    under_test = build_backend(source, operations())
    for test, trial in trials_of("kv_cache_append", under_test):
        if test.invariant.level is None:
            assert attempt(test, trial, seed=1) is None, test.invariant.id
    assert under_test.inferred_conventions["kv_cache_append", "cache_update"] == (value,)


@pytest.mark.parametrize(
    ("append", "value"), [(append_in_place, "returned"), (append_and_return, "returned"), (append_to_copies, "in place")]
)
def test_an_update_must_be_what_the_backend_states(append: Any, value: str) -> None:
    found = violations(source_of(append, conventions={"cache_update": value}), "kv_cache_append")
    assert any(f"where the backend states {value}" in violation.what for violation in found.values())


def test_answers_that_contradict_each_other_are_wrong() -> None:
    calls = []

    def append(k_cache: Any, v_cache: Any, k: Any, v: Any, lengths: Any) -> Any:
        calls.append(1)
        return (append_to_copies if len(calls) % 2 else append_in_place)(k_cache, v_cache, k, v, lengths)

    assert any("in other answers" in violation.what for violation in violations(source_of(append), "kv_cache_append").values())


def test_what_is_written_besides_shows() -> None:
    def append(k_cache: Any, v_cache: Any, k: Any, v: Any, lengths: Any) -> None:
        append_in_place(k_cache, v_cache, k, v, lengths)
        k_cache[:, :, -1] = 0

    def moves_lengths(k_cache: Any, v_cache: Any, k: Any, v: Any, lengths: Any) -> None:
        append_in_place(k_cache, v_cache, k, v, lengths)
        lengths += k.shape[2]

    assert "kv_cache_append.other_slots_keep_their_bits" in violations(source_of(append), "kv_cache_append")
    assert "kv_cache_append.inputs_unchanged" in violations(source_of(moves_lengths), "kv_cache_append")


def test_another_array_than_the_one_written_to_is_wrong() -> None:
    def append(k_cache: Any, v_cache: Any, k: Any, v: Any, lengths: Any) -> Any:
        append_in_place(k_cache, v_cache, k, v, lengths)
        return 2 * k_cache, v_cache

    found = violations(source_of(append), "kv_cache_append")
    assert any("another array is returned" in violation.what for violation in found.values())


def test_indices_have_the_dtype_that_the_domain_states() -> None:
    seen = set()

    def append(k_cache: Any, v_cache: Any, k: Any, v: Any, lengths: Any) -> Any:
        seen.add(lengths.dtype.name)
        return append_to_copies(k_cache, v_cache, k, v, lengths)

    assert violations(source_of(append, domain={"kv_cache_append": {"index_dtype": "int32"}}), "kv_cache_append") == {}
    assert seen == {"int32"}
    with pytest.raises(BackendError, match="one of int32, int64"):
        build_backend(source_of(append, domain={"kv_cache_append": {"index_dtype": "int8"}}), operations())


def test_a_result_without_a_gradient_is_stated() -> None:
    torch = pytest.importorskip("torch")

    def attention_with_weights(q: Any, k: Any, v: Any) -> Any:
        weights = torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, dim=-1)
        return weights @ v, weights.detach()

    domain = {"attention_with_weights": {"differentiable": ("out",)}}
    source = SimpleNamespace(framework="torch", dtypes=("float32",), attention_with_weights=attention_with_weights, domain=domain)
    assert violations(source, "attention_with_weights_vjp") == {}
    under_test = build_backend(source, operations())
    spec = specification("attention_with_weights_vjp")
    assert Operation(spec, under_test, "float32", spec.precision).backend.has("attention_with_weights_vjp")


def frequencies(*, attention_factor: Any = None, **options: Any) -> tuple[Any, Any]:
    f, a = specification("rope_frequencies").reference(attention_factor=attention_factor, **options)
    return np.asarray(f, dtype=np.float32), float(a)


def test_a_number_that_depends_on_no_array_may_be_a_python_float() -> None:
    """As transformers returns attention_factor beside the frequencies."""
    assert not violations(SimpleNamespace(framework="numpy", rope_frequencies=frequencies), "rope_frequencies")


def test_a_python_float_in_place_of_an_array_is_a_violation() -> None:
    source = SimpleNamespace(framework="numpy", rope_frequencies=lambda **given: (1.0, frequencies(**given)[1]))
    assert "inverse_frequencies is a float" in str(violations(source, "rope_frequencies")["rope_frequencies.dtype_shape_device"])
