"""A recurrence in chunks of tokens that hands its state over with a wrong decay.

Chunked kernels split a decay in two: from a token to the end of its chunk, and over the chunk for what came before it. One of
these is easily left out, or applied twice. Without a delta rule the state is the sum of what was there and of what the chunk
writes, so that each part is a right call of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import MappingProxyType
from typing import Any

import numpy as np

from ...calls.call import Call
from ...specification.registry import Specification
from .alternative import Alternative, Named, call_right, take
from .binding import bound
from .tokens import CHUNKS, STATE, axis_of_out, each_sequence, longest_sequence, some_tokens, token_axes

WRITTEN = MappingProxyType({"linear_attention": "v", "mamba2_scan": "x"})  # the argument that is written to the state
DECAY = MappingProxyType({"linear_attention": "g", "mamba2_scan": "a"})  # of which 0 is no decay
READS = MappingProxyType({"linear_attention": ("q",), "mamba2_scan": ("c", "z")})  # the arguments with which a token reads

Handover = Callable[[Specification, Named, Any], tuple[Any, Any]]  # the results of one chunk that begins with a state


def list_handovers(call: Call) -> Iterator[Alternative]:
    """Yield what a recurrence with decays gives if chunks hand the state over with another decay."""
    spec, name, named = call.operation.spec, call.operation.name, call.named
    if name not in WRITTEN or named.get("beta") is not None or named.get(DECAY[name]) is None or not token_axes(spec, named):
        return
    for size in CHUNKS:
        chunks = f"chunks of {size} tokens"
        for words, chunk in (
            (f"in {chunks}, what a token writes enters the next state without its decay to the end of the chunk", _written_whole),
            (f"in {chunks}, the state from before a chunk enters the next one without the decay over the chunk", _kept_whole),
            (f"in {chunks}, the state from before a chunk is read without its decay", _read_whole),
            (f"in {chunks}, a token reads the state from before the chunk without its own decay", _read_early),
            (f"the state decays by the first token of each of the {chunks} twice", _decayed_twice),
        ):
            yield Alternative(name, words, each_sequence(bound(_in_chunks, chunk), size), 1.0, evaluations=3)


def _in_chunks(spec: Specification, named: Named, size: int, start: int, chunk: Handover) -> Any:
    if named.get("beta") is not None:
        raise ValueError("under the delta rule a state is no sum of what was there and what is written")
    n, outs, state = longest_sequence(spec, named), [], named.get(STATE)
    for first in range(0, max(n, 1), size):
        own = some_tokens(spec, named, first, min(first + size, n))
        out, state = chunk(spec, {**own, STATE: state}, first)
        outs.append(out)
    return np.concatenate(outs, axis=axis_of_out(spec)), state


def _without_decay(spec: Specification, named: Named) -> Named:
    decay = DECAY[spec.name]
    return named if named.get(decay) is None else {**named, decay: 0.0 * named[decay]}


def _without_writing(spec: Specification, named: Named) -> Named:
    written = WRITTEN[spec.name]
    return {**named, written: 0.0 * named[written]}


def _written_whole(spec: Specification, named: Named, first: int) -> tuple[Any, Any]:
    out, _ = call_right(spec, named)
    new = call_right(spec, {**_without_decay(spec, named), STATE: None})[1]
    return out, new if named[STATE] is None else call_right(spec, _without_writing(spec, named))[1] + new


def _kept_whole(spec: Specification, named: Named, first: int) -> tuple[Any, Any]:
    out, new = call_right(spec, named)
    return out, new if named[STATE] is None else named[STATE] + call_right(spec, {**named, STATE: None})[1]


def _read_whole(spec: Specification, named: Named, first: int) -> tuple[Any, Any]:
    out, new = call_right(spec, named)
    if named[STATE] is None:
        return out, new
    before = call_right(spec, _without_decay(spec, _without_writing(spec, named)))[0]
    return before + call_right(spec, {**named, STATE: None})[0], new


def _read_early(spec: Specification, named: Named, first: int) -> tuple[Any, Any]:
    out, new = call_right(spec, named)
    n = longest_sequence(spec, named)
    if named[STATE] is None or not n:
        return out, new
    before = _without_writing(spec, named)
    at_first = call_right(spec, _without_decay(spec, some_tokens(spec, before, 0, 1)))[0]
    axes, following = token_axes(spec, named), np.minimum(np.arange(n) + 1, n - 1)
    by_next = {name: take(named[name], following, axes[name]) for name in READS[spec.name] if name in axes}
    at_others = take(call_right(spec, {**before, **by_next})[0], np.arange(n - 1), axis_of_out(spec))
    read = np.concatenate([at_first, at_others], axis=axis_of_out(spec))
    return read + call_right(spec, {**named, STATE: None})[0], new


def _decayed_twice(spec: Specification, named: Named, first: int) -> tuple[Any, Any]:
    if not first:
        return call_right(spec, named)
    decayed = call_right(spec, _without_writing(spec, some_tokens(spec, named, 0, 1)))[1]
    return call_right(spec, {**named, STATE: decayed})
