"""Recurrences that drop, repeat or restart chunks of tokens: what they compute in place of the equation is named."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from spec_tests.diagnosis.evidence import Evidence
from spec_tests.diagnosis.operator.search import read_operator
from spec_tests.trials.asker import answer_instead

from ..measure.leave_one_out import answered_calls
from ..support.answered import answers
from ..support.budgets import budget_for
from ..support.in_process import backend

Named = dict[str, Any]
Right = Callable[..., tuple[np.ndarray, np.ndarray]]
LAST_AXIS = ("dt", "beta")  # that is the one of the tokens; of others it is the last but one
WITHOUT_TOKENS = ("a", "d", "dt_bias", "state", "weight", "bias")


def take_tokens(named: Named, tokens: slice, *, of_channels: bool = False) -> Named:
    """Return the arguments with some of the tokens. of_channels: the tokens of x lie along its last axis."""

    def take(name: str, x: Any) -> Any:
        if name in WITHOUT_TOKENS or not isinstance(x, np.ndarray):
            return x
        return x[..., tokens] if of_channels or name in LAST_AXIS else x[..., tokens, :]

    return {name: take(name, x) for name, x in named.items()}


def first_token_for_all(right: Right, named: Named) -> Any:
    out, after = right(**take_tokens(named, slice(1)))
    n = named["x"].shape[-2]
    return (np.repeat(out, n, axis=-2) if n else out), after


def last_token_not_kept(right: Right, named: Named) -> Any:
    n = named["x"].shape[-1]
    return right(**named)[0], right(**take_tokens(named, slice(max(n - 1, 0)), of_channels=True))[1]


def state_of_whole_chunks(right: Right, named: Named) -> Any:
    whole = named["v"].shape[-2] // 16 * 16
    return right(**named)[0], right(**(take_tokens(named, slice(whole)) if whole else named))[1]


def states_on_the_flat_grid(right: Right, named: Named) -> Any:
    if "cu_seqlens" not in named:
        return right(**named)
    alone, states = {name: x for name, x in named.items() if name != "cu_seqlens"}, []
    for i, (start, stop) in enumerate(pairwise(named["cu_seqlens"].tolist())):
        own = take_tokens(alone, slice(start, max(start, stop - start % 16)))
        states.append(right(**own if named.get("state") is None else {**own, "state": named["state"][i]})[1])
    return right(**named)[0], np.stack(states)


FAULTS: dict[str, tuple[str, Callable[[Right, Named], Any], str]] = {
    "first token": ("mamba2_scan", first_token_for_all, "only the first token is computed, and what it reads stands for all"),
    "last token": ("causal_conv1d", last_token_not_kept, "the new state lacks the last token"),
    "whole chunks": (
        "linear_attention",
        state_of_whole_chunks,
        "the new state is that after the last of the whole chunks of 16 tokens, if there is one",
    ),
    "flat grid": (
        "linear_attention",
        states_on_the_flat_grid,
        "the new state of a member lacks as many of its last tokens as its first one lies behind a multiple of ",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_tokens_that_are_dropped_or_repeated_are_named(name: str) -> None:
    operation, fault, said = FAULTS[name]
    right = backend("numpy-cpu").function(operation)
    assert right is not None

    def wrong(*arrays: Any, **options: Any) -> Any:
        return fault(right, signature(right).bind(*arrays, **options).arguments)

    drawn = answered_calls(backend("numpy-cpu"), operation, "float64", "chunks", 80 if name == "flat grid" else 40)
    plain = [call for call in drawn if (call.named.get("cu_seqlens") is None) != (name == "flat grid")]
    evidence = Evidence.gather(answers(operation, wrong, [(call.arguments, call.keywords) for call in plain]))
    found = read_operator(evidence, answer=answer_instead, budget=budget_for(evidence), catalogue=False)
    assert found is not None
    assert found.what.startswith(said)
