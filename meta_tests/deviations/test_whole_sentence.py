"""Tests of sentences that say both what is computed and where: an explanation of all wrong answers, joined with a region."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import spec_tests
from spec_tests.calls.call import Call
from spec_tests.deviations import Deviation, OracleBackend
from spec_tests.diagnosis.evidence import answer_of, is_wrong, wrong_in
from spec_tests.diagnosis.explanation import Explanation
from spec_tests.diagnosis.regions.asking import RIGHT, WRONG, Answer
from spec_tests.diagnosis.regions.condition import Condition
from spec_tests.diagnosis.regions.conjunction import Conjunction
from spec_tests.diagnosis.regions.facts.of_calls.seen_keys import NO_KEY, ONE_KEY, read
from spec_tests.diagnosis.regions.facts.of_elements.right_value import RIGHT_VALUE
from spec_tests.diagnosis.regions.region import Count, build_region
from spec_tests.diagnosis.regions.whole_sentence import SilentAnswers, make_whole
from spec_tests.specification.formats import DTYPES

from ..support.answered import answers


def lose_scale(right: Any, q: Any, k: Any, v: Any, **options: Any) -> Any:
    return right(q, k, v, **(options | {"scale": None} if k.shape[-2] > 8 else options))


def lose_epsilon(right: Any, x: Any, weight: Any, *, eps: float) -> Any:
    return right(x, weight, eps=0.0 if x.shape[-1] > 16 else eps)


def spoil_wide_rows(right: Any, x: Any, weight: Any, **options: Any) -> Any:
    y = np.array(right(x, weight, **options))
    return y * np.nan if x.shape[-1] > 16 else y


@pytest.mark.slow
@pytest.mark.parametrize(
    ("operation", "fault", "sentence"),
    [
        ("local_attention", lose_scale, "scale is left out, only from m = 9 on"),
        ("rms_norm", lose_epsilon, "epsilon is ignored: x / sqrt(mean(x²)), only from d = 17 on"),
        ("rms_norm", spoil_wide_rows, "wrong elements are NaN, only from d = 17 on"),
    ],
)
def test_a_sentence_says_what_is_computed_and_where(operation: str, fault: Any, sentence: str) -> None:
    source = OracleBackend(Deviation(operation, fault, "fault", (), DTYPES, ()))
    with pytest.raises(AssertionError) as failure:
        spec_tests.check(source, f"{operation}.reference", dtype="float64", coverage="any")
    assert failure.value.causes[0].what.startswith(sentence)  # type: ignore[attr-defined]


def test_a_right_answer_that_a_half_gives_as_well_tells_nothing_while_there_is_a_half() -> None:
    def double_wide_rows(x: Any, *_: Any, **__: Any) -> Any:
        return x * (2.0 if x.shape[-1] > 2 else 1.0)

    def is_doubled(call: Call) -> bool | None:
        return call.value.shape[-1] < 4 or None

    rows = [(np.ones((1, d)) * values,) for d, values in ((2, 0.0), (3, 1.0), (4, 1.0))]
    calls = answers("relu", double_wide_rows, [(row, {}) for row in rows])
    right, wrong, other = (Answer(call, failure) for call, failure in zip(calls, (RIGHT, WRONG, WRONG), strict=True))
    silent = SilentAnswers([Explanation("equation", "doubled", "doubled", "relu", is_doubled)])
    assert [silent.hold(right), silent.hold(wrong), silent.release()] == [True, False, []]
    everywhere = build_region("relu", Conjunction(), (WRONG,), Count(3, 3, 3))
    assert not silent.contradict(everywhere)  # its values may hide the error
    right.ordinary = True
    assert silent.contradict(everywhere)
    assert not silent.contradict(replace(everywhere, is_whole=True))
    assert [silent.hold(other), silent.hold(right), silent.release(), silent.release()] == [False, False, [right], []]


@pytest.mark.parametrize(
    ("shape", "options", "facts"),
    [
        ((3, 3), {"is_causal": True}, {NO_KEY: False, ONE_KEY: True}),
        ((3, 2), {"is_causal": True}, {NO_KEY: True, ONE_KEY: True}),
        ((2, 4), {}, {NO_KEY: False, ONE_KEY: False}),
        ((2, 2), {"mask": np.array([[True, False], [False, False]])}, {NO_KEY: True, ONE_KEY: True}),
    ],
)
def test_how_many_keys_the_queries_see(shape: tuple[int, int], options: dict[str, Any], facts: dict[str, bool]) -> None:
    n, m = shape
    q, k = np.ones((n, 2)), np.ones((m, 2))
    (call,) = answers("scaled_dot_product_attention", lambda q, k, v, **_: q, [((q, k, k), options)])
    assert dict(read(call, {})) == facts


@pytest.mark.parametrize("factor", [2.0, 3.0])
def test_what_is_computed_needs_no_condition_on_elements(factor: float) -> None:
    """Of wide rows the positive elements are doubled; of 0 and below nothing shows. If they are not, the sentence says less."""

    def double_wide_rows(x: Any) -> Any:
        return np.maximum(x, 0) * (factor if x.shape[-1] > 2 else 1.0)

    def is_doubled(call: Call) -> bool | None:
        return bool(np.array_equal(np.ravel(answer_of(call)), 2 * np.ravel(call.value)))

    rng = np.random.default_rng(1)
    calls = answers("relu", double_wide_rows, [((rng.normal(size=(2, d)),), {}) for d in (2, 3, 4, 1, 5, 3, 4, 6, 2, 5, 6, 7)])
    asked = [Answer(call, WRONG if is_wrong(call) else RIGHT, np.ravel(wrong_in(call))) for call in calls]
    wide = next(fact for fact, value in asked[1].facts.items() if value == 3 and asked[2].facts.get(fact) == 4)
    inside = Conjunction((Condition(wide, "above", (2,)),), (Condition(RIGHT_VALUE, "above", (0.0,)),))
    region = build_region("relu", inside, (WRONG,), Count(9, 3, 9))
    whole = make_whole(region, [Explanation("equation", "doubled", "the result is doubled", "relu", is_doubled)], asked)
    if factor == 2:
        assert whole.what.startswith("the result is doubled, only ")
        assert "right value" not in whole.what
    assert whole.is_whole == (factor == 2)
