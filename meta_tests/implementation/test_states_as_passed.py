"""The conventions state_dtype and state_layout: what is stated is given, and judged by the same equations."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from backends import numpy_cpu
from spec_tests.calls.operation import Operation
from spec_tests.deviations import OracleBackend, find
from spec_tests.diagnosis.evidence import Evidence
from spec_tests.diagnosis.known_deviations import diagnose
from spec_tests.implementation.backend import Backend, build_backend
from spec_tests.implementation.framework import Framework
from spec_tests.specification.conventions import find_convention_complaint
from spec_tests.specification.registry import operations, specification

from ..support.in_process import caught_by
from ..support.pytest_process import NUMPY, suite, write
from .test_token_axis import draw_calls, make

RECURRENT = ("linear_attention", "mamba2_scan")
LAWS = ("reference", "dtype_shape_device")
Store = Callable[[Any, Any], Any]  # from the dtype of a given state, None without one, and that of q or x


def store_as(how: str) -> Store:
    """Return which dtype a returned state has."""
    wide: Store = lambda given, own: np.promote_types(own, np.float32)  # noqa: E731
    either: Store = lambda given, own: given or own  # noqa: E731
    return {"wide": wide, "input": lambda given, own: own, "given": either}[how]


def keep_states(name: str, how: str, source: Any = numpy_cpu) -> Callable[..., Any]:
    """Return a function that computes with wide states, and returns them in the dtype of `how`."""
    function = getattr(source, name)

    def operation(first: Any, *others: Any, state: Any = None, **options: Any) -> Any:
        wide = np.promote_types(first.dtype, np.float32)
        out, after = function(first, *others, state=None if state is None else state.astype(wide), **options)
        return out, after.astype(store_as(how)(None if state is None else state.dtype, first.dtype))

    return operation


def turn_states(name: str, source: Any) -> Callable[..., Any]:
    """Return a function whose states have their last two axes exchanged."""
    function = getattr(source, name)

    def operation(*arrays: Any, state: Any = None, **options: Any) -> Any:
        out, after = function(*arrays, state=None if state is None else np.swapaxes(state, -1, -2), **options)
        return out, np.swapaxes(after, -1, -2)

    return operation


def build(dtype: str = "float16", stated: dict[str, Any] | None = None, **functions: Any) -> Backend:
    source = SimpleNamespace(framework="numpy", dtypes=(dtype,), conventions={"cache_update": "returned", **(stated or {})})
    source.__dict__.update(functions)
    return build_backend(source, set(operations()))


def broken(under_test: Backend, name: str, *laws: str) -> set[str]:
    return {law for law in laws or LAWS if caught_by(under_test, seed=1, only=f"{name}.{law}")}


# --- state_dtype ------------------------------------------------------------------------------------------------------


@pytest.mark.rotating(one_in=4)
@pytest.mark.parametrize("how", ["wide", "input", "given"])
@pytest.mark.parametrize("name", RECURRENT)
def test_states_of_the_stated_dtype_pass(name: str, how: str) -> None:
    assert broken(build(stated={"state_dtype": how}, **{name: keep_states(name, how)}), name) == set()


@pytest.mark.parametrize(
    ("how", "stated"), [("input", None), ("wide", "input"), ("wide", "given"), ("input", "given"), ("given", None)]
)
@pytest.mark.parametrize("name", RECURRENT)
def test_states_of_another_dtype_are_caught(name: str, how: str, stated: str | None) -> None:
    under_test = build(stated={"state_dtype": stated} if stated else {}, **{name: keep_states(name, how)})
    assert broken(under_test, name) == {"dtype_shape_device"}


def test_both_dtypes_are_given_where_the_backend_takes_both() -> None:
    seen: dict[str, set[str]] = {how: set() for how in ("wide", "input", "given")}
    for how, dtypes in seen.items():
        inner = keep_states("linear_attention", how)

        def note(q: Any, k: Any, v: Any, *, state: Any = None, inner: Any = inner, dtypes: Any = dtypes, **options: Any) -> Any:
            dtypes.add("none" if state is None else state.dtype.name)
            return inner(q, k, v, state=state, **options)

        broken(build(stated={"state_dtype": how}, linear_attention=note), "linear_attention", "reference")
    assert seen["wide"] - {"none"} == {"float32"}
    assert seen["input"] - {"none"} == {"float16"}
    assert seen["given"] - {"none"} == {"float16", "float32"}


def test_the_dtype_of_a_state_follows_from_its_numbers() -> None:
    stated = SimpleNamespace(linear_attention=lambda q, k, v, state=None: 0, conventions={"state_dtype": "given"})
    operation = Operation(specification("linear_attention"), Backend("mine", stated, Framework("numpy")), "float16", "mixed")
    q, k, v = (np.ones((1, 2, 2)) for _ in "qkv")
    for number, dtype in ((0.5, "float16"), (1 + 2.0**-20, "float32")):
        call = operation.call(q, k, v, state=np.full((1, 2, 2), number))
        assert operation.native(call)[1]["state"].dtype == dtype
        assert operation.expected_dtypes("state", call.keywords) == (dtype,)
    assert operation.expected_dtypes("state", operation.call(q, k, v).keywords) == ("float16",)


# --- state_layout -----------------------------------------------------------------------------------------------------


def test_only_linear_attention_has_layouts() -> None:
    stated = {name: find_convention_complaint("state_layout", {name: "vk"}) for name in operations()}
    assert [name for name, words in stated.items() if not words] == ["linear_attention"]
    unknown = find_convention_complaint("state_layout", "kvk")
    assert unknown == "its conventions state state_layout = 'kvk'; there are kv, vk"


class ValuesFirst:
    """The oracle with transposed states, and tokens as they are or before heads."""

    def __init__(self, source: Any, **stated: Any):
        self.conventions = {"state_layout": "vk", **stated}
        self.linear_attention = turn_states("linear_attention", source)


def test_the_state_is_exchanged_and_no_other_array() -> None:
    for stated, tokens in (({}, {}), ({"token_axis": "before heads"}, {"q": -2, "k": -2, "v": -2, "g": -2, "beta": -1})):
        operation = make("linear_attention", ValuesFirst(OracleBackend(), **stated))
        assert dict(operation.argument_order.axes) == {"state": -1, **tokens}
        assert dict(operation.result_order.axes) == {"state": -1, **({"out": -2} if tokens else {})}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_layout_is_judged_as_it_is_stated(dtype: str) -> None:
    turned = turn_states("linear_attention", numpy_cpu)
    assert broken(build(dtype, {"state_layout": "vk"}, linear_attention=turned), "linear_attention") == set()
    assert "reference" in broken(build(dtype, linear_attention=turned), "linear_attention")
    assert "reference" in broken(
        build(dtype, {"state_layout": "vk"}, linear_attention=numpy_cpu.linear_attention), "linear_attention"
    )


def test_a_transposed_state_is_written_in_place() -> None:
    def write_to(*arrays: Any, state: Any = None, **options: Any) -> Any:
        out, after = turn_states("linear_attention", numpy_cpu)(*arrays, state=state, **options)
        if state is None:
            return out, after
        state[...] = after
        return out, state

    stated = {"state_layout": "vk", "cache_update": "in place"}
    assert broken(build("float32", stated, linear_attention=write_to), "linear_attention") == set()


@pytest.mark.parametrize("name", ["linear_attention/error-before-the-decay", "linear_attention/given-state-ignored"])
def test_a_deviation_has_its_name_in_either_layout(name: str) -> None:
    deviation, named = find(name), []
    assert deviation is not None
    for source in (OracleBackend(deviation), ValuesFirst(OracleBackend(deviation))):
        calls = draw_calls(make("linear_attention", source), 8)
        wrong = [call for call in calls if not call.expectation("mixed").accepts_all(call.observed)]
        named.append([one.id for one in diagnose(Evidence.gather(wrong, [call for call in calls if call not in wrong]))])
    assert named == [[name], [name]]


# --- a run ------------------------------------------------------------------------------------------------------------

MINE = f"""
{NUMPY}
dtypes = ("float32", "float16")
conventions = {{"state_layout": "vk", "state_dtype": "input", "cache_update": "returned"}}

def linear_attention(q, k, v, g=None, beta=None, state=None, *, scale=None):
    dtype, (q, k, v) = q.dtype, (x.astype(np.float64) for x in (q, k, v))
    q, k = (np.repeat(x, v.shape[-3] // x.shape[-3], axis=-3) for x in (q, k))
    s = np.zeros((*v.shape[:-2], v.shape[-1], k.shape[-1])) if state is None else state.astype(np.float64)
    out = np.empty(v.shape)
    for t in range(v.shape[-2]):
        s = s if g is None else s * np.exp(g[..., t, None, :].astype(np.float64))
        new = v[..., t, :]
        if beta is not None:
            new = (new - (s @ k[..., t, :, None])[..., 0]) * beta[..., t, None]
        s = s + new[..., :, None] * k[..., t, None, :]
        out[..., t, :] = (s @ q[..., t, :, None])[..., 0] * (k.shape[-1] ** -0.5 if scale is None else scale)
    return out.astype(dtype), s.astype(STATE)
"""


@pytest.mark.parametrize("options", [(), ("--isolate",)], ids=["here", "isolated"])
def test_a_run_judges_what_is_stated(tmp_path: Path, options: tuple[str, ...]) -> None:
    laws = "linear_attention and (reference or dtype_shape or any_cut)"
    write(tmp_path, mine=MINE.replace("STATE", "dtype"))
    run = suite(tmp_path, "--backend=mine.py", "--report=out", "--dtype=float16,float32", "-k", laws, *options)
    assert run.code == 0, run.text
    records = [json.loads(line) for line in (tmp_path / "out" / "report.jsonl").read_text().splitlines()]
    assert '"state_layout": "vk"' in json.dumps(records)
    write(tmp_path, mine=MINE.replace("STATE", "np.float32"))
    run = suite(tmp_path, "--backend=mine.py", "--dtype=float16", "-k", laws, *options)
    assert "state is float32" in run.text
