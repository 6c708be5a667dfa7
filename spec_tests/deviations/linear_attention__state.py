"""What goes wrong with the state of linear attention, from call to call and from chunk to chunk."""

from itertools import pairwise
from typing import Any

import numpy as np

from reference_numpy._marks import float64
from reference_numpy.linear_attention import linear_attention

from . import deviation
from ._recurrences import CHUNK, by_token, in_chunks, read, taken


@deviation("reference", "any_cut", "rate_of_zero", seen=("https://github.com/tile-ai/TileOPs/pull/1557",))
def given_state_ignored(q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, state: Any = None, **options: Any) -> Any:
    """the given state is ignored: every call begins with zeros.

    Shows: a state. Hides: none.
    """
    return linear_attention(q, k, v, g, beta, None, **options)


@deviation("any_cut")
def several_tokens_start_anew(q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, state: Any = None, **options: Any) -> Any:
    """the path for several tokens begins with zeros, and only that for a single one takes the given state.

    Shows: a state and two tokens. Hides: a single token, and no state.
    """
    return linear_attention(q, k, v, g, beta, None if v.shape[-2] > 1 else state, **options)


@deviation("reference", "any_cut", "parallel_form", seen=("https://github.com/Infatoshi/kernelbench.com/pull/7",))
def state_lost_at_the_end_of_a_chunk(
    q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, state: Any = None, **options: Any
) -> Any:
    """every chunk of 16 tokens but the first begins with zeros.

    Shows: 17 tokens. Hides: 16.
    """
    return in_chunks(q, k, v, g, beta, lambda s: 0.0 * s, state, **options)


@deviation("reference", "any_cut", "rate_of_zero", seen=("https://github.com/vllm-project/vllm/pull/23279",))
def state_not_decayed_by_the_first_token(
    q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, state: Any = None, *, scale: Any = None, qk_l2norm: bool = False
) -> Any:
    """the given state is not decayed by the first token of the call.

    Shows: a state and g. Hides: either alone.
    """

    def step(t: int, decay: Any, row: Any, rate: Any, key: Any, state: Any) -> tuple[Any, Any]:
        state = decay * state if t else state
        state = state + key * (row if rate is None else rate * (row - read(key, state)))
        return state, state

    return by_token(q, k, v, g, beta, state, scale, qk_l2norm, step)


@deviation("reference", "any_cut", "recall", seen=("https://github.com/sgl-project/sglang/pull/33450",))
def state_of_the_last_full_chunk(
    q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, state: Any = None, **options: Any
) -> Any:
    """the new state is that after the last full chunk of 16 tokens.

    Shows: any number of tokens that 16 does not divide. Hides: multiples of 16.
    """
    full = slice(0, v.shape[-2] // CHUNK * CHUNK)
    arrays = (*(taken(x, full, -2) for x in (q, k, v, g)), taken(beta, full, -1), state)
    state_then = linear_attention(*arrays, **options)[1]
    return linear_attention(q, k, v, g, beta, state, **options)[0], state_then


@deviation("no_tokens")
def no_tokens_empty_the_state(q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, state: Any = None, **options: Any) -> Any:
    """a call without tokens returns a state of zeros.

    Shows: n = 0 with a state. Hides: any token.
    """
    out, after = linear_attention(q, k, v, g, beta, state, **options)
    return out, after if v.shape[-2] else 0.0 * after


@deviation("state_of_zeros")
def first_token_taken_for_written(
    q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, state: Any = None, **options: Any
) -> Any:
    """where a state is given, the value of the first token is taken for written: 0 stands in its place.

    Shows: a state. Hides: none.
    """
    kept = np.where(np.arange(v.shape[-2])[:, None] == 0, 0.0, float64(v))
    return linear_attention(q, k, v if state is None else kept, g, beta, state, **options)


@deviation("calls_do_not_see_each_other", kind="fault")
def state_kept_from_the_last_call(attend: Any, *arrays: Any, memory: dict[str, Any], **options: Any) -> Any:
    """a call without a state of 2 heads and more goes on from the state that the last call returned, if that has its shape.

    Shows: two calls without a state, one after the other. Hides: a given state.
    """
    missing = len(arrays) < 6 or arrays[5] is None
    kept = memory.get("state")
    given = (*arrays, *(None,) * 6)[:6]
    q, v = given[0], given[2]
    fits = kept is not None and kept.shape == (*v.shape[:-2], q.shape[-1], v.shape[-1])
    out, state = attend(*given[:5], kept if missing and fits else given[5], **options)
    memory["state"] = state
    return out, state


def _packed(arrays: tuple[Any, ...], cu_seqlens: Any, state_of: Any, **options: Any) -> Any:
    """Go through the members. state_of(i, the new states before) gives the state that a member begins with."""
    outs, states = list[Any](), list[Any]()
    for i, (start, stop) in enumerate(pairwise(int(end) for end in np.asarray(cu_seqlens))):
        q, k, v, g, beta = (taken(x, slice(start, stop), -2 if place < 4 else -1) for place, x in enumerate(arrays))
        out, after = linear_attention(q, k, v, g, beta, state_of(i, states), **options)
        outs.append(out)
        states.append(after)
    return np.concatenate(outs, axis=-2), np.stack(states, axis=0)


@deviation("packed_is_one_by_one")
def state_leaks_to_the_next_member(
    q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, state: Any = None, cu_seqlens: Any = None, **options: Any
) -> Any:
    """of packed sequences each begins with the state that the one before left.

    Shows: two members. Hides: one, and no cu_seqlens.
    """
    if cu_seqlens is None:
        return linear_attention(q, k, v, g, beta, state, **options)
    first = None if state is None else float64(state)[0]
    return _packed((q, k, v, g, beta), cu_seqlens, lambda i, states: states[-1] if i else first, **options)


@deviation("packed_is_one_by_one")
def members_begin_with_the_first_state(
    q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, state: Any = None, cu_seqlens: Any = None, **options: Any
) -> Any:
    """all packed sequences begin with the state of the first.

    Shows: two members with states. Hides: no state.
    """
    if cu_seqlens is None:
        return linear_attention(q, k, v, g, beta, state, **options)
    first = None if state is None else float64(state)[0]
    return _packed((q, k, v, g, beta), cu_seqlens, lambda i, states: first, **options)


@deviation("packed_is_one_by_one")
def last_member_dropped(
    q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, state: Any = None, cu_seqlens: Any = None, **options: Any
) -> Any:
    """the last of several packed sequences is not computed: its outs and its state are zeros.

    Shows: two members. Hides: one, and no cu_seqlens.
    """
    out, after = linear_attention(q, k, v, g, beta, state, cu_seqlens, **options)
    if cu_seqlens is None or len(cu_seqlens) < 3:
        return out, after
    is_computed = np.arange(v.shape[-2])[:, None] < int(np.asarray(cu_seqlens)[-2])
    return np.where(is_computed, out, 0.0), np.concatenate([after[:-1], 0.0 * after[-1:]], axis=0)


@deviation("reference", "empty_members", seen=("https://github.com/fla-org/flash-linear-attention/issues/103",))
def empty_member_loses_its_state(
    q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, state: Any = None, cu_seqlens: Any = None, **options: Any
) -> Any:
    """no chunk belongs to a packed sequence without tokens, so that its new state is never written: it is zeros.

    Shows: an empty member with a given state. Hides: members of a token and more, and no state.
    """
    out, after = linear_attention(q, k, v, g, beta, state, cu_seqlens, **options)
    if cu_seqlens is None:
        return out, after
    return out, np.where(np.diff(np.asarray(cu_seqlens))[:, None, None, None] > 0, after, 0.0)


@deviation("packed_is_one_by_one")
def boundaries_shifted_by_one(
    q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, state: Any = None, cu_seqlens: Any = None, **options: Any
) -> Any:
    """each packed sequence but the first begins one token late, so that the one before has its first token.

    Shows: two members. Hides: one, and no cu_seqlens.
    """
    if cu_seqlens is None:
        return linear_attention(q, k, v, g, beta, state, **options)
    ends = np.array(cu_seqlens)
    ends[1:-1] = np.minimum(ends[1:-1] + 1, ends[-1])
    return linear_attention(q, k, v, g, beta, state, ends, **options)


@deviation("infinite_decay")
def differences_of_infinite_sums(
    q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, state: Any = None, **options: Any
) -> Any:
    """decays between tokens are differences of sums of g, which is NaN where both sums are -∞.

    Shows: a g of -∞. Hides: finite ones.
    """
    out, after = linear_attention(q, k, v, g, beta, state, **options)
    if g is None:
        return out, after
    infinite = np.isneginf(np.asarray(getattr(g, "value", g)))
    lost = np.any(np.cumsum(infinite, axis=-2) > 0, axis=-1, keepdims=True)
    return np.where(lost, np.nan, out), np.where(np.any(lost, axis=-2, keepdims=True), np.nan, after)
