"""Tests of sentences that say both what is computed and where: an explanation of all wrong answers, joined with a region."""

from typing import Any

import numpy as np
import pytest

import spec_tests
from spec_tests.deviations import Deviation, OracleBackend
from spec_tests.diagnosis.seen_keys import NO_KEY, ONE_KEY, describe_seen_keys
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
        ("local_attention", lose_scale, "scale is left out only from m = 9 on"),
        ("rms_norm", lose_epsilon, "eps is taken as 0 only from d = 17 on"),
        ("rms_norm", spoil_wide_rows, "NaN only from d = 17 on"),
    ],
)
def test_a_sentence_says_what_is_computed_and_where(operation: str, fault: Any, sentence: str) -> None:
    source = OracleBackend(Deviation(operation, fault, "fault", (), DTYPES, ()))
    with pytest.raises(AssertionError) as failure:
        spec_tests.check(source, f"{operation}.reference", dtype="float64", coverage="any")
    assert failure.value.causes[0].what.startswith(sentence)  # type: ignore[attr-defined]


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
    assert describe_seen_keys(call) == facts
