"""What goes wrong with linear attention: its decays, the error that the delta rule writes, lengths, scales and heads."""

from typing import Any

import numpy as np

from reference_numpy._heads import repeated_heads
from reference_numpy._marks import float64
from reference_numpy._recurrence import of_unit_length
from reference_numpy.linear_attention import linear_attention
from reference_numpy.silu import silu

from . import deviation
from ._recurrences import by_token, read, rows


@deviation("reference", "erased", seen=("https://github.com/fla-org/flash-linear-attention/issues/885",))
def error_before_the_decay(
    q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, state: Any = None, *, scale: Any = None, qk_l2norm: bool = False
) -> Any:
    """the error is that of the state before its decay: r = v - S^T k.

    Shows: g with beta, where tokens share key channels. Hides: either alone.
    """

    def step(t: int, decay: Any, row: Any, rate: Any, key: Any, state: Any) -> tuple[Any, Any]:
        written = row if rate is None else rate * (row - read(key, state))
        state = decay * state + key * written
        return state, state

    return by_token(q, k, v, g, beta, state, scale, qk_l2norm, step)


@deviation("reference", "parallel_form")
def decay_after_the_write(
    q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, state: Any = None, *, scale: Any = None, qk_l2norm: bool = False
) -> Any:
    """the state decays after a token is written, so that the token itself decays, too.

    Shows: g. Hides: none.
    """

    def step(t: int, decay: Any, row: Any, rate: Any, key: Any, state: Any) -> tuple[Any, Any]:
        state = decay * (state + key * (row if rate is None else rate * (row - read(key, state))))
        return state, state

    return by_token(q, k, v, g, beta, state, scale, qk_l2norm, step)


@deviation("reference", "parallel_form")
def read_before_the_write(
    q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, state: Any = None, *, scale: Any = None, qk_l2norm: bool = False
) -> Any:
    """each query reads the decayed state before its own token is written, as a mask without its diagonal does.

    Shows: queries that read their own keys. Hides: beta = 0.
    """

    def step(t: int, decay: Any, row: Any, rate: Any, key: Any, state: Any) -> tuple[Any, Any]:
        state = decay * state
        return state + key * (row if rate is None else rate * (row - read(key, state))), state

    return by_token(q, k, v, g, beta, state, scale, qk_l2norm, step)


@deviation("reference", "rate_of_zero")
def rate_on_the_value_alone(
    q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, state: Any = None, *, scale: Any = None, qk_l2norm: bool = False
) -> Any:
    """beta multiplies the value, and not what was read: r = beta v - S'^T k.

    Shows: beta other than 1. Hides: beta = 1, and none.
    """

    def step(t: int, decay: Any, row: Any, rate: Any, key: Any, state: Any) -> tuple[Any, Any]:
        state = decay * state
        state = state + key * (row if rate is None else rate * row - read(key, state))
        return state, state

    return by_token(q, k, v, g, beta, state, scale, qk_l2norm, step)


@deviation("reference", "value_channels_are_separate")
def one_error_for_all_values(
    q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, state: Any = None, *, scale: Any = None, qk_l2norm: bool = False
) -> Any:
    """what is read with the key is summed over the value channels, and the sum is subtracted from each.

    Shows: beta with two value channels. Hides: one value channel, and no beta.
    """

    def step(t: int, decay: Any, row: Any, rate: Any, key: Any, state: Any) -> tuple[Any, Any]:
        state = decay * state
        if rate is not None:
            row = rate * (row - np.sum(read(key, state), axis=-1, keepdims=True))
        state = state + key * row
        return state, state

    return by_token(q, k, v, g, beta, state, scale, qk_l2norm, step)


@deviation("reference", "parallel_form", seen=("https://github.com/NVlabs/GatedDeltaNet/issues/15",))
def tokens_do_not_decay(
    q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, state: Any = None, *, scale: Any = None, qk_l2norm: bool = False
) -> Any:
    """within a call a plain causal mask stands where the decays between two tokens belong: only the given state decays.

    Shows: g and two tokens. Hides: single tokens.
    """
    left = [1.0]

    def step(t: int, decay: Any, row: Any, rate: Any, key: Any, state: Any) -> tuple[Any, Any]:
        kept = 0.0 if given is None else left[0] * given
        left[0] = decay * left[0]
        state = state - kept + (0.0 if given is None else left[0] * given)
        state = state + key * (row if rate is None else rate * (row - read(key, state)))
        return state, state

    given = None if state is None else float64(state)
    return by_token(q, k, v, g, beta, state, scale, qk_l2norm, step)


@deviation("reference", "parallel_form", seen=("https://github.com/NeuraLegion/shainet/pull/170",))
def value_decays_too(q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, state: Any = None, **options: Any) -> Any:
    """the new value is multiplied by the decay of its token, as the state is.

    Shows: g. Hides: none.
    """
    row = float64(v) if g is None else float64(v) * np.exp(float64(g)[..., :1])
    return linear_attention(q, k, row, g, beta, state, **options)


@deviation("strong_decays", seen=("https://github.com/huggingface/transformers/pull/48455",))
def decays_of_the_wrong_sign(q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, state: Any = None, **options: Any) -> Any:
    """the exponents of the decays have the wrong sign, so that the state grows until it overflows.

    Shows: g. Hides: none.
    """
    return linear_attention(q, k, v, None if g is None else -float64(g), beta, state, **options)


@deviation("reference", "parallel_form", seen=("https://github.com/huawei-csl/megagdn-pto/pull/26",))
def exponents_clamped(
    q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, state: Any = None, *, scale: Any = None, qk_l2norm: bool = False
) -> Any:
    """decays between tokens are e^G_i times e^min(-G_j, 80), where G sums the decays of the call: beyond 80 tokens fade.

    Shows: sums of g below -80. Hides: weaker decays.
    """
    total: list[Any] = [0.0]

    def step(t: int, decay: Any, row: Any, rate: Any, key: Any, state: Any) -> tuple[Any, Any]:
        if g is not None:
            total[0] = total[0] + rows(float64(g), t)
        state = decay * state
        row = row if rate is None else rate * (row - read(key, state))
        state = state + (key * np.exp(np.minimum(total[0] + 80.0, 0.0))) * row
        return state, state

    return by_token(q, k, v, g, beta, state, scale, qk_l2norm, step)


@deviation("reference", "channels_in_another_order")
def decay_of_the_first_channel(q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, state: Any = None, **options: Any) -> Any:
    """all channels have the decay of the first.

    Shows: g by channel. Hides: g by head.
    """
    return linear_attention(q, k, v, None if g is None else float64(g)[..., :1], beta, state, **options)


@deviation("reference", "heads_are_separate", seen=("https://github.com/golang-design/accel/issues/27",))
def decays_of_the_first_head(q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, state: Any = None, **options: Any) -> Any:
    """all heads have the decays of the first.

    Shows: g with two heads. Hides: one head.
    """
    first = None if g is None else np.repeat(float64(g)[..., :1, :, :], v.shape[-3], axis=-3)
    return linear_attention(q, k, v, first, beta, state, **options)


@deviation("reference", "equal_channels")
def decays_by_channel_ignored(q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, state: Any = None, **options: Any) -> Any:
    """nothing decays where g has an axis of channels.

    Shows: g by channel. Hides: g by head.
    """
    return linear_attention(q, k, v, None if g is None or g.shape[-1] > 1 else g, beta, state, **options)


@deviation("reference", "decay_of_one")
def decays_gated_again(q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, state: Any = None, **options: Any) -> Any:
    """g is taken for the input of the gate: the logarithm of the decay is ln σ(g).

    Shows: g near 0. Hides: g far below 0.
    """
    log = None if g is None else -np.log(1 + np.exp(-float64(g)))
    return linear_attention(q, k, v, log, beta, state, **options)


@deviation("reference", "recall")
def nothing_is_subtracted(q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, state: Any = None, **options: Any) -> Any:
    """beta multiplies what is written, but what the key reads is not subtracted: gated linear attention, not the delta rule.

    Shows: beta where keys share channels. Hides: no beta.
    """
    rows = float64(v) if beta is None else float64(v) * float64(beta)[..., None]
    return linear_attention(q, k, rows, g, None, state, **options)


@deviation("reflection", dtypes=("float64", "float32"))
def rates_above_one_cut_off(q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, state: Any = None, **options: Any) -> Any:
    """beta is at most 1.

    Shows: beta from 1 to 2, as with negative eigenvalues. Hides: beta up to 1.
    """
    return linear_attention(q, k, v, g, None if beta is None else np.minimum(float64(beta), 1.0), state, **options)


@deviation("reference", "parallel_form")
def scale_of_the_values(
    q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, state: Any = None, *, scale: Any = None, **options: Any
) -> Any:
    """without a scale it is 1 / √d_v, and not 1 / √d_k.

    Shows: d_k ≠ d_v. Hides: d_k = d_v, and a given scale.
    """
    return linear_attention(q, k, v, g, beta, state, scale=1 / np.sqrt(v.shape[-1]) if scale is None else scale, **options)


@deviation("reference", "scale_is_a_factor")
def scale_ignored(
    q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, state: Any = None, *, scale: Any = None, **options: Any
) -> Any:
    """the scale is 1 / √d_k whatever is given.

    Shows: another scale. Hides: none.
    """
    return linear_attention(q, k, v, g, beta, state, **options)


@deviation("reference", "lengths_do_not_count")
def keys_not_normalized(
    q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, state: Any = None, *, scale: Any = None, qk_l2norm: bool = False
) -> Any:
    """with qk_l2norm queries are normalized, but keys are not.

    Shows: qk_l2norm. Hides: none.
    """
    queries = of_unit_length(float64(q)) if qk_l2norm else q
    return linear_attention(queries, k, v, g, beta, state, scale=scale)


@deviation("reference", "values_and_states_add_up")
def values_activated(q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, state: Any = None, **options: Any) -> Any:
    """silu is applied to the values, which the convolution before it has done already.

    Shows: any values. Hides: none.
    """
    return linear_attention(q, k, silu(float64(v)), g, beta, state, **options)


@deviation("reference", "nothing_looks_ahead")
def chunks_without_a_mask(
    q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, state: Any = None, *, scale: Any = None, **options: Any
) -> Any:
    """every query reads the state after the last token of the call, as scores without a causal mask do.

    Shows: two tokens. Hides: single tokens.
    """
    after = linear_attention(q, k, v, g, beta, state, scale=scale, **options)[1]
    factor = 1 / np.sqrt(k.shape[-1]) if scale is None else scale
    queries = of_unit_length(float64(q)) if options.get("qk_l2norm") else float64(q)
    (queries,) = repeated_heads("linear_attention", v, queries)
    return factor * np.matmul(queries, after), after


@deviation("reference", "heads_are_separate")
def heads_shared_by_remainder(q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, state: Any = None, **options: Any) -> Any:
    """value head i reads key and query head i mod h_k, as a repeated array does that is tiled.

    Shows: 1 < h_k < h. Hides: h_k = 1 and h_k = h.
    """
    order = np.arange(v.shape[-3]) % k.shape[-3]
    return linear_attention(float64(q)[..., order, :, :], float64(k)[..., order, :, :], v, g, beta, state, **options)


@deviation("l2_epsilon")
def l2_epsilon_squared(
    q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, state: Any = None, *, scale: Any = None, qk_l2norm: bool = False
) -> Any:
    """the eps under the root of the lengths of queries and keys is squared: 1e-12.

    Shows: queries and keys of lengths below 0.01. Hides: longer ones, and qk_l2norm=False.
    """
    if qk_l2norm:
        q, k = (of_unit_length(float64(x), 1e-12) for x in (q, k))
    return linear_attention(q, k, v, g, beta, state, scale=scale)
