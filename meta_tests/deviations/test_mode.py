"""Tests of the mode of an equation: the options that it depends on are found by calls that differ in one of them alone."""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from reference_numpy.multihead_self_attention import multihead_self_attention
from spec_tests.calls.call import Call
from spec_tests.deviations import Deviation, OracleBackend
from spec_tests.diagnosis.equations.neighbours.mode import Mode, Setting, find_shared
from spec_tests.diagnosis.equations.search import search_equation
from spec_tests.diagnosis.evidence import Evidence
from spec_tests.diagnosis.explanation import Explanation
from spec_tests.diagnosis.wish import Wish
from spec_tests.implementation.backend import Backend, build_backend
from spec_tests.implementation.framework import Framework
from spec_tests.specification.formats import DTYPES
from spec_tests.specification.registry import operations, specification

from ..measure.leave_one_out import answered_calls
from ..support.answered import answers
from ..support.budgets import budget_for
from ..support.in_process import backend

ATTENTION = specification("grouped_query_attention").reference


def search(under_test: Backend, operation: str) -> Explanation | None:
    """Search with the wrong answers and as many right ones among the first twelve, and ask for any others."""
    first = list(answered_calls(under_test, operation, "float64", "first", 12))

    def ask(wish: Wish | None = None) -> Any:
        return answered_calls(under_test, operation, "float64", "further", 128, wish)

    evidence = Evidence.gather(first)
    return search_equation(evidence, budget=budget_for(evidence, share=12.0), ask=ask)


def with_attention(is_wrong: Callable[[dict[str, Any]], bool]) -> Backend:
    """Return a backend with an attention that forgets to scale the scores in some calls."""

    @wraps(ATTENTION)
    def attention(*arrays: Any, **options: Any) -> Any:
        given = dict(zip(("q", "k", "v", "mask", "sinks"), arrays, strict=False)) | options
        return ATTENTION(*arrays, **{**options, "scale": 1.0} if is_wrong(given) else options)

    return Backend("unseen", SimpleNamespace(grouped_query_attention=attention), Framework("numpy"))


def test_a_fast_path_is_said_with_every_option_that_leads_past_it() -> None:
    names = ("sinks", "softcap", "left_window", "right_window", "scale")
    found = search(with_attention(lambda given: all(given.get(name) is None for name in names)), "grouped_query_attention")
    assert found is not None
    _, _, where = found.what.partition("` where ")
    assert where.endswith(", and right elsewhere")
    for name in names:
        assert name in where
    assert where.startswith("none of ")


def test_an_option_that_does_not_decide_is_not_said() -> None:
    found = search(
        with_attention(lambda given: given.get("softcap") is None and given.get("scale") is None), "grouped_query_attention"
    )
    assert found is not None
    assert found.what.endswith("` where neither scale nor softcap is given, and right elsewhere")


def test_a_right_answer_that_the_equation_gives_too_says_nothing_about_an_option() -> None:
    """Without q_norm and k_norm nothing shows that they are ignored. Where any other option is given, they are not."""
    name, others = "multihead_self_attention", ("inverse_frequencies", "sinks", "scale", "softcap", "left_window")

    def ignore_norms(right: Any, *arguments: Any, **options: Any) -> Any:
        given = signature(multihead_self_attention).bind(*arguments, **options).arguments
        plain = all(given.get(option) is None for option in others) and given.get("attention_factor", 1.0) == 1.0
        return right(**{argument: x for argument, x in given.items() if not (plain and argument in ("q_norm", "k_norm"))})

    source = OracleBackend(Deviation(name, ignore_norms, "fault", (), DTYPES, ()))
    found = search(build_backend(source, set(operations())), name)
    assert found is not None
    _, _, where = found.what.partition(" where ")
    for option in (*others, "attention_factor = 1.0"):
        assert option in where


def test_a_mode_is_tested_where_two_settings_differ() -> None:
    """Without a mask a causal call is right, with one it is wrong: "right elsewhere" would be false. Hardly a call shows it."""

    def is_wrong(given: dict[str, Any]) -> bool:
        return given.get("softcap") is None and (not given.get("is_causal") or given.get("mask") is not None)

    under_test = with_attention(is_wrong)

    def make(wish: Wish | None = None) -> list[Call]:
        calls = answered_calls(under_test, "grouped_query_attention", "float64", "two", 64, wish)
        return [call for call in calls if wish or not (call.named["is_causal"] and call.named.get("mask") is not None)]

    evidence = Evidence.gather([call for call in make() if call.named.get("mask") is None])
    found = search_equation(evidence, budget=budget_for(evidence, share=1.0), ask=make)
    assert found is None or "is_causal = False" not in found.what


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ([Setting("softcap", None)], "where softcap is not given"),
        ([Setting("mask", None, is_given=True)], "where mask is given"),
        ([Setting("mask", None), Setting("softcap", None)], "where neither mask nor softcap is given"),
        (
            [Setting("a", None), Setting("b", None), Setting("c", None), Setting("layout", "half")],
            "where none of a, b and c is given and layout = 'half'",
        ),
    ],
)
def test_words_for_a_mode(settings: list[Setting], words: str) -> None:
    assert Mode(tuple(settings)).words == words


def test_a_number_counts_as_the_default_of_its_option() -> None:
    calls = answers(
        "cross_entropy",
        lambda *_, **__: np.asarray(0.0),
        [((np.zeros((2, 3)), [0, 1]), {"label_smoothing": s}) for s in (0.0, 0.1)],
    )
    without, with_ = (find_shared([call]).settings for call in calls)
    assert Setting("label_smoothing", 0.0) in without
    assert not any(setting.option == "label_smoothing" for setting in with_)


def test_a_wish_violates_one_setting_alone() -> None:
    mode = Mode((Setting("softcap", None), Setting("scale", None), Setting("is_causal", True)))
    wish = mode.wish("grouped_query_attention", mode.settings[0])
    assert wish.given == {"softcap": True, "scale": False, "is_causal": True}
    assert wish.keywords == {"is_causal": True}
    under_test = backend("numpy-cpu")
    calls: list[Call] = list(answered_calls(under_test, "grouped_query_attention", "float64", "wish", 20, wish))
    assert calls
    assert all(mode.violates_only(call, mode.settings[0]) for call in calls)
