"""Chunks of a recurrence that hand their state over with a wrong decay are said; others are not."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from spec_tests.calls.call import Call
from spec_tests.diagnosis.evidence import Evidence
from spec_tests.diagnosis.operator.handovers import list_handovers
from spec_tests.diagnosis.operator.search import read_operator
from spec_tests.inputs.chosen_draw import draw_small_call
from spec_tests.specification.registry import specification

from ..support.answered import answers
from ..support.budgets import give_budget
from ..support.in_process import backend
from ..support.machine_made_faults import make_operation

SIZE = 8  # tokens of a chunk
Step = Callable[[np.ndarray, np.ndarray], np.ndarray]  # (state before the chunk, state after it without that) -> next state


def kept(before: np.ndarray, after: np.ndarray, decay: np.ndarray) -> np.ndarray:
    """The state from before a chunk does not decay over it."""
    return before + after


def halved(before: np.ndarray, after: np.ndarray, decay: np.ndarray) -> np.ndarray:
    """A rule that nobody lists."""
    return 0.5 * decay * before + after


def attend(step: Callable[..., np.ndarray]) -> Callable[..., Any]:
    """Return linear attention with a decay of each head, in chunks, which hand the state over as the function says."""
    right = specification("linear_attention").reference

    def linear_attention(q: Any, k: Any, v: Any, g: Any, state: Any = None, *, scale: float | None = None) -> Any:
        outs = []
        for first in range(0, max(v.shape[-2], 1), SIZE):
            own = [x[..., first : first + SIZE, :] for x in (q, k, v, g)]
            out, after = right(*own, state=state, scale=scale)
            if state is not None:
                alone = right(*own, scale=scale)[1]
                after = step(state, alone, np.exp(np.sum(own[3], axis=-2))[..., None])
            outs.append(out)
            state = after
        return np.concatenate(outs, axis=-2), state

    return linear_attention


def draw_calls(function: Callable[..., Any]) -> list[Call]:
    operation, rng = make_operation(backend("numpy-cpu"), "linear_attention"), np.random.default_rng(4)
    calls = []
    for number in range(12):
        drawn = draw_small_call(operation, random.Random(f"handover {number}"), all_arguments=False).named
        n, (h_k, d_k), (h, d_v) = 3 + 4 * number, (drawn["k"].shape[-3], 3), (drawn["v"].shape[-3], 2)
        q, k, v = rng.normal(size=(h_k, n, d_k)), rng.normal(size=(h_k, n, d_k)), rng.normal(size=(h, n, d_v))
        calls.append(((q, k, v, -rng.random((h, n, 1))), {}))
    return answers("linear_attention", function, calls)


@pytest.mark.parametrize(
    ("step", "sentence"),
    [
        (kept, f"in chunks of {SIZE} tokens, the state from before a chunk enters the next one without the decay over the chunk"),
        (halved, ""),
    ],
)
def test_a_handover_is_said(step: Callable[..., np.ndarray], sentence: str) -> None:
    evidence = Evidence.gather(draw_calls(attend(step)))
    assert evidence.wrong
    assert evidence.right
    found = read_operator(evidence, answer=lambda *_: None, budget=give_budget(evidence.wrong[0].operation.backend))
    assert (found.what if found else "") == sentence


def reads_early(q: Any, k: Any, v: Any, g: Any, state: Any = None, *, scale: float | None = None) -> Any:
    """Linear attention in chunks, whose tokens read the state from before the chunk without their own decay."""
    right, outs = specification("linear_attention").reference, []
    for first in range(0, max(v.shape[-2], 1), SIZE):
        own = [x[..., first : first + SIZE, :] for x in (q, k, v, g)]
        out, after = right(*own, state=state, scale=scale)
        if state is not None:
            alone = right(*own, scale=scale)[0]
            out = alone + (out - alone) * np.exp(-own[3])
        outs.append(out)
        state = after
    return np.concatenate(outs, axis=-2), state


def test_a_state_that_is_read_early_is_said() -> None:
    evidence = Evidence.gather(draw_calls(reads_early))
    assert evidence.wrong
    found = read_operator(evidence, answer=lambda *_: None, budget=give_budget(evidence.wrong[0].operation.backend))
    said = f"in chunks of {SIZE} tokens, a token reads the state from before the chunk without its own decay"
    assert (found.what if found else "") == said


def test_every_handover_changes_some_call_and_takes_every_number_type() -> None:
    calls = draw_calls(attend(kept))
    changed = {
        alternative.id
        for call in calls
        for alternative in list_handovers(call)
        if not np.allclose(call.evaluate(np.asarray, alternative.function), call.value)
    }
    listed = {alternative.id for call in calls for alternative in list_handovers(call) if "128" not in alternative.id}
    assert {name for name in listed if "chunks of 8 " in name or "chunks of 16 " in name} <= changed
    call = calls[4]
    for alternative in list_handovers(call):
        assert call.expect(call.operation.precision, alternative.function).value.shape == call.value.shape
