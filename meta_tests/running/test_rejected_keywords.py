"""Test functions that raise TypeError for a keyword.

A function that takes **keywords may lack an option. A function that names the keyword must take it.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import reference_numpy.gelu
import spec_tests
from spec_tests.report.verdict import Verdict


def exact_gelu(x: Any) -> Any:
    return reference_numpy.gelu.gelu(x).astype(x.dtype)


def forwards_any_keyword(x: Any, **keywords: Any) -> Any:
    return exact_gelu(x, **keywords)


def names_the_keyword(x: Any, approximate: str = "none") -> Any:
    return exact_gelu(x, approximate=approximate)  # type: ignore[call-arg]


def raises_another_error(x: Any, **keywords: Any) -> Any:
    return exact_gelu(np.asarray(x, order=keywords["order"]))


def check(function: Callable[..., Any]) -> list[Verdict]:
    return spec_tests.check(SimpleNamespace(framework="numpy", dtypes=("float32",), gelu=function))


def test_a_function_that_takes_any_keyword_may_lack_an_option() -> None:
    records = check(forwards_any_keyword)
    assert {record.status for record in records} <= {"passed", "skipped"}
    (reference,) = (record for record in records if record.id.startswith("gelu.reference"))
    assert 0 < reference.answered < reference.drawn
    assert "takes no approximate" in str(reference.refusals)


@pytest.mark.parametrize(
    ("function", "error"),
    [(names_the_keyword, "unexpected keyword argument 'approximate'"), (raises_another_error, "KeyError: 'order'")],
)
def test_other_errors_are_failures(function: Callable[..., Any], error: str) -> None:
    with pytest.raises(AssertionError, match=error):
        check(function)
