"""What goes wrong with causal convolutions: the side that the filter looks to, the state, and what comes after the sum."""

from typing import Any

import numpy as np

from reference_numpy._filters import activated, filtered, with_past
from reference_numpy._marks import float64
from reference_numpy.causal_conv1d import causal_conv1d
from reference_numpy.silu import silu

from . import deviation


def _columns(x: Any, weight: Any, state: Any) -> Any:
    """Return the columns that the filter goes over."""
    return with_past(float64(x), weight.shape[-1] - 1, state)


def _activated(y: Any, activation: str | None) -> Any:
    return activated(y, activation, "causal_conv1d")


@deviation("reference", "one_tap")
def filter_flipped(x: Any, weight: Any, bias: Any = None, state: Any = None, *, activation: str | None = None) -> Any:
    """the filter is flipped, as in a convolution of mathematics: its first tap is for the newest token.

    Shows: filters that are not symmetric. Hides: one tap.
    """
    return causal_conv1d(x, float64(weight)[:, ::-1], bias, state, activation=activation)


@deviation("reference", "nothing_looks_ahead")
def padded_on_both_sides(x: Any, weight: Any, bias: Any = None, state: Any = None, *, activation: str | None = None) -> Any:
    """without a state the filter is centred, with half of the zeros on the right: each out sees tokens that come later.

    Shows: more than one tap and no state. Hides: a state, as when decoding.
    """
    out, after = causal_conv1d(x, weight, bias, state, activation=activation)
    right = (weight.shape[-1] - 1) // 2 + (weight.shape[-1] - 1) % 2
    if state is not None or not right:
        return out, after
    zeros = np.zeros((*x.shape[:-1], right))
    columns = np.concatenate([_columns(x, weight, None), zeros], axis=-1)[..., right:]
    return _activated(filtered(columns, float64(weight), bias), activation), after


@deviation("reference", "any_cut")
def given_state_ignored(x: Any, weight: Any, bias: Any = None, state: Any = None, *, activation: str | None = None) -> Any:
    """the filter begins with zeros before every chunk, whatever the given state holds.

    Shows: a state. Hides: none, or one of zeros.
    """
    out, _ = causal_conv1d(x, weight, bias, activation=activation)
    return out, causal_conv1d(x, weight, bias, state)[1]


@deviation("reference", "state_is_the_last_columns", seen=("https://github.com/sgl-project/sglang/issues/38622",))
def first_columns_kept(x: Any, weight: Any, bias: Any = None, state: Any = None, *, activation: str | None = None) -> Any:
    """the new state has the first w - 1 columns, and not the last ones.

    Shows: any tokens, with more than one tap. Hides: no tokens.
    """
    out, _ = causal_conv1d(x, weight, bias, state, activation=activation)
    return out, _columns(x, weight, state)[..., : weight.shape[-1] - 1]


@deviation("reference", "state_is_the_last_columns", seen=("https://github.com/sgl-project/sglang/issues/38622",))
def circular_state_read_as_linear(
    x: Any, weight: Any, bias: Any = None, state: Any = None, *, activation: str | None = None
) -> Any:
    """the new state is a circular buffer, in which token t stands in column t mod (w - 1), and the next call reads it in order.

    Shows: three taps and more. Hides: as many tokens as the state has columns, or a multiple of that.
    """
    out, after = causal_conv1d(x, weight, bias, state, activation=activation)
    past = weight.shape[-1] - 1
    return out, np.roll(after, x.shape[-1] % past, axis=-1) if past else after


@deviation("reference", "state_is_the_last_columns")
def short_chunks_forget_the_state(
    x: Any, weight: Any, bias: Any = None, state: Any = None, *, activation: str | None = None
) -> Any:
    """the new state is made of the new tokens alone: fewer than w - 1 have zeros before them, and not the old columns.

    Shows: 1 to w - 2 tokens after a state. Hides: w - 1 tokens and more, and no state.
    """
    out, _ = causal_conv1d(x, weight, bias, state, activation=activation)
    return out, _columns(x, weight, None)[..., x.shape[-1] :]


@deviation("reference", "state_is_the_last_columns")
def state_one_column_late(x: Any, weight: Any, bias: Any = None, state: Any = None, *, activation: str | None = None) -> Any:
    """the last token is not yet in the new state, which has the w - 1 columns before it.

    Shows: any tokens, with more than one tap. Hides: no tokens.
    """
    out, after = causal_conv1d(x, weight, bias, state, activation=activation)
    n, past = x.shape[-1], weight.shape[-1] - 1
    return (out, _columns(x, weight, state)[..., n - 1 : n - 1 + past]) if n else (out, after)


@deviation("reference", "state_is_the_last_columns")
def state_not_written(x: Any, weight: Any, bias: Any = None, state: Any = None, *, activation: str | None = None) -> Any:
    """a given state is returned as it was: the tokens of this call are not remembered.

    Shows: a state and a token. Hides: no state.
    """
    out, after = causal_conv1d(x, weight, bias, state, activation=activation)
    return out, after if state is None else float64(state)


@deviation("reference", "state_is_the_last_columns")
def state_activated(x: Any, weight: Any, bias: Any = None, state: Any = None, *, activation: str | None = None) -> Any:
    """with an activation the new state has activated columns.

    Shows: an activation. Hides: none.
    """
    out, after = causal_conv1d(x, weight, bias, state, activation=activation)
    return out, after if activation is None else silu(after)


@deviation("filter_of_one_tap", kind="fault", seen=("https://github.com/vllm-project/vllm-gaudi/pull/1484",))
def one_tap_keeps_every_token(conv: Any, x: Any, weight: Any, *others: Any, **options: Any) -> Any:
    """the new state is x[..., -(w - 1):], which for one tap is x[..., 0:]: all of x.

    Shows: w = 1. Hides: more taps.
    """
    out, state = conv(x, weight, *others, **options)
    return out, x if weight.shape[-1] == 1 else state


@deviation("reference", "bias_is_added", seen=("https://github.com/tile-ai/tilelang-ascend/pull/926",))
def bias_unread(x: Any, weight: Any, bias: Any = None, state: Any = None, *, activation: str | None = None) -> Any:
    """the bias is not read.

    Shows: a bias. Hides: none.
    """
    return causal_conv1d(x, weight, None, state, activation=activation)


@deviation("reference", "activation_of_the_sum")
def bias_after_the_activation(x: Any, weight: Any, bias: Any = None, state: Any = None, *, activation: str | None = None) -> Any:
    """the bias is added after the activation.

    Shows: a bias with an activation. Hides: either alone.
    """
    out, after = causal_conv1d(x, weight, None, state, activation=activation)
    return out if bias is None else out + float64(bias)[:, None], after


@deviation("reference", "activation_of_the_sum")
def activation_ignored(x: Any, weight: Any, bias: Any = None, state: Any = None, *, activation: str | None = None) -> Any:
    """there is no activation, whatever is asked for.

    Shows: silu. Hides: None.
    """
    return causal_conv1d(x, weight, bias, state)


@deviation("reference", "sums_of_signals")
def activation_always(x: Any, weight: Any, bias: Any = None, state: Any = None, *, activation: str | None = None) -> Any:
    """silu is applied whatever activation is, as in models that always have it.

    Shows: activation = None. Hides: "silu".
    """
    return causal_conv1d(x, weight, bias, state, activation="silu")


@deviation("reference", "channels_are_separate")
def one_filter_for_all_channels(
    x: Any, weight: Any, bias: Any = None, state: Any = None, *, activation: str | None = None
) -> Any:
    """every channel has the taps of the first.

    Shows: two channels. Hides: one.
    """
    return causal_conv1d(x, np.repeat(float64(weight)[:1], weight.shape[0], axis=0), bias, state, activation=activation)


@deviation("reference", "one_tap", "nothing_beyond_the_filter")
def newest_token_unseen(x: Any, weight: Any, bias: Any = None, state: Any = None, *, activation: str | None = None) -> Any:
    """each out is that of the token before: the newest token is not seen yet, and one column more of the past is.

    Shows: any token. Hides: no tokens.
    """
    columns = _columns(x, weight, state)
    late = np.concatenate([np.zeros((*x.shape[:-1], 1)), columns], axis=-1)[..., : columns.shape[-1]]
    return _activated(filtered(late, float64(weight), bias), activation), columns[..., x.shape[-1] :]


@deviation("reference", "state_is_the_last_columns")
def state_with_the_weight(x: Any, weight: Any, bias: Any = None, state: Any = None, *, activation: str | None = None) -> Any:
    """the new state has columns that are already multiplied by the taps that meet them first.

    Shows: taps other than 1. Hides: taps of 1.
    """
    out, after = causal_conv1d(x, weight, bias, state, activation=activation)
    return out, after * float64(weight)[:, :-1]
