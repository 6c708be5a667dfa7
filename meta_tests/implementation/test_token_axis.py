"""The convention `token_axis`: a backend that has tokens before heads is given such arrays, and judged by the same equations."""

import ast
import json
import re
from pathlib import Path
from random import Random
from textwrap import dedent
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import spec_tests
from spec_tests.calls.axis_order import AxisOrder
from spec_tests.calls.gradient import Gradient
from spec_tests.calls.operation import Operation
from spec_tests.calls.violation import Violation
from spec_tests.deviations import OracleBackend, find
from spec_tests.diagnosis.evidence import Evidence
from spec_tests.diagnosis.known_deviations import diagnose
from spec_tests.implementation.backend import Backend, build_backend
from spec_tests.implementation.framework import Framework
from spec_tests.inputs.draw import Draw
from spec_tests.report.script_writer import write_truth
from spec_tests.specification.conventions import find_convention_complaint
from spec_tests.specification.conventions._passing import PASSINGS
from spec_tests.specification.registry import operations, specification

from ..support.in_process import attempt, trials_of
from ..support.pytest_process import NUMPY, python, suite, write
from ..support.tokens_first import AXES, STATED, TokensFirst


def make(name: str, source: Any, dtype: str = "float32") -> Operation:
    spec = specification(name)
    kind = Gradient if spec.is_gradient else Operation
    return kind(spec, Backend("mine", source, Framework("numpy")), dtype, spec.precision)


def draw_attention(h: int, n: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    q, k, v = (rng.integers(-4, 5, (h, n, 2)) / 4 for _ in range(3))
    return [q, k / 4, v, -rng.integers(0, 3, (h, n, 1)) / 4, np.full((h, n), 0.5)]


def draw_calls(operation: Operation, count: int) -> list[Any]:
    """Answer a few small calls, drawn with every argument."""
    draws = (Draw(Random(f"{operation.name} {number}").randint, operation) for number in range(count))
    calls = [draw.call(all_arguments=True, small=True) for draw in draws]
    for call in calls:
        operation.values(call, operation.run(call))
    return calls


# --- what is passed, and what comes back ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", AXES)
def test_the_arrays_with_tokens_are_exchanged_and_no_others(name: str) -> None:
    operation = make(name, TokensFirst(OracleBackend()))
    arguments, results = dict(operation.argument_order.axes), dict(operation.result_order.axes)
    assert {**arguments, **results} == AXES[name]
    gradient = make(f"{name}_vjp", TokensFirst(OracleBackend()))
    of_out = gradient.argument_order.axes.keys() - arguments.keys()
    assert of_out == ({"cotangent[0]"} if "out" in results else {"cotangent"})
    assert gradient.result_order.axes == arguments


def test_an_order_leads_from_the_equation_to_the_backend_and_back() -> None:
    order, x = AxisOrder({"q": -2, "beta": -1}), np.arange(24).reshape(2, 3, 4)
    assert order.exchange_places("q", x.shape) == order.exchange("q", x).shape == (3, 2, 4)
    assert order.exchange("q", x)[order.exchange_places("q", (1, 2, 3))] == x[1, 2, 3]
    assert [order.exchange_axis("q", axis) for axis in (-1, -2, -3, -4)] == [-1, -3, -2, -4]
    assert [order.exchange_axis("beta", axis) for axis in (-1, -2, -3)] == [-2, -1, -3]
    for name in ("q", "beta", "state"):
        assert np.array_equal(order.exchange(name, order.exchange(name, x)), x)
        assert order.exchange_places(name, order.exchange_places(name, (5, 6, 7))) == (5, 6, 7)
        assert all(order.exchange_axis(name, order.exchange_axis(name, axis)) == axis for axis in (-1, -2, -3, -4))
    assert order.exchange("state", x) is x


def test_other_operations_have_no_such_convention() -> None:
    there = ", ".join(PASSINGS["token_axis"].operations)
    stated = {name: find_convention_complaint("token_axis", {name: STATED}) for name in operations()}
    assert all(words.endswith(f"it is a convention of {there}") == (name not in AXES) for name, words in stated.items())
    assert all(words == "" for name, words in stated.items() if name in AXES)
    assert not any(make(name, OracleBackend(), "float64").argument_order.axes for name in operations())
    unknown = find_convention_complaint("token_axis", "first")
    assert unknown == "its conventions state token_axis = 'first'; there are after heads, before heads"


def test_arguments_are_given_in_the_stated_order_and_lie_without_gaps() -> None:
    for stated, shape in ({}, (3, 5, 2)), ({"token_axis": "after heads"}, (3, 5, 2)), ({"token_axis": STATED}, (5, 3, 2)):
        operation = make(
            "linear_attention", SimpleNamespace(linear_attention=lambda q, k, v, g=None, beta=None: 0, conventions=stated)
        )
        given = draw_attention(h=3, n=5)
        (q, k, v), optional = operation.native(operation.call(*given))
        assert {x.shape for x in (q, k, v)} == {shape}
        assert (optional["g"].shape, optional["beta"].shape) == ((*shape[:2], 1), shape[:2])
        assert all(x.flags.c_contiguous for x in (q, k, v, *optional.values()))
        assert np.array_equal(q if shape == (3, 5, 2) else q.swapaxes(0, 1), given[0])


@pytest.mark.parametrize("name", [*AXES, *(f"{name}_vjp" for name in AXES)])
def test_answers_are_those_of_the_same_code_with_heads_first(name: str) -> None:
    plain, turned = make(name, OracleBackend()), make(name, TokensFirst(OracleBackend()))
    for one, other in zip(draw_calls(plain, 6), draw_calls(turned, 6), strict=True):
        assert np.array_equal(one.observed, other.observed, equal_nan=True)
        assert other.expectation("mixed").accepts_all(other.observed)


def test_messages_and_scripts_have_the_axes_of_the_backend() -> None:
    operation = make("linear_attention", TokensFirst(OracleBackend()))
    call = operation.call(*draw_attention(h=2, n=3))
    operation.result(call)
    index = (np.ravel_multi_index((1, 2, 0), (2, 3, 2)),)  # head 1, token 2
    assert operation.place(call, index) == "out[2, 1, 0]"
    out = call.parts.split(call.value)["out"]
    shown = np.array2string(out.swapaxes(0, 1), separator=", ", precision=7, threshold=12, max_line_width=10**6).replace("\n", "")
    assert f"out = {shown};" in write_truth(call)

    def with_heads_first(q: Any, k: Any, v: Any, g: Any, beta: Any) -> Any:
        out, state = OracleBackend().linear_attention(q, k, v, g, beta)
        return out.swapaxes(0, 1), state

    wrong = make("linear_attention", TokensFirst(SimpleNamespace(linear_attention=with_heads_first)))
    with pytest.raises(Violation, match=r"out has shape \(2, 3, 2\)") as caught:
        wrong.result(wrong.call(*draw_attention(h=2, n=3)))
    assert ("expected", "(3, 2, 2)") in caught.value.facts


# --- what is wrong is caught ------------------------------------------------------------------------------------------


def break_law(under_test: Backend, name: str, law: str) -> list[bool]:
    """Return whether each trial of a law fails, in float32."""
    laws = [(test, trial) for test, trial in trials_of(name, under_test) if trial.dtype == "float32"]
    tried = [pair for pair in laws if pair[0].invariant.id_for(pair[1].operation_name) == f"{name}.{law}"]
    return [attempt(test, trial, 0) is not None for test, trial in tried]


@pytest.mark.parametrize("name", AXES)
def test_a_backend_that_states_the_wrong_order_is_caught(name: str) -> None:
    right, oracle = TokensFirst(OracleBackend()), OracleBackend()
    assert break_law(build_backend(right, operations()), name, "reference") == [False]
    for wrong in (TokensFirst(oracle, conventions={}), TokensFirst(oracle, conventions={"token_axis": "after heads"})):
        assert break_law(build_backend(wrong, operations()), name, "reference") == [True]
    plain = SimpleNamespace(**{name: getattr(oracle, name)}, framework="numpy", conventions={"token_axis": STATED})
    assert break_law(build_backend(plain, operations()), name, "reference") == [True]


def test_the_wrong_order_is_caught_where_shapes_do_not_show_it() -> None:
    for source, is_right in ((TokensFirst(OracleBackend()), True), (TokensFirst(OracleBackend(), conventions={}), False)):
        operation = make("linear_attention", source)
        call = operation.call(*draw_attention(h=3, n=3))
        operation.result(call)
        assert call.expectation("mixed").accepts_all(call.observed) == is_right


DEVIATIONS = [
    "linear_attention/error-before-the-decay",
    "mamba2_scan/input-without-the-step",
    "linear_attention_gate/bias-after-softplus",
    "linear_attention_vjp/scale-missing-for-queries",
]


@pytest.mark.parametrize("name", DEVIATIONS)
def test_a_deviation_has_its_name_in_either_order(name: str) -> None:
    deviation, named = find(name), []
    assert deviation is not None
    for source in (OracleBackend(deviation), TokensFirst(OracleBackend(deviation))):
        calls = draw_calls(make(deviation.operation, source), 8)
        wrong = [call for call in calls if not call.expectation("mixed").accepts_all(call.observed)]
        named.append([one.id for one in diagnose(Evidence.gather(wrong, [call for call in calls if call not in wrong]))])
    assert named == [[name], [name]]


def test_an_object_is_judged_in_the_order_that_it_states() -> None:
    law = {"dtype": "float32", "coverage": "any", "effort": "smoke"}
    spec_tests.check(TokensFirst(OracleBackend()), "linear_attention_gate.reference", **law)
    with pytest.raises(spec_tests.DoesNotConform):
        spec_tests.check(TokensFirst(OracleBackend(), conventions={}), "linear_attention_gate.reference", **law)


# --- a run ------------------------------------------------------------------------------------------------------------

MINE = f"""
{NUMPY}
conventions = {{"token_axis": "before heads"}}
domain = {{"linear_attention": {{"g": "required", "beta": "required"}}}}

def linear_attention(q, k, v, g, beta, state=None, *, scale=None):
    q, k, v, g, beta = (x.astype(np.float64) for x in (q, k, v, g, beta))
    q, k = (np.repeat(x, v.shape[-2] // x.shape[-2], axis=-2) for x in (q, k))
    shape = (*v.shape[:-3], v.shape[-2], k.shape[-1], v.shape[-1])
    s, out = np.zeros(shape) if state is None else state.astype(np.float64), np.empty(v.shape)
    for t in range(v.shape[-3]):
        kept = np.exp(g[..., t, :, :, None]) * s
        key, seen = k[..., t, :, :, None], SEEN
        s = kept + key * beta[..., t, :, None, None] * (v[..., t, :, None, :] - np.sum(key * seen, axis=-2, keepdims=True))
        out[..., t, :, :] = np.sum(q[..., t, :, :, None] * s, axis=-2) * (k.shape[-1] ** -0.5 if scale is None else scale)
    return out.astype(np.float32), s.astype(np.float32)
"""


@pytest.mark.parametrize("options", [(), ("--isolate",)], ids=["here", "isolated"])
def test_a_run_names_the_bug_and_its_script_shows_it(tmp_path: Path, options: tuple[str, ...]) -> None:
    """The report says what is stated. The script has arrays of the backend, and its answer is not the truth that it prints."""
    write(tmp_path, mine=MINE.replace("SEEN", "s"))  # the error of the state before it decays
    run = suite(tmp_path, "--backend=mine.py", "--report=out", "-k", "linear_attention.reference", *options)
    assert "linear_attention/error-before-the-decay" in run.message()
    records = [json.loads(line) for line in (tmp_path / "out" / "report.jsonl").read_text().splitlines()]
    assert '"token_axis": "before heads"' in json.dumps(records)
    script = dedent(re.findall(r"(?ms)^ *import importlib\n.*?# the truth: [^\n]*", run.message())[0])
    shown = python(tmp_path, "-c", script)
    assert shown.returncode == 0, shown.stderr
    truth = np.array(ast.literal_eval(re.findall(r"# the truth: out = (.*?); state = ", script)[0]))
    answer = eval(shown.stdout.strip(), {"array": lambda x, dtype: np.array(x, dtype), "float32": np.float32})[0]
    given = re.findall(r"    v = np.array\((.*)\)|    v = (.*)", run.message())[0]
    assert answer.shape == truth.shape == np.shape(ast.literal_eval("".join(given)))
    assert not np.allclose(answer, truth)


@pytest.mark.parametrize("options", [(), ("--isolate",)], ids=["here", "isolated"])
def test_a_run_of_right_code_conforms(tmp_path: Path, options: tuple[str, ...]) -> None:
    write(tmp_path, mine=MINE.replace("SEEN", "kept"))
    run = suite(tmp_path, "--backend=mine.py", "-k", "linear_attention and (reference or any_cut or layout_blind)", *options)
    assert run.code == 0, run.text
    assert run.count("passed") > 1
    assert 'add: conventions = {"token_axis": "before heads", "cache_update": "returned"}' in run.text
