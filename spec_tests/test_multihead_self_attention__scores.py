"""What must hold of multihead_self_attention with a window, sinks, a cap, and another scale."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, exactly
from .helpers.heads import (
    count_key_value_heads,
    draw_selection_matrix,
    join_heads,
    split_heads,
    split_rows_by_head,
)
from .helpers.keywords import accepted_keywords, require_accepted
from .inputs.draw import Draw
from .operations._serving import SCALES, draw_sinks
from .operations.multihead_self_attention import SERVED, draw_inputs, draw_served
from .operations.rope import require_positions
from .trials.invariant import invariant

WINDOW = "Beltagy et al. 2020, arXiv:2004.05150, section 3.1"
SINKS = "OpenAI 2025, gpt-oss model card, arXiv:2508.10925"
SCALE = "Gemma Team 2024, arXiv:2408.00118, section 2"


@invariant("B", source=WINDOW, needs=("keyword:left_window",))
def test_window_forgets(multihead_self_attention: Operation, draw: Draw) -> None:
    """A token with left_window = w gets what it gets as the last of the w + 1 tokens up to it, with their positions."""
    x, weights, keywords = draw_inputs(draw, "theta")
    n, place = x.shape[-2], keywords.get("positions")
    t = draw.near(n - 1, n // 2, 0, low=0, high=n - 1)
    window = draw.near(0, t // 2, t, low=0, high=n)
    part = slice(max(t - window, 0), t + 1)
    if place is None and "theta" in keywords and multihead_self_attention.accepts("positions"):
        require_positions(draw, "offset")
        place = np.arange(n)
    here = {} if place is None else {"positions": place[..., part]}
    y = multihead_self_attention(x, *weights, **keywords, left_window=window)
    assert_equal(y[..., t : t + 1, :], multihead_self_attention(x[..., part, :], *weights, **keywords | here)[..., -1:, :])


@invariant("B", source=SINKS, needs=("keyword:sinks",))
def test_sinks_with_equal_scores(multihead_self_attention: Operation, draw: Draw) -> None:
    """With w_q = 0 all scores are 0: token t gets the mean of its t + 1 values, times (t + 1)/(t + 1 + e^sink) in each head."""
    x, (w_q, w_k, w_v, w_o), keywords = draw_inputs(draw, "theta")
    h, h_kv, n = keywords["num_heads"], count_key_value_heads(keywords), x.shape[-2]
    sinks = draw_sinks(draw, h)
    seen: Any = exactly(np.tri(n))
    total: Any = seen @ exactly(x)
    v = split_heads(np.matmul(total, np.repeat(split_rows_by_head(w_v, h_kv), h // h_kv, axis=0).reshape(-1, x.shape[-1]).T), h)
    denominator = np.sum(seen, axis=-1)[:, None] + np.exp(exactly(sinks))[:, None, None]
    y = multihead_self_attention(x, 0 * w_q, w_k, w_v, w_o, **keywords, sinks=sinks)
    assert_equal(y, np.matmul(join_heads(v / denominator), w_o.T))


@invariant("B", source=SCALE, needs=("keyword:scale",))
def test_scale_is_of_the_scores(multihead_self_attention: Operation, draw: Draw) -> None:
    """A scale s with queries of twice the size is the scale 2 s."""
    x, (w_q, w_k, w_v, w_o), keywords = draw_inputs(draw, "theta", "is_causal")
    scale = draw.one_of(SCALES)
    small = draw.grid(w_q.shape) / 8
    y = multihead_self_attention(x, 2 * small, w_k, w_v, w_o, **keywords, scale=scale)
    assert_equal(multihead_self_attention(x, small, w_k, w_v, w_o, **keywords, scale=2 * scale), y)


@invariant("B", source=SCALE, cost=1.5)
def test_scores_are_those_of_attention(
    multihead_self_attention: Operation, grouped_query_attention: Operation, draw: Draw
) -> None:
    """A scale, a cap, a window and sinks are those of the backend's own attention. The weights pick features, so that the
    projections are exact."""
    names = accepted_keywords(draw, *SERVED)
    x, (w_q, w_k, w_v, w_o), keywords = draw_inputs(draw)
    h, h_kv = keywords["num_heads"], count_key_value_heads(keywords)
    w_q, w_k, w_v, w_o = (draw_selection_matrix(draw, *w.shape) for w in (w_q, w_k, w_v, w_o))
    used = {*names} if draw.one_of((True, False)) else {draw.one_of(names)}
    options = draw_served(draw, used, h, x.shape[-2])
    q, k, v = (split_heads(x @ w.T, heads) for w, heads in ((w_q, h), (w_k, h_kv), (w_v, h_kv)))
    causal = require_accepted({"is_causal": True, **options}, grouped_query_attention)
    apart = join_heads(grouped_query_attention(q, k, v, **causal))
    source = np.argmax(np.abs(w_o), axis=-1)
    picked = apart[..., source] * exactly(w_o[np.arange(len(source)), source])
    assert_equal(multihead_self_attention(x, w_q, w_k, w_v, w_o, **keywords, **options), picked)
