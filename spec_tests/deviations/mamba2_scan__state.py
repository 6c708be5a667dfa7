"""What goes wrong with the state of Mamba-2, from call to call and from chunk to chunk."""

from typing import Any

import numpy as np

from reference_numpy._marks import float64
from reference_numpy._steps import UNLIMITED
from reference_numpy.mamba2_scan import mamba2_scan

from . import deviation
from ._recurrences import CHUNK, Arrays, scan_by_token


@deviation("reference", "any_cut", "steps_of_zero", seen=("https://github.com/tile-ai/TileOPs/pull/1557",))
def given_state_ignored(*arrays: Any, **options: Any) -> Any:
    """the given state is ignored: every call begins with zeros.

    Shows: a state. Hides: none.
    """
    given, options = Arrays.split(*arrays, **options)
    return mamba2_scan(*given._replace(state=None), **options)


@deviation("any_cut")
def several_tokens_start_anew(*arrays: Any, **options: Any) -> Any:
    """the path for several tokens begins with zeros, and only that for a single one takes the given state.

    Shows: a state and two tokens. Hides: a single token, and no state.
    """
    given, options = Arrays.split(*arrays, **options)
    return mamba2_scan(*given._replace(state=None if given.x.shape[-2] > 1 else given.state), **options)


@deviation("reference", "any_cut", "is_linear_attention", seen=("https://github.com/Infatoshi/kernelbench.com/pull/7",))
def state_lost_at_the_end_of_a_chunk(*arrays: Any, dt_softplus: bool = False, dt_limit: Any = UNLIMITED, **named: Any) -> Any:
    """every chunk of 16 tokens but the first begins with zeros.

    Shows: 17 tokens. Hides: 16.
    """
    given = Arrays.of(*arrays, **named)

    def step(t: int, decay: Any, written: Any, state: Any) -> Any:
        return written if t and t % CHUNK == 0 else decay * state + written

    return scan_by_token(given, dt_softplus, dt_limit, step)


@deviation("reference", "any_cut", seen=("https://github.com/vllm-project/vllm/pull/23279",))
def state_not_decayed_by_the_first_token(*arrays: Any, dt_softplus: bool = False, dt_limit: Any = UNLIMITED, **named: Any) -> Any:
    """the given state is not decayed by the first token of the call.

    Shows: a state. Hides: none.
    """
    given = Arrays.of(*arrays, **named)
    return scan_by_token(given, dt_softplus, dt_limit, lambda t, decay, written, state: (decay * state if t else state) + written)


@deviation("reference", "any_cut", "is_linear_attention", seen=("https://github.com/sgl-project/sglang/pull/33450",))
def state_of_the_last_full_chunk(*arrays: Any, **options: Any) -> Any:
    """the new state is that after the last full chunk of 16 tokens.

    Shows: any number of tokens that 16 does not divide. Hides: multiples of 16.
    """
    given, options = Arrays.split(*arrays, **options)
    full = given.taken(slice(0, given.x.shape[-2] // CHUNK * CHUNK))
    return mamba2_scan(*given, **options)[0], mamba2_scan(*full, **options)[1]


@deviation("no_tokens")
def no_tokens_empty_the_state(*arrays: Any, **options: Any) -> Any:
    """a call without tokens returns a state of zeros.

    Shows: n = 0 with a state. Hides: any token.
    """
    given, options = Arrays.split(*arrays, **options)
    out, after = mamba2_scan(*given, **options)
    return out, after if given.x.shape[-2] else 0.0 * after


@deviation("reference")
def square_state_transposed(*arrays: Any, **options: Any) -> Any:
    """the new state is that of the recurrence of keys, (s, p), where its shape does not tell: it is the transpose.

    Shows: p = s > 1. Hides: other sizes.
    """
    given, options = Arrays.split(*arrays, **options)
    out, after = mamba2_scan(*given, **options)
    return out, np.swapaxes(after, -1, -2) if after.shape[-1] == after.shape[-2] else after


@deviation("state_of_zeros")
def first_token_taken_for_written(*arrays: Any, **options: Any) -> Any:
    """where a state is given, the input of the first token is taken for written: 0 stands in its place.

    Shows: a state. Hides: none.
    """
    given, options = Arrays.split(*arrays, **options)
    kept = np.where(np.arange(given.x.shape[-2])[:, None] == 0, 0.0, float64(given.x))
    return mamba2_scan(*given._replace(x=given.x if given.state is None else kept), **options)


@deviation("calls_do_not_see_each_other", kind="fault")
def state_kept_from_the_last_call(scan: Any, *arrays: Any, memory: dict[str, Any], **options: Any) -> Any:
    """a call without a state goes on from the state that the last call returned, if that has its shape.

    Shows: two calls without a state, one after the other. Hides: a given state.
    """
    given, options = Arrays.split(*arrays, **options)
    kept, shape = memory.get("state"), (*given.x.shape[:-2], given.x.shape[-1], given.b.shape[-1])
    fits = given.state is None and kept is not None and kept.shape == shape
    out, state = scan(*given._replace(state=kept if fits else given.state), **options)
    memory["state"] = state
    return out, state
