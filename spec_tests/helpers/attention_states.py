"""What the laws of attention with an lse share: the parts of a set of keys, and the equations of lse, sinks and merging."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from reference_numpy.attention_with_lse import attention_with_lse
from reference_numpy.logsumexp import logsumexp
from reference_numpy.merge_attention_states import merge_attention_states

from ..bounds.bounded import Bounded
from ..inputs.draw import Draw
from .assertions import assert_equal, exactly
from .attention_equation import repeat_shared_heads

State = Iterable[Any]  # out and lse


def draw_cut(draw: Draw, m: int, *, least: int = 1, most: int = 4) -> list[np.ndarray]:
    """Draw a cut of m keys into parts, none of them empty: contiguous, or any keys in each."""
    count = draw.shape.integer(min(m, least), min(m, most))
    order = (np.arange(m), draw.rng.permutation(m))[draw.integer(0, 1)]
    return [np.sort(part) for part in np.split(order, np.sort(draw.rng.choice(np.arange(1, m), count - 1, replace=False)))]


def merge_exactly(*states: State) -> State:
    """Return the merged state by the equation. The arguments carry their errors, and nothing more is rounded."""
    first, *others = ([*map(exactly, state)] for state in states)
    for other in others:
        first = [*merge_attention_states(*first, *other)]
    return first


def attend_exactly(q: Any, k: Any, v: Any, **keywords: Any) -> tuple[Any, Any]:
    """Return attention and its lse by the equation, in float64. The results carry the errors of that."""
    named: dict[str, Any] = {name: exactly(x) if name == "sinks" and x is not None else x for name, x in keywords.items()}
    with np.errstate(all="ignore"):
        return attention_with_lse(exactly(q), exactly(k), exactly(v), **named)


def assert_states_equal(left: State, right: State) -> None:
    """The two states may be the same, where both claim anything; −∞ of lse is −∞."""
    for one, other in zip(left, right, strict=True):
        assert_equal(one, other)


def exact_scores(q: np.ndarray, k: np.ndarray, keywords: dict[str, Any], seen: Any = True) -> Any:
    """Return the scores of a call without windows as numbers without an error, −∞ where a key is hidden."""
    (k,) = repeat_shared_heads(q, k)
    scale = keywords.get("scale")
    scores: Any = exactly(q) @ exactly(np.swapaxes(k, -1, -2)) * exactly(1 / np.sqrt(q.shape[-1]) if scale is None else scale)
    if softcap := keywords.get("softcap"):
        scores = np.tanh(scores / exactly(softcap)) * exactly(softcap)
    return np.where(seen, scores, -np.inf)


def logsumexp_of(scores: Any) -> Any:
    return logsumexp(scores, axis=-1)


def add_sink(lse: Bounded, sinks: np.ndarray) -> Any:
    """Return the lse with the sink of each head as one more term of the denominator."""
    terms: list[Any] = [exactly(lse), exactly(np.broadcast_to(np.reshape(sinks, (-1, 1)), lse.shape))]
    return logsumexp(np.stack(terms, axis=-1), axis=-1)


def share_of_keys(lse: Bounded, sinks: np.ndarray) -> Any:
    """Return σ(lse − sink), the share of the weight that a head's keys keep beside its sink."""
    return (exactly(lse) - exactly(np.reshape(sinks, (-1, 1)))).logistic()
