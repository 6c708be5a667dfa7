"""Conventions on which implementations differ: what a backend states is tested, and what it does not state is inferred."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from spec_tests.calls.violation import Violation
from spec_tests.implementation.backend import Backend, BackendError, build_backend
from spec_tests.report.conventions import describe_conventions
from spec_tests.report.failure import failure_message
from spec_tests.report.verdict import Verdict
from spec_tests.running.verdict_record import build_verdict
from spec_tests.specification.conventions import CONVENTIONS, UPDATE, apply_conventions, find_convention_complaint
from spec_tests.specification.conventions._passing import PASSINGS
from spec_tests.specification.registry import operations, specification

from ..support.in_process import attempt, caught_by, trials

CAUSAL = ("scaled_dot_product_attention", "grouped_query_attention")
MASKED = (*CAUSAL, "local_attention")
ALIGNMENTS, FULLY_MASKED_VALUES = tuple(CONVENTIONS["causal_alignment"].values), tuple(CONVENTIONS["fully_masked_rows"].values)
LAWS = (".causal_alignment", ".fully_masked_rows")
DTYPES = ("float64", "float32", "bfloat16", "float16")
Function = Callable[..., np.ndarray]
Align = Callable[[int, int, Any], int]  # from n, m and the dtype to d: query i sees key j where j ≤ i + d
Fill = Callable[[np.ndarray, np.ndarray], Any]  # from the unmasked result and the values to what a blind query gets

ALIGN: dict[str, Align] = {"bottom-right": lambda n, m, dtype: m - n, "top-left": lambda n, m, dtype: 0}
FILL: dict[str, Fill] = {
    "zero": lambda y, v: 0.0,
    "nan": lambda y, v: np.nan,
    "mean": lambda y, v: np.mean(v, axis=-2, keepdims=True),
}


def build_functions(align: Align, fill: Fill) -> dict[str, Function]:
    """Return attention, right where the equation is defined, with causality aligned and blind queries filled like this."""

    def attention(q: Any, k: Any, v: Any, seen: np.ndarray, scale: float | None) -> np.ndarray:
        dtype, (q, k, v) = q.dtype, (x.astype(np.float64) for x in (q, k, v))
        scores = q @ np.swapaxes(k, -1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
        none = ~np.any(np.broadcast_to(seen, np.broadcast_shapes(np.shape(seen), scores.shape)), axis=-1, keepdims=True)
        hidden = np.where(seen | none, scores, -np.inf)
        e = np.exp(hidden - np.max(hidden, axis=-1, keepdims=True, initial=-np.inf))
        y = e / np.sum(e, axis=-1, keepdims=True) @ v
        with np.errstate(over="ignore"):
            return np.where(none, fill(y, v), y).astype(dtype)

    def scaled_dot_product_attention(
        q: Any, k: Any, v: Any, mask: Any = None, *, is_causal: bool = False, scale: float | None = None
    ) -> np.ndarray:
        n, m = q.shape[-2], k.shape[-2]
        seen = np.tri(n, m, 0 if n == m else align(n, m, q.dtype), dtype=bool) if is_causal else np.ones((n, m), bool)
        return attention(q, k, v, seen if mask is None else seen & mask, scale)

    def grouped_query_attention(
        q: Any, k: Any, v: Any, mask: Any = None, *, is_causal: bool = False, scale: float | None = None
    ) -> np.ndarray:
        k, v = (np.repeat(x, q.shape[-3] // k.shape[-3], axis=-3) for x in (k, v))
        return scaled_dot_product_attention(q, k, v, mask, is_causal=is_causal, scale=scale)

    def local_attention(
        q: Any, k: Any, v: Any, *, window: int, is_causal: bool = False, scale: float | None = None
    ) -> np.ndarray:
        distance = np.arange(q.shape[-2])[:, None] - np.arange(k.shape[-2])
        return attention(q, k, v, (abs(distance) <= window) & ((distance >= 0) | (not is_causal)), scale)

    return {f.__name__: f for f in (scaled_dot_product_attention, grouped_query_attention, local_attention)}


def build(
    align: str | Align = "bottom-right", fill: str | Fill = "zero", dtypes: tuple[str, ...] = ("float32",), **conventions: Any
) -> Backend:
    functions = build_functions(ALIGN[align] if isinstance(align, str) else align, FILL[fill] if isinstance(fill, str) else fill)
    source = SimpleNamespace(framework="numpy", dtypes=dtypes, conventions=conventions, **functions)
    return build_backend(source, set(operations()))


EXAMPLES = 16  # in each dtype, more than in a run: here each dtype alone has to show what is wrong


def run(under_test: Backend, seed: int = 1) -> tuple[dict[str, Violation], list[Verdict]]:
    """Try the laws of conventions. Return the violations, by id and dtype, and all verdict records."""
    broken, records = {}, []
    for test, trial in trials(
        under_test, about=lambda invariant: invariant.id.endswith(("causal_alignment", "fully_masked_rows"))
    ):
        trial.max_examples = max(trial.max_examples, EXAMPLES)
        violation = attempt(test, trial, seed)
        status = "failed" if violation else "passed" if trial.tally.examples else "skipped"
        records.append(build_verdict(test.invariant, trial, status, "", 0.0))
        if violation is not None:
            broken[f"{test.invariant.id} {trial.dtype}"] = violation
    return broken, records


# --- nothing is stated ----------------------------------------------------------------------------------------------


@pytest.mark.rotating(one_in=4)
@pytest.mark.parametrize("fill", FULLY_MASKED_VALUES)
@pytest.mark.parametrize("align", ALIGNMENTS)
def test_a_known_value_is_found_and_the_line_that_states_it_is_printed(align: str, fill: str) -> None:
    broken, records = run(build(align, fill, DTYPES))
    assert not broken
    sentences, lines = zip(*describe_conventions(records), strict=True)
    assert lines[-1] == f'conventions = {{"causal_alignment": "{align}", "fully_masked_rows": "{fill}"}}'
    assert any(align in sentence and "in all" in sentence for sentence in sentences)


OFF: dict[str, Align] = {
    "bottom-right, one more": lambda n, m, dtype: m - n + 1,
    "bottom-right, one less": lambda n, m, dtype: m - n - 1,
    "top-left, one more": lambda n, m, dtype: 1,
    "top-left, one less": lambda n, m, dtype: -1,
    "as many as fit": lambda n, m, dtype: max(m - n, 0) + 1,
    "half way": lambda n, m, dtype: (m - n) // 2,
    "nothing is hidden": lambda n, m, dtype: m,
}

INCONSISTENT: dict[str, Align] = {
    "bottom-right for n < m only": lambda n, m, dtype: max(m - n, 0),
    "top-left for n < m only": lambda n, m, dtype: min(m - n, 0),
    "by the number of keys": lambda n, m, dtype: m - n if m % 2 else 0,
    "by the size": lambda n, m, dtype: m - n if n * m < 64 else 0,
}


@pytest.mark.rotating
@pytest.mark.parametrize("align", OFF)
def test_every_other_alignment_fails_in_every_dtype(align: str) -> None:
    broken = {name: violation for name, violation in run(build(OFF[align], "nan", DTYPES))[0].items() if LAWS[0] in name}
    assert broken.keys() == {f"{name}.causal_alignment {dtype}" for name in CAUSAL for dtype in DTYPES}
    assert all("causal_alignment" in violation.what for violation in broken.values())


@pytest.mark.rotating
@pytest.mark.parametrize("align", INCONSISTENT)
def test_answers_that_contradict_one_another_fail(align: str) -> None:
    broken = {name: violation for name, violation in run(build(INCONSISTENT[align], "nan", DTYPES))[0].items() if LAWS[0] in name}
    assert {name.partition(".")[0] for name in broken} == set(CAUSAL)
    assert all("in its other answers" in violation.what for violation in broken.values())


def test_alignments_that_differ_between_dtypes_fail_in_the_later_one() -> None:
    broken, _ = run(build(lambda n, m, dtype: 0 if dtype == np.float16 else m - n, "zero", DTYPES))
    assert set(broken) == {f"{name}.causal_alignment float16" for name in CAUSAL}
    for violation in broken.values():
        assert violation.what == "causal_alignment is top-left here, and bottom-right in its other answers"


def test_operations_may_differ_and_the_line_says_so() -> None:
    functions = {**build_functions(ALIGN["top-left"], FILL["zero"])}
    functions["grouped_query_attention"] = build_functions(ALIGN["bottom-right"], FILL["zero"])["grouped_query_attention"]
    source = SimpleNamespace(framework="numpy", dtypes=("float32",), **functions)
    broken, records = run(build_backend(source, set(operations())))
    assert not broken
    line = describe_conventions(records)[-1][1]
    assert '"causal_alignment": {' in line
    stated: dict[str, Any] = {}
    exec(line, stated)
    source.conventions = stated["conventions"]
    broken, records = run(build_backend(source, set(operations())))
    assert not broken
    assert describe_conventions(records) == []


def test_an_unknown_result_of_a_blind_query_fails_nothing() -> None:
    broken, records = run(build("top-left", lambda y, v: y + 1.0, DTYPES))
    assert not broken
    sentences = dict(describe_conventions(records))
    assert any("fully_masked_rows" in sentence and "no known value (zero, nan, mean) in" in sentence for sentence in sentences)
    assert describe_conventions(records)[-1][1] == 'conventions = {"causal_alignment": "top-left"}'


def test_scores_lowered_by_a_large_number_are_no_alarm() -> None:
    """A mask of −10⁹ that is added gives blind queries the mean in float32, and in float64 what they would have seen."""
    broken, _ = run(build("top-left", lambda y, v: y, DTYPES))
    assert not broken


@pytest.mark.parametrize("rest", ["nan", "mean", "unknown"])
def test_blind_queries_that_do_not_always_give_zeros_fail(rest: str) -> None:
    other = {**FILL, "unknown": lambda y, v: 7.0}[rest]
    broken, _ = run(build("top-left", lambda y, v: FILL["zero"](y, v) if y.shape[-2] % 2 else other(y, v), DTYPES))
    assert {name.split()[0] for name in broken} == {f"{name}.fully_masked_rows" for name in MASKED}


@pytest.mark.parametrize("error", [NotImplementedError, ValueError, AssertionError, RuntimeError])
def test_where_nothing_is_stated_refusing_is_no_failure(error: type[Exception]) -> None:
    def refuse_unequal(n: int, m: int, dtype: Any) -> int:
        raise error("is_causal needs as many queries as keys")

    broken, records = run(build(refuse_unequal))
    assert not broken
    refused = [sentence for sentence, _ in describe_conventions(records) if "causal_alignment" in sentence]
    assert len(refused) == 1
    assert refused[0].endswith(": every question was refused; no law fails for it")
    broken, _ = run(build(refuse_unequal, causal_alignment="top-left"))
    assert len(broken) == (0 if error is NotImplementedError else 2)


# --- something is stated --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("computed", ALIGNMENTS)
@pytest.mark.parametrize("stated", ALIGNMENTS)
@pytest.mark.parametrize("operation", CAUSAL)
def test_causality_is_aligned_as_stated(operation: str, stated: str, computed: str) -> None:
    under_test = build(computed, "zero", causal_alignment=stated, fully_masked_rows="zero")
    broken = caught_by(under_test, seed=1, only=f"{operation}.causal_alignment")
    assert bool(broken) is (stated != computed)
    for violation in broken.values():
        assert violation.what == f"causal_alignment is {computed} here, where the backend states {stated}"


@pytest.mark.parametrize("computed", FULLY_MASKED_VALUES)
@pytest.mark.parametrize("stated", FULLY_MASKED_VALUES)
@pytest.mark.parametrize("operation", MASKED)
def test_fully_masked_rows_are_as_stated(operation: str, stated: str, computed: str) -> None:
    broken = caught_by(build("top-left", computed, fully_masked_rows=stated), seed=1, only=f"{operation}.fully_masked_rows")
    assert bool(broken) is (stated != computed)
    for violation in broken.values():
        assert violation.what == f"fully_masked_rows is {computed} here, where the backend states {stated}"


@pytest.mark.parametrize("computed", FULLY_MASKED_VALUES)
@pytest.mark.parametrize("operation", CAUSAL)
def test_queries_before_the_first_key_are_blind_without_any_mask(operation: str, computed: str) -> None:
    """With more queries than keys, causality alone leaves queries without a key, so a kernel needs no mask to meet them."""
    under_test = build("bottom-right", computed, causal_alignment="bottom-right", fully_masked_rows="zero")
    broken = caught_by(under_test, seed=1, only=f"{operation}.causal")
    assert broken.keys() == ({f"{operation}.causal_alignment"} if computed != "zero" else set())


@pytest.mark.rotating
@pytest.mark.parametrize("operation", CAUSAL)
def test_wrong_numbers_under_a_stated_convention_are_shown(operation: str) -> None:
    right = build_functions(ALIGN["top-left"], FILL["zero"])[operation]

    def wrong_in_rectangles(q: Any, k: Any, v: Any, *, is_causal: bool = False) -> Any:
        return right(q, k, v, is_causal=is_causal) * np.float32(1.0 if q.shape[-2] == k.shape[-2] else 1.01)

    conventions = {"causal_alignment": "top-left"}
    source = SimpleNamespace(framework="numpy", dtypes=("float32",), conventions=conventions, **{operation: wrong_in_rectangles})
    under_test = build_backend(source, {operation})
    tried = [pair for pair in trials(under_test) if pair[0].invariant.id == f"{operation}.causal_alignment"]
    for test, trial in tried:
        violation = attempt(test, trial, seed=1)
        assert violation is not None
        message = failure_message(test.invariant, trial)
        assert f"breaks {operation}.causal_alignment" in message
        assert "the answer is not that of causal_alignment = top-left, which the backend states" in message
    assert tried


@pytest.mark.parametrize("name", ["adamw_epsilon", "adamw_decay"])
def test_a_misfit_is_compared_under_all_conventions_that_are_stated(name: str) -> None:
    def a_little_wrong(p, g, m, v, *, step, learning_rate, beta1, beta2, eps, weight_decay):  # type: ignore[no-untyped-def]
        m, v = (x.astype(np.float64) for x in (beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g))
        update = learning_rate * np.sqrt(1 - beta2**step) / (1 - beta1**step) * m / (np.sqrt(v) + eps)
        new = (p * (1 - learning_rate * weight_decay) - update) * 1.0001
        return tuple(np.asarray(x, p.dtype) for x in (new, m, v))

    conventions = {"adamw_epsilon": "uncorrected", "adamw_decay": "before"}
    source = SimpleNamespace(framework="numpy", dtypes=("float32",), conventions=conventions, adamw_step=a_little_wrong)
    under_test = build_backend(source, {"adamw_step"})
    ((test, trial),) = [pair for pair in trials(under_test) if pair[0].invariant.id == f"adamw_step.{name}"]
    violation = attempt(test, trial, seed=1)
    assert violation is not None
    assert "which the backend states" in violation.what
    shown = dict(violation.facts)
    assert float(shown["expected"]) == pytest.approx(float(shown["got"]), rel=1e-3)  # not the value of another convention


# --- the table ------------------------------------------------------------------------------------------------------


def test_every_convention_has_a_question_of_each_of_its_operations() -> None:
    for convention in CONVENTIONS.values():
        for name in convention.operations if convention.name != UPDATE else ():  # which is decided by looking
            assert convention.name in specification(name).declaration.open_questions


@pytest.mark.parametrize("operation", MASKED)
def test_the_equation_itself_is_unchanged_where_no_convention_decides(operation: str) -> None:
    spec, rng = specification(operation), np.random.default_rng(0)
    q, k, v = (rng.standard_normal((2, 3, 4)) for _ in range(3))
    options: dict[str, Any] = {"window": 1} if operation == "local_attention" else {"is_causal": True}
    for aligned in ALIGNMENTS:
        for filled in FULLY_MASKED_VALUES:
            changed = apply_conventions(spec.reference, operation, {"causal_alignment": aligned, "fully_masked_rows": filled})
            assert np.array_equal(changed(q, k, v, **options), spec.reference(q, k, v, **options))


@pytest.mark.parametrize(
    ("stated", "complaint"),
    [
        ({"causal": "left"}, f"its conventions name 'causal'; there are {', '.join(sorted((*CONVENTIONS, *PASSINGS)))}"),
        ({"causal_alignment": "left"}, "its conventions state causal_alignment = 'left'; there are bottom-right, top-left"),
        ({"causal_alignment": ["top-left"]}, "its conventions state causal_alignment = ['top-left']; there are"),
        (
            {"causal_alignment": {"softmax": "top-left"}},
            "its conventions state causal_alignment of 'softmax'; it is a convention of",
        ),
    ],
)
def test_a_statement_that_means_nothing_is_refused(stated: dict[str, Any], complaint: str) -> None:
    source = SimpleNamespace(framework="numpy", conventions=stated, **build_functions(ALIGN["top-left"], FILL["zero"]))
    with pytest.raises(BackendError, match=complaint.replace("[", r"\[")):
        build_backend(source, set(operations()))
    (name, value), *_ = stated.items()
    assert find_convention_complaint(name, value).startswith(complaint)
