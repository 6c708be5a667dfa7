"""What goes wrong with packed sequences under a causal convolution: whose columns and whose state a sequence begins with."""

from itertools import pairwise
from typing import Any

import numpy as np

from reference_numpy._filters import with_past
from reference_numpy._marks import float64
from reference_numpy.causal_conv1d import causal_conv1d

from . import deviation


@deviation("reference", "packed_is_one_by_one", "members_do_not_see_each_other")
def columns_of_the_member_before(
    x: Any, weight: Any, bias: Any = None, state: Any = None, cu_seqlens: Any = None, **options: Any
) -> Any:
    """of packed sequences each but the first reads the last columns of the one before it, in place of its state.

    Shows: two members, two taps. Hides: one member; one tap; no cu_seqlens.
    """
    out, after = causal_conv1d(x, weight, bias, state, cu_seqlens, **options)
    if cu_seqlens is None:
        return out, after
    start = int(np.asarray(cu_seqlens)[1])
    first = None if state is None else float64(state)[0]
    through, _ = causal_conv1d(x, weight, bias, first, **options)
    return np.concatenate([out[:, :start], through[:, start:]], axis=-1), after


@deviation("reference", "empty_members")
def members_begin_with_the_first_state(
    x: Any, weight: Any, bias: Any = None, state: Any = None, cu_seqlens: Any = None, **options: Any
) -> Any:
    """all packed sequences begin with the state of the first.

    Shows: two members with states. Hides: one member; no state; one tap.
    """
    if cu_seqlens is not None and state is not None:
        state = np.repeat(float64(state)[:1], state.shape[0], axis=0)
    return causal_conv1d(x, weight, bias, state, cu_seqlens, **options)


@deviation("reference", "packed_is_one_by_one", "members_do_not_see_each_other")
def states_of_the_columns_before_each_end(
    x: Any, weight: Any, bias: Any = None, state: Any = None, cu_seqlens: Any = None, **options: Any
) -> Any:
    """the new state of a packed sequence is the columns before its end, those of the sequence before it among them.

    Shows: a member but the first that has fewer than w - 1 tokens. Hides: longer members; no cu_seqlens.
    """
    out, after = causal_conv1d(x, weight, bias, state, cu_seqlens, **options)
    if cu_seqlens is None:
        return out, after
    past, ends = weight.shape[-1] - 1, [int(end) for end in np.asarray(cu_seqlens)]
    columns = with_past(float64(x), past, None if state is None else float64(state)[0])
    return out, np.stack([columns[:, end : end + past] for end in ends[1:]], axis=0)


@deviation("reference", "packed_is_one_by_one")
def boundaries_shifted_by_one(
    x: Any, weight: Any, bias: Any = None, state: Any = None, cu_seqlens: Any = None, **options: Any
) -> Any:
    """each packed sequence but the first begins one token late, so that the one before has its first token.

    Shows: two members, two taps. Hides: one member; no cu_seqlens.
    """
    if cu_seqlens is not None:
        ends = np.array(cu_seqlens)
        ends[1:-1] = np.minimum(ends[1:-1] + 1, ends[-1])
        cu_seqlens = ends
    return causal_conv1d(x, weight, bias, state, cu_seqlens, **options)


@deviation("reference", "packed_is_one_by_one")
def last_state_for_every_member(
    x: Any, weight: Any, bias: Any = None, state: Any = None, cu_seqlens: Any = None, **options: Any
) -> Any:
    """the new state of every packed sequence is that of the last one.

    Shows: two members, two taps. Hides: one member; one tap; no cu_seqlens.
    """
    out, after = causal_conv1d(x, weight, bias, state, cu_seqlens, **options)
    if cu_seqlens is None:
        return out, after
    return out, np.stack([after[-1] for _ in pairwise(np.asarray(cu_seqlens))], axis=0)
