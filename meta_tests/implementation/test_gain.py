"""The convention `gain`: a norm whose weight is added to 1 is judged by the gain that it makes of it."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from spec_tests.implementation.backend import Backend, build_backend
from spec_tests.implementation.lookup import BackendError
from spec_tests.specification.registry import operations

from ..support.in_process import caught_by


def rms_norm(x: Any, weight: Any, *, eps: float) -> Any:
    h = x.astype(np.float64)
    return (h / np.sqrt(np.mean(h * h, -1, keepdims=True) + eps) * (1 + weight)).astype(x.dtype)


def layer_norm(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    h = x.astype(np.float64)
    h = h - h.mean(-1, keepdims=True)
    return (h / np.sqrt(np.mean(h * h, -1, keepdims=True) + eps) * (1 + weight) + bias).astype(x.dtype)


def make(**more: Any) -> Backend:
    source = SimpleNamespace(__name__="mine", framework="numpy", rms_norm=rms_norm, layer_norm=layer_norm, **more)
    return build_backend(source, operations())


@pytest.mark.rotating(one_in=4)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("seed", [1, 2])
def test_right_code_of_this_convention_conforms(dtype: str, seed: int) -> None:
    assert caught_by(make(conventions={"gain": "one plus weight"}, dtypes=(dtype,)), seed=seed) == {}


def test_what_is_stated_is_tested() -> None:
    assert "rms_norm.reference" in caught_by(make(dtypes=("float32",)), only="rms_norm.reference")
    stated = make(conventions={"gain": {"layer_norm": "one plus weight"}}, dtypes=("float32",))
    assert {"rms_norm.reference"} == caught_by(stated, only=".reference").keys()


def test_a_wrong_norm_of_this_convention_is_caught() -> None:
    def without_mean(x: Any, weight: Any, *, eps: float) -> Any:
        return (x / np.sqrt(np.sum(x * x, -1, keepdims=True) + eps) * (1 + weight)).astype(x.dtype)

    source = SimpleNamespace(
        framework="numpy", rms_norm=without_mean, conventions={"gain": "one plus weight"}, dtypes=("float64",)
    )
    assert "rms_norm.reference" in caught_by(build_backend(source, operations()), only="rms_norm.reference")


def test_an_unknown_value_is_answered_with_those_that_there_are() -> None:
    with pytest.raises(BackendError, match="there are weight, one plus weight"):
        make(conventions={"gain": "1 + weight"})
