"""A recurrence in chunks of tokens, some of which code drops, repeats, or begins with another state.

The state that a call returns is what the next call goes on from. Therefore what such code computes is made of right calls on some
of the tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from ...calls.call import Call
from ...specification.registry import Specification, given_dimensions
from .alternative import Alternative, Named, call_right, take
from .binding import bound

TOKENS, STATE, MEMBERS = "n", "state", "cu_seqlens"
CHUNKS = (8, 16, 32, 64, 128)  # tokens

Recurrence = Callable[[Specification, Named, int, int], Any]  # the results for one sequence of so many tokens, in chunks


def list_chunks(call: Call) -> Iterator[Alternative]:
    """Yield what a recurrence gives if chunks of tokens are dropped, repeated, or begin with another state."""
    spec, name = call.operation.spec, call.operation.name
    if spec.is_gradient or list(spec.results) != ["out", STATE] or not token_axes(spec, call.named):
        return
    longest = longest_sequence(spec, call.named)
    if longest > 1:
        yield Alternative(
            name, "only the first token is computed, and what it reads stands for all", each_sequence(_first, 0), 0.75
        )
        for words, last in (("first", False), ("last", True)):
            yield Alternative(name, f"the new state lacks the {words} token", each_sequence(bound(_without, last), 0), 0.75)
    for size in (size for size in CHUNKS if size < longest or call.named.get(MEMBERS) is not None):
        chunks = f"chunks of {size} tokens"
        for words, begin, cost in (
            (f"each of the {chunks} begins with zeros", _zeros, 0.75),
            (f"each of the {chunks} begins with the given state", _given, 0.75),
            (f"the last of the {chunks} begins with zeros if it is not whole", _zeros_if_ragged, 1.0),
        ):
            yield Alternative(name, words, each_sequence(bound(_in_chunks, begin), size), cost)
        for words, least in (("", 0), (", if there is one", size)):
            said = f"the new state is that after the last of the whole {chunks}{words}"
            yield Alternative(name, said, each_sequence(bound(_whole_chunks, least), size), 1.0)
        if call.named.get(MEMBERS) is not None:
            said = f"the new state of a member lacks as many of its last tokens as its first one lies behind a multiple of {size}"
            yield Alternative(name, said, each_sequence(_on_the_flat_grid, size), 1.25)


def token_axes(spec: Specification, named: Named) -> dict[str, int]:
    """Return the axis of the tokens of each array that has one, counted from the last."""
    ranks = {name: len(x.shape) for name, x in named.items() if hasattr(x, "shape")}
    labels = given_dimensions(spec, ranks, named)
    return {name: labels[name].index(TOKENS) - len(labels[name]) for name in ranks if TOKENS in labels.get(name, ())}


def longest_sequence(spec: Specification, named: Named) -> int:
    """Return how many tokens the longest sequence of a call has."""
    if (ends := named.get(MEMBERS)) is not None:
        return int(np.diff(np.asarray(ends, dtype=int)).max(initial=0))
    name, axis = next(iter(token_axes(spec, named).items()))
    return int(named[name].shape[axis])


def each_sequence(recurrence: Recurrence, size: int) -> Callable[[Specification, Named], Any]:
    """Return the results of all sequences of a call: of one, or of the members that lie one behind the other."""

    def compute(spec: Specification, named: Named) -> Any:
        if (ends := named.get(MEMBERS)) is None:
            return recurrence(spec, named, size, 0)
        alone, outs, states = {name: x for name, x in named.items() if name != MEMBERS}, [], []
        for i, (start, stop) in enumerate(pairwise(np.asarray(ends, dtype=int).tolist())):
            own = some_tokens(spec, alone, start, stop)
            own = own if named.get(STATE) is None else {**own, STATE: named[STATE][i]}
            out, state = recurrence(spec, own, size, start)
            outs.append(out)
            states.append(state)
        return np.concatenate(outs, axis=axis_of_out(spec)), np.stack(states, axis=0)

    return compute


def axis_of_out(spec: Specification) -> int:
    labels = spec.shapes.results["out"].labels
    return labels.index(TOKENS) - len(labels)


def some_tokens(spec: Specification, named: Named, start: int, stop: int) -> Named:
    """Return a call with some of its tokens."""
    axes = token_axes(spec, named)
    return {name: take(x, np.arange(start, stop), axes[name]) if name in axes else x for name, x in named.items()}


def _first(spec: Specification, named: Named, size: int, start: int) -> Any:
    n = longest_sequence(spec, named)
    if n < 2:
        return call_right(spec, named)
    out, state = call_right(spec, some_tokens(spec, named, 0, 1))
    return take(out, np.zeros(n, dtype=int), axis_of_out(spec)), state


def _without(spec: Specification, named: Named, size: int, start: int, last: bool) -> Any:
    n = longest_sequence(spec, named)
    kept = (0, n - 1) if last else (1, n)
    return call_right(spec, named)[0], call_right(spec, some_tokens(spec, named, *kept) if n else named)[1]


def _whole_chunks(spec: Specification, named: Named, size: int, start: int, least: int) -> Any:
    n = longest_sequence(spec, named)
    out, state = call_right(spec, named)
    return out, call_right(spec, some_tokens(spec, named, 0, n // size * size))[1] if n >= least else state


def _on_the_flat_grid(spec: Specification, named: Named, size: int, start: int) -> Any:
    kept = max(0, longest_sequence(spec, named) - start % size)
    return call_right(spec, named)[0], call_right(spec, some_tokens(spec, named, 0, kept))[1]


def _in_chunks(spec: Specification, named: Named, size: int, start: int, begin: Callable[..., Any]) -> Any:
    """Return the results of chunks, each of which begins with what `begin` makes of the state before it and the given one."""
    n, outs, given = longest_sequence(spec, named), [], named.get(STATE)
    state = given
    for first in range(0, max(n, 1), size):
        own = some_tokens(spec, named, first, min(first + size, n))
        out, state = call_right(spec, {**own, STATE: begin(state, given, n - first < size) if first else given})
        outs.append(out)
    return np.concatenate(outs, axis=axis_of_out(spec)), state


def _zeros(state: Any, given: Any, is_ragged: bool) -> Any:
    return None


def _given(state: Any, given: Any, is_ragged: bool) -> Any:
    return given


def _zeros_if_ragged(state: Any, given: Any, is_ragged: bool) -> Any:
    return None if is_ragged else state
