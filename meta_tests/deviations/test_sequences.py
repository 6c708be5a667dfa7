"""The facts of elements where an operation has a state: the token, its sequence, and the head in each result."""

from __future__ import annotations

import numpy as np

from spec_tests.diagnosis.regions.facts.of_elements import describe_elements
from spec_tests.diagnosis.regions.facts.of_elements.indices import HEAD
from spec_tests.diagnosis.regions.facts.of_elements.sequences import LENGTH, TOKEN, in_ragged_chunk, is_ragged
from spec_tests.diagnosis.wish import Wish

from ..measure.leave_one_out import answered_calls
from ..support.in_process import backend


def test_tokens_are_counted_in_their_sequence() -> None:
    wish = Wish(sizes={"n": 21}, given={"cu_seqlens": True})
    calls = list(answered_calls(backend("numpy-cpu"), "linear_attention", "float64", "packed", 12, wish))
    assert calls
    for call in calls:
        ends, facts = np.asarray(call.named["cu_seqlens"]), describe_elements(call)
        assert ends[-1] == 21
        lengths, state = np.diff(ends), call.value.size - call.named["v"].size
        assert np.array_equal(facts[LENGTH][-state:].reshape(len(lengths), -1)[:, 0], lengths)
        tokens = facts[TOKEN][:-state].reshape(-1, 21, call.named["v"].shape[-1])
        assert np.array_equal(tokens[0, :, 0], np.concatenate([np.arange(length) for length in lengths]))
        beyond = facts[in_ragged_chunk(16)][:-state].reshape(tokens.shape).astype(bool)
        assert np.array_equal(beyond[0, :, 0], np.concatenate([np.arange(n) >= n // 16 * 16 for n in lengths]))
        assert np.array_equal(facts[is_ragged(16)].astype(bool), facts[LENGTH] % 16 != 0)


def test_heads_are_named_in_all_results() -> None:
    for call in answered_calls(backend("numpy-cpu"), "mamba2_scan", "float64", "heads", 4):
        heads = describe_elements(call)[HEAD]
        h = call.named["x"].shape[-3]
        out = heads[: call.named["x"].size].reshape(-1, h, *call.named["x"].shape[-2:])
        assert np.array_equal(out[0, :, 0, 0], np.arange(h))
        assert set(heads.tolist()) == set(range(h))


def test_what_is_said_of_sequences() -> None:
    assert is_ragged(16).say("is", (True,)) == "in sequences whose tokens are no multiple of 16"
    assert in_ragged_chunk(32).say("is", (True,)) == "in the tokens after the last whole chunk of 32"
    assert LENGTH.say("above", (16,)) == "in sequences of 17 tokens or more"
    assert LENGTH.say("remainder", (2, 1)) == "in sequences of 1 token more than a multiple of 2"
    assert TOKEN.say("above", (15,)) == "in tokens 16 and up"
