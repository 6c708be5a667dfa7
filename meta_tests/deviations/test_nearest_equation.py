"""Test the search for the nearest equation with bugs that the catalogue does not have."""

import ast
import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import pytest

from spec_tests.calls.call import Call
from spec_tests.deviations import OracleBackend, deviations_of
from spec_tests.diagnosis.equations.neighbours.edit import compile_edits
from spec_tests.diagnosis.equations.neighbours.listing import list_edits
from spec_tests.diagnosis.equations.neighbours.screen import Screen
from spec_tests.diagnosis.equations.neighbours.solve import solve
from spec_tests.diagnosis.equations.neighbours.source import source_of
from spec_tests.diagnosis.equations.neighbours.trace import trace
from spec_tests.diagnosis.equations.search import JUDGING_SHARE, search_equation
from spec_tests.diagnosis.evidence import Evidence
from spec_tests.diagnosis.explain import explain
from spec_tests.diagnosis.explanation import Explanation
from spec_tests.diagnosis.known_deviations import diagnose
from spec_tests.diagnosis.wish import Wish
from spec_tests.implementation.backend import Backend
from spec_tests.implementation.framework import Framework
from spec_tests.inputs.effort import EFFORTS
from spec_tests.specification.registry import gradients, operations, specification
from spec_tests.specification.work import Budget

from ..measure.leave_one_out import answered_calls
from ..support.answered import answers
from ..support.budgets import budget_for
from ..support.rotation import rotate

RANDOM = np.random.default_rng(1)
SHAPES = ((3,), (2, 5), (4, 7), (3, 2, 6))
EPS = (0.5, 0.1, 1e-3, 0.25)


def rows(*shape: int) -> np.ndarray:
    return RANDOM.normal(size=shape) * 2


def of_norm(function: Callable[..., Any]) -> list[Call]:
    return answers("rms_norm", function, [((rows(*s), rows(s[-1])), {"eps": e}) for s, e in zip(SHAPES, EPS, strict=True)])


def of_softmax(function: Callable[..., Any]) -> list[Call]:
    return answers("softmax", function, [((rows(*shape),), {"axis": -1}) for shape in SHAPES])


def of_gelu(function: Callable[..., Any]) -> list[Call]:
    return answers("gelu", function, [((rows(*shape),), {"approximate": "tanh"}) for shape in SHAPES])


def of_relu(function: Callable[..., Any]) -> list[Call]:
    return answers("relu", function, [((4 + np.abs(rows(*shape)),), {}) for shape in SHAPES])


def of_mask(function: Callable[..., Any]) -> list[Call]:
    sizes = ((2, 4), (5, 5), (3, 7), (6, 2))
    return answers("causal_mask", function, [((), {"n": n, "m": m, "aligned": "bottom-right"}) for n, m in sizes])


def rms_norm_with_cubes(x: Any, weight: Any, *, eps: float) -> Any:
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * weight**3


def rms_norm_eps_outside(x: Any, weight: Any, *, eps: float) -> Any:
    return x / (np.sqrt(np.mean(x * x, axis=-1, keepdims=True)) + eps) * weight


def rms_norm_with_seven_eps(x: Any, weight: Any, *, eps: float) -> Any:
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + 7 * eps) * weight


def rms_norm_limited(x: Any, weight: Any, *, eps: float) -> Any:
    return np.minimum(x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps), 0.7) * weight


def softmax_of_thirds(x: Any, *, axis: int) -> Any:
    e = np.exp((x - np.max(x, axis=axis, keepdims=True)) * 0.3)
    return e / np.sum(e, axis=axis, keepdims=True)


def softmax_padded_to_eights(x: Any, *, axis: int) -> Any:
    n = x.shape[axis]
    padded = np.concatenate([x, np.zeros((*x.shape[:-1], -n % 8))], axis=-1)
    e = np.exp(padded - np.max(padded, axis=-1, keepdims=True))
    return (e / np.sum(e, axis=-1, keepdims=True))[..., :n]


def softmax_of_fours_without_rescaling(x: Any, *, axis: int) -> Any:
    largest = np.maximum.accumulate(x, axis=-1)
    ends = np.minimum(np.arange(x.shape[-1]) // 4 * 4 + 3, x.shape[-1] - 1)
    return np.exp(x - largest[..., -1:]) / np.sum(np.exp(x - largest[..., ends]), axis=-1, keepdims=True)


def softmax_of_fours_accumulated_without_rescaling(x: Any, *, axis: int) -> Any:
    largest = np.maximum.accumulate(x, axis=-1)
    ends = np.minimum(np.arange(x.shape[-1]) // 4 * 4 + 3, x.shape[-1] - 1)
    return np.exp(x - largest[..., ends]) / np.sum(np.exp(x - largest[..., -1:]), axis=-1, keepdims=True)


def rms_norm_of_the_last_row_of_all(x: Any, weight: Any, *, eps: float) -> Any:
    y = x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * weight
    y.reshape(-1, y.shape[-1])[:-1] = 0
    return y


def gelu_with_a_half(x: Any, *, approximate: str = "none") -> Any:
    return x * (0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.05 * x**3))))


def relu_raised(x: Any) -> Any:
    """The right answers are exact; these are rounded."""
    return np.maximum(x, 0) + 0.3


def mask_every_other_query(*, n: int, m: int, aligned: str) -> Any:
    i, j = np.arange(n)[:, None], np.arange(m)
    return j <= (2 * i + (m - n))


UNSEEN = [
    (of_norm, rms_norm_with_cubes, "rms_norm", "weight"),
    (of_norm, rms_norm_with_seven_eps, "rms_norm", "eps"),
    (of_norm, rms_norm_limited, "rms_norm", "0.7"),
    (of_softmax, softmax_of_thirds, "softmax", "0.3"),
    (
        of_softmax,
        softmax_padded_to_eights,
        "softmax",
        "padded with 0 along axis to (x.shape[axis] rounded up to a multiple of 8)»",
    ),
    (of_softmax, softmax_of_fours_without_rescaling, "softmax", "the maximum of x so far, by blocks of 4 along axis"),
    (
        of_softmax,
        softmax_of_fours_accumulated_without_rescaling,
        "softmax",
        "«exp(x - (the maximum of x so far, by blocks of 4 along axis))» / sum(e)",
    ),
    (of_norm, rms_norm_of_the_last_row_of_all, "rms_norm", ", 0 but in rows "),
    (of_gelu, gelu_with_a_half, "gelu", "0.05"),
    (of_relu, relu_raised, "relu", "0.3"),
    (of_mask, mask_every_other_query, "causal_mask", "+ i»"),
]


def search(calls: list[Call], **options: Any) -> Explanation | None:
    evidence = Evidence.gather(calls)
    return search_equation(evidence, budget=budget_for(evidence, share=1.0), **options)


@pytest.mark.parametrize(("calls_of", "function", "operation", "text"), UNSEEN, ids=[f.__name__ for _, f, _, _ in UNSEEN])
def test_a_bug_that_nobody_listed_is_shown_as_an_equation(
    calls_of: Callable[..., list[Call]], function: Callable[..., Any], operation: str, text: str
) -> None:
    found = search(calls_of(function))
    assert found is not None
    assert (found.kind, found.operation) == ("equation", operation)
    assert text in found.what
    assert all(found.predicts(call) for call in calls_of(function))  # fresh inputs


def test_a_sum_over_blocks_without_its_correction_is_found_deep_inside_an_operation() -> None:
    """The softmax of paged attention is three files away, and what stands before it has thousands of changed lines."""

    def paged(*arguments: Any) -> Any:
        with mock.patch("reference_numpy.scaled_dot_product_attention.softmax", softmax_of_fours_accumulated_without_rescaling):
            return specification("paged_attention").reference(*arguments)

    def draw(n: int, slots: int) -> tuple[Any, ...]:
        table = np.array([RANDOM.permutation(8) for _ in range(2)])
        return rows(2, 2, n, 3), rows(8, 2, 1, 3), rows(8, 2, 1, 3), table, np.array([slots, slots - 1])

    calls = answers("paged_attention", paged, [(draw(n, slots), {}) for n, slots in ((1, 6), (2, 9), (1, 13), (3, 11))])
    evidence = Evidence.gather(calls)
    found = search_equation(evidence, budget=budget_for(evidence, share=0.25))
    assert found is not None
    assert "the maximum of x so far, by blocks of 4 along axis" in found.what


def test_a_constant_that_the_answers_leave_open_is_not_said() -> None:
    """Zeros are what every large negative limit gives, such as logistic(at_most(x, -100)). They are said as zeros."""
    calls = answers("sigmoid", lambda x: 0.0 * x, [((rows(*shape),), {}) for shape in SHAPES])
    found = search(calls)
    assert found is not None
    assert "0 *" in found.what or "* 0" in found.what
    assert "100" not in found.what


def test_these_bugs_are_not_in_the_catalogue() -> None:
    assert [function.__name__ for calls_of, function, _, _ in UNSEEN if diagnose(Evidence.gather(calls_of(function)))] == []


def test_right_answers_have_no_other_equation() -> None:
    assert search(of_norm(specification("rms_norm").reference)) is None


@pytest.mark.rotating
def test_answers_that_follow_no_equation_are_not_explained() -> None:
    def noisy(x: Any, weight: Any, *, eps: float) -> Any:
        return specification("rms_norm").reference(x, weight, eps=eps) + RANDOM.normal(size=x.shape)

    assert search(of_norm(noisy)) is None


@pytest.mark.rotating
def test_one_right_answer_against_it_refutes_an_equation() -> None:
    contradicted = of_norm(specification("rms_norm").reference)
    assert search([*of_norm(rms_norm_with_seven_eps), *contradicted]) is None


@pytest.mark.rotating
def test_the_answers_to_further_calls_refute_an_equation() -> None:
    def asked() -> list[Call]:
        return of_norm(rms_norm_limited)

    assert search(of_norm(rms_norm_with_seven_eps), ask=asked) is None
    assert search(of_norm(rms_norm_with_seven_eps), ask=lambda: of_norm(rms_norm_with_seven_eps)) is not None


def test_the_oracle_is_left_as_it_is() -> None:
    before = [call.value for call in of_norm(rms_norm_limited)]
    search(of_norm(rms_norm_limited))
    x, weight = np.array([3.0, 4.0]), np.ones(2)
    assert np.allclose(specification("rms_norm").reference(x, weight, eps=0.0), [0.84852814, 1.13137085])
    assert all(np.all(np.isfinite(value)) for value in before)


def test_an_equation_that_writes_into_its_arguments_changes_no_other() -> None:
    def doubling(x: Any, weight: Any, *, eps: float) -> Any:
        x *= 2.0
        return x * weight

    screen = Screen(of_norm(rms_norm_with_cubes)[0])
    before = screen.evaluate(lambda x, weight, *, eps: x * weight)
    first, second = screen.evaluate(doubling), screen.evaluate(doubling)
    assert before is not None
    assert first is not None
    assert np.array_equal(first, 2 * before)
    assert np.array_equal(first, second)


def test_an_equation_that_writes_into_integers_changes_no_call() -> None:
    def counting(token_ids: Any, weight: Any, **options: Any) -> Any:
        token_ids[...] = 0
        return weight[token_ids]

    (call,) = answers("embedding", lambda ids, weight: 2 * weight[ids], [((np.array([1, 2]), np.ones((3, 1))), {})])
    assert Screen(call).evaluate(counting) is not None
    assert call.named["token_ids"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("number", "text"),
    [(math.log(1e-7), "math.log(1e-07)"), (-math.log(1e-12), "-math.log(1e-12)"), (math.sqrt(0.3), "math.sqrt(0.3)")],
)
def test_a_constant_may_be_a_function_of_a_simple_number(number: float, text: str) -> None:
    """As where probabilities are not let below 1e-7, and the losses are their logarithms."""
    x = np.linspace(-40.0, 40.0, 9)
    answer = np.minimum(x, number)
    found = solve(lambda c: np.minimum(x, c), answer, np.full(x.shape, 1e-12), answer != x)
    assert text in [name for name, _ in found]


@pytest.mark.parametrize("share", [0.01, 0.05, 0.2])
def test_a_search_ends_with_its_budget(share: float) -> None:
    """It goes on until the budget is spent but for what judging needs, and then ends with the step that it is at."""
    evidence = Evidence.gather(of_norm(lambda x, weight, *, eps: x * np.sin(weight * 1e6)))
    budget = budget_for(evidence, share)
    before = budget.meter.units
    assert search_equation(evidence, budget=budget) is None
    allowed, whole = share * EFFORTS["default"].failure_work, EFFORTS["default"].failure_work
    assert (1 - JUDGING_SHARE) * allowed <= budget.meter.units - before <= allowed + 0.01 * whole


def test_two_searches_cost_the_same() -> None:
    """What the first one compiled and kept is counted for the second, too."""
    costs = []
    for _ in range(2):
        generator = np.random.default_rng(5)
        inputs = [((generator.normal(size=shape), np.ones(shape[-1])), {"eps": 0.1}) for shape in SHAPES]
        evidence = Evidence.gather(answers("rms_norm", rms_norm_with_seven_eps, inputs))
        budget = budget_for(evidence)
        before = budget.meter.units
        assert search_equation(evidence, budget=budget) is not None
        costs.append(budget.meter.units - before)
    assert costs[0] == costs[1] > 0


def test_a_late_diagnosis_tries_nothing_else() -> None:
    """Each step of a diagnosis asks whether it is late, so that a spent budget ends it wherever it is."""
    evidence = Evidence.gather(of_norm(rms_norm_eps_outside))
    asked = itertools.count()
    assert [found.id for found in diagnose(evidence, lambda: next(asked) < 0)] == ["rms_norm/eps-outside-sqrt"]
    assert next(asked) >= len(deviations_of("rms_norm")) / 2
    evidence = Evidence.gather(of_norm(rms_norm_eps_outside))
    assert diagnose(evidence, lambda: True) == []
    assert explain(evidence, is_late=lambda: True) == []
    assert [key for call in evidence.wrong for key in call.deviation_results if key[0] != "wrong"] == []  # nothing was evaluated


def test_a_safety_net_ends_a_search() -> None:
    """The net counts how often it is asked, so that no machine is too slow for this test."""
    evidence, asked = Evidence.gather(of_norm(lambda x, weight, *, eps: x * np.sin(weight * 1e6))), itertools.count()
    budget = Budget(evidence.wrong[0].operation.backend.meter, 1e9, lambda: next(asked) > 40)
    assert search_equation(evidence, budget=budget) is None
    assert budget.is_cut
    assert next(asked) < 400


def test_the_search_goes_on_where_a_further_answer_contradicts_an_equation() -> None:
    """For an eps of 1/7 the answers are those for a fixed eps of 1 as well, which is simpler."""
    first = answers("rms_norm", rms_norm_with_seven_eps, [((rows(*shape), rows(shape[-1])), {"eps": 1 / 7}) for shape in SHAPES])
    ambiguous, settled = search(first), search(first, ask=lambda: of_norm(rms_norm_with_seven_eps))
    assert ambiguous is not None
    assert settled is not None
    assert "7" not in ambiguous.what
    assert "7" in settled.what


@pytest.mark.rotating
def test_an_equation_of_one_mode_is_said_with_its_mode() -> None:
    """A scale that is ignored where no softcap is given. With a softcap the answers are right, and only further calls show it."""
    attention = specification("scaled_dot_product_attention").reference

    def unscaled(q: Any, k: Any, v: Any, *, softcap: float | None = None) -> Any:
        return attention(q, k, v, softcap=softcap, scale=1.0 if softcap is None else None)

    def of_attention(*softcaps: float | None) -> list[Call]:
        arrays = [((rows(3, 4), rows(5, 4), rows(5, 2)), {"softcap": softcap}) for softcap in softcaps]
        return answers("scaled_dot_product_attention", unscaled, arrays)

    def ask(outside: int, wish: Wish | None = None) -> list[Call]:
        if wish is None:
            return of_attention(None, 2.0, None)
        return of_attention(*((4.0,) * outside if wish.given["softcap"] else (None, None)))

    assert search(of_attention(None, None), ask=partial(ask, 0)) is None  # one right answer may be chance
    found = search(of_attention(None, None), ask=partial(ask, 3))
    assert found is not None
    assert found.what.endswith("where softcap is not given, and right elsewhere")
    assert all(found.predicts(call) for call in of_attention(None, 3.0, 1.0))
    assert found.equation_of("softmax") is None


def test_an_equation_is_tested_without_each_setting_that_all_wrong_answers_share() -> None:
    """An equation that explains the wrong answers may change a line that they alone reach."""
    attention = specification("scaled_dot_product_attention").reference
    wishes = []

    def unscaled(q: Any, k: Any, v: Any, *, softcap: float | None = None) -> Any:
        return attention(q, k, v, softcap=softcap, scale=1.0)

    def ask(wish: Wish | None = None) -> list[Call]:
        wishes.append(wish)
        softcap = 2.0 if wish and wish.given.get("softcap") else None
        return answers("scaled_dot_product_attention", unscaled, [((rows(3, 4), rows(5, 4), rows(5, 2)), {"softcap": softcap})])

    assert search(ask() * 2, ask=ask) is not None
    given = [wish for wish in wishes if wish is not None and wish.given.get("softcap")]
    assert any(wish.as_drawn for wish in given)
    assert {"n": 3, "m": 5} in [{name: wish.sizes.get(name) for name in ("n", "m")} for wish in given]


def test_a_changed_part_is_the_same_change_in_what_is_made_of_it() -> None:
    """A softmax that is wrong explains the attention that calls it."""
    found = search(of_softmax(softmax_of_thirds))
    assert found is not None
    attention = specification("scaled_dot_product_attention").reference
    equation = found.equation_of("scaled_dot_product_attention")
    assert equation is not None
    assert found.equation_of("rms_norm") is None
    q, k, v = rows(3, 4), rows(5, 4), rows(5, 2)
    weights = softmax_of_thirds(q @ k.T / 2, axis=-1)
    assert np.allclose(equation(q, k, v), weights @ v)
    assert not np.allclose(attention(q, k, v), weights @ v)
    call = answers("scaled_dot_product_attention", lambda q, k, v, **options: equation(q, k, v), [((q, k, v), {})])[0]
    assert found.predicts(call)
    assert not found.predicts(answers("scaled_dot_product_attention", attention, [((q, k, v), {})])[0])


def test_rules_can_be_withheld() -> None:
    calls = of_mask(mask_every_other_query)
    assert search(calls) is not None
    assert search(calls, withheld=frozenset({"function_applied", "variable_joins", "operand_doubled"})) is None


def is_costly(operation: str) -> bool:
    spec = specification(operation)
    return spec.composed and spec.is_gradient


NAMES = [*operations(), *gradients()]
EQUATIONS = [
    *rotate([name for name in NAMES if not is_costly(name)], 6),
    *(pytest.param(name, marks=pytest.mark.nightly) for name in NAMES if is_costly(name)),
]


@pytest.mark.parametrize("operation", EQUATIONS)
def test_every_rule_works_at_every_place_of_every_equation(operation: str) -> None:
    """List all edits, compile a sample of them, and find every syntax tree as it was."""
    dtype = (*specification(operation).declaration.dtypes, "float64")[0]
    calls = list(answered_calls(Backend("oracle", OracleBackend(), Framework("numpy")), operation, dtype, "places", 6))
    source = source_of(operation)
    before = [ast.dump(site.tree) for site in source.sites]
    seen = trace(source, [partial(call.evaluate, np.asarray) for call in calls])
    edits = [edit for depth in range(4) for edit in list_edits(source, seen, depth)]
    assert edits
    compiled = sum(compile_edits((edit,)) is not None for edit in edits[::20])
    assert compiled > 0.9 * len(edits[::20])
    assert [ast.dump(site.tree) for site in source.sites] == before


def test_no_loop_that_an_edit_could_keep_from_ending_is_edited() -> None:
    sites = [site for name in (*operations(), *gradients()) for site in source_of(name).sites]
    assert {site.name for site in sites if any(isinstance(node, ast.While) for node in ast.walk(site.tree))} == set()
