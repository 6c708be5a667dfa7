"""Sums that float32 code holds in 16 bits are named with their format, and no other small error is."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from spec_tests.calls.call import Call
from spec_tests.calls.operation import Operation
from spec_tests.diagnosis.evidence import Evidence
from spec_tests.diagnosis.precision.accumulators import find_narrow_sums
from spec_tests.implementation.backend import Backend
from spec_tests.implementation.framework import Framework
from spec_tests.specification.formats import FORMATS
from spec_tests.specification.registry import specification
from spec_tests.trials.asker import answer_instead


def attend(held: Callable[[Any], Any], factor: float = 1.0) -> Callable[..., Any]:
    """Return linear attention whose state is held in another format after each token."""

    def linear_attention(q: Any, k: Any, v: Any) -> Any:
        state, rows = np.zeros((*k.shape[:-2], k.shape[-1], v.shape[-1])), []
        for t in range(k.shape[-2]):
            state = held(state + k[..., t, :, None].astype(float) * v[..., t, None, :])
            rows.append((q[..., t, None, :] @ state)[..., 0, :])
        return (np.stack(rows, axis=-2) * factor / np.sqrt(q.shape[-1])).astype(q.dtype), state.astype(q.dtype)

    return linear_attention


def explain(function: Callable[..., Any]) -> str:
    spec, rng, calls = specification("linear_attention"), np.random.default_rng(1), list[Call]()
    source = SimpleNamespace(linear_attention=function, dtypes=("float32",))
    for heads, tokens in ((1, 9), (2, 17), (1, 33), (3, 12)):
        operation = Operation(spec, Backend("mine", source, Framework("numpy")), "float32", spec.precision)
        arrays = (rng.standard_normal((heads, tokens, 4)).astype(np.float32) for _ in range(3))
        operation(*arrays)
        calls += operation.recorder.calls
    evidence = Evidence.gather(calls)
    assert evidence.wrong
    found = find_narrow_sums(evidence, answer_instead, lambda: False)
    return found.what if found else ""


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_a_state_in_16_bits_is_named(name: str) -> None:
    assert explain(attend(FORMATS[name].round)).startswith(f"the right equation, with sums held in {name}")


def test_another_factor_is_no_narrow_sum() -> None:
    """Nearly 1, so that the answers are as near as those of narrow sums."""
    assert explain(attend(lambda x: x, 1 + 2.0**-10)) == ""
