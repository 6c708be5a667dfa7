"""What must hold of multihead_self_attention."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .calls.result import Result
from .helpers.assertions import assert_equal, assert_identical, exactly
from .helpers.attention_inputs import draw_other_values
from .helpers.heads import count_key_value_heads, draw_selection_matrix, join_heads, split_heads, split_rows_by_head
from .inputs.draw import THETA, Draw, within_domain
from .operations.multihead_self_attention import allows_kv_heads, draw_inputs, draw_projections
from .operations.rope import require_positions
from .operations.scaled_dot_product_attention import draw_batch, draw_part
from .trials.invariant import invariant

EQUATION = "CS336 assignment 1, eqs. (12) to (14)"
ROPE = "CS336 assignment 1, section 3.5.3"


def attend_causally(attention: Operation, q: Any, k: Any, v: Any) -> Any:
    """Call attention with is_causal, or with a causal mask if it does not take that."""
    if attention.accepts("is_causal"):
        return attention(q, k, v, is_causal=True)
    return attention(q, k, v, mask=np.tri(q.shape[-2], dtype=bool))


# --- causality ------------------------------------------------------------------------------------------------------


@invariant("B", source=EQUATION)
def test_causal_prefix(multihead_self_attention: Operation, draw: Draw) -> None:
    """The result of a prefix is the prefix of the result, whatever follows, large finite tokens too."""
    x, weights, keywords = draw_inputs(draw, "theta")
    t = draw_part(draw, x.shape[-2], "n")
    place = keywords.get("positions")
    early = keywords | ({} if place is None else {"positions": place[..., :t]})
    prefix = multihead_self_attention(x[..., :t, :], *weights, **early)
    for tokens in (x, draw_other_values(draw, x.shape, draw.format.max**0.5 / (64 * x.shape[-1]))):
        longer = np.concatenate([x[..., :t, :], tokens[..., t:, :]], axis=-2)
        y = multihead_self_attention(longer, *weights, **keywords)
        assert_equal(Result(y.value[..., :t, :], prefix.call), prefix)


@invariant("B", source=EQUATION, needs=("keyword:is_causal",))
def test_order_of_tokens(multihead_self_attention: Operation, draw: Draw) -> None:
    """Without causality the tokens are a set: permuting them, and their positions along with them, permutes the result."""
    x, weights, keywords = draw_inputs(draw, "theta")
    if "theta" in keywords and "positions" not in keywords:
        del keywords["theta"]  # then the order is the position
    order = draw.rng.permutation(x.shape[-2])
    place = keywords.get("positions")
    permuted = keywords | ({} if place is None else {"positions": place[..., order]})
    if place is not None:
        require_positions(draw)
    y = multihead_self_attention(x[..., order, :], *weights, **permuted, is_causal=False)
    assert_equal(y, multihead_self_attention(x, *weights, **keywords, is_causal=False)[..., order, :])


@invariant("B", source=EQUATION)
def test_first_token(multihead_self_attention: Operation, draw: Draw) -> None:
    """The first token sees itself alone: queries and keys do not enter its result, which is w_o w_v x."""
    x, (w_q, w_k, w_v, w_o), keywords = draw_inputs(draw, "theta")
    h, h_kv = keywords["num_heads"], count_key_value_heads(keywords)
    first: Any = exactly(x[..., :1, :])
    v = np.matmul(first, np.repeat(split_rows_by_head(w_v, h_kv), h // h_kv, axis=0).reshape(-1, x.shape[-1]).T)
    y = multihead_self_attention(x, w_q, w_k, w_v, w_o, **keywords)
    assert_equal(y[..., :1, :], np.matmul(v, w_o.T))


@invariant("B", source=EQUATION)
def test_zero_queries_or_keys_give_means(multihead_self_attention: Operation, draw: Draw) -> None:
    """With w_q = 0, or w_k = 0, all scores are equal: each token gets the mean of the values up to it."""
    x, (w_q, w_k, w_v, w_o), keywords = draw_inputs(draw, "theta")
    h, h_kv, n = keywords["num_heads"], count_key_value_heads(keywords), x.shape[-2]
    w_q, w_k = draw.one_of((0, 1)) * w_q, 0 * w_k
    if draw.one_of((False, True)):
        w_q, w_k = 0 * w_q, draw.weight(*w_k.shape)
    before: Any = exactly(np.tri(n))
    mean: Any = before @ exactly(x) / np.sum(before, axis=-1, keepdims=True)
    v = np.matmul(mean, np.repeat(split_rows_by_head(w_v, h_kv), h // h_kv, axis=0).reshape(-1, x.shape[-1]).T)
    assert_equal(multihead_self_attention(x, w_q, w_k, w_v, w_o, **keywords), np.matmul(v, w_o.T))


# --- heads ----------------------------------------------------------------------------------------------------------


@invariant("B", source=EQUATION, cost=1.5)
def test_heads_are_attention(multihead_self_attention: Operation, scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """One head is the backend's own attention of the projections; several are one beside the other, in the order of the rows
    of w_q and the columns of w_o. The weights pick features, so that the projections are exact."""
    x, (w_q, w_k, w_v, w_o), keywords = draw_inputs(draw)
    h, h_kv = keywords["num_heads"], count_key_value_heads(keywords)
    w_q, w_k, w_v, w_o = (draw_selection_matrix(draw, *w.shape) for w in (w_q, w_k, w_v, w_o))
    q = split_heads(x @ w_q.T, h)
    k, v = (np.repeat(split_heads(x @ w.T, h_kv), h // h_kv, axis=-3) for w in (w_k, w_v))
    apart = join_heads(attend_causally(scaled_dot_product_attention, q, k, v))
    source = np.argmax(np.abs(w_o), axis=-1)
    picked = apart[..., source] * exactly(w_o[np.arange(len(source)), source])
    assert_equal(multihead_self_attention(x, w_q, w_k, w_v, w_o, **keywords), picked)


@invariant("B", source=EQUATION)
def test_order_of_heads(multihead_self_attention: Operation, draw: Draw) -> None:
    """Permuting the heads in the rows of w_q, w_k and w_v and in the columns of w_o together does not change the result."""
    x, (w_q, w_k, w_v, w_o), keywords = draw_inputs(draw, "theta", "is_causal")
    h, h_kv = keywords["num_heads"], count_key_value_heads(keywords)
    order = draw.rng.permutation(h_kv)
    of_queries = (order[:, None] * (h // h_kv) + np.arange(h // h_kv)).ravel()
    q, o = (
        split_rows_by_head(w_q, h)[of_queries].reshape(w_q.shape),
        split_rows_by_head(w_o.T, h)[of_queries].reshape(w_o.T.shape).T,
    )
    k, v = (split_rows_by_head(w, h_kv)[order].reshape(w.shape) for w in (w_k, w_v))
    y = multihead_self_attention(x, w_q, w_k, w_v, w_o, **keywords)
    assert_equal(multihead_self_attention(x, q, k, v, np.ascontiguousarray(o), **keywords), y)


@invariant("B", source="the book's exercise 8", needs=("keyword:num_kv_heads",))
def test_shared_heads_are_repeated_weights(multihead_self_attention: Operation, draw: Draw) -> None:
    """Fewer heads of keys and values are as many, each repeated for its group: the rows of w_k and w_v repeated, head by head."""
    x, (w_q, w_k, w_v, w_o), keywords = draw_inputs(draw, "theta", "is_causal")
    h, h_kv = keywords["num_heads"], count_key_value_heads(keywords)
    within_domain(draw, h_kv=h)
    ways = tuple(number for number in (h, None) if allows_kv_heads(draw, number))
    k, v = (np.repeat(split_rows_by_head(w, h_kv), h // h_kv, axis=0).reshape(-1, w.shape[-1]) for w in (w_k, w_v))
    repeated = multihead_self_attention(x, w_q, k, v, w_o, **(keywords | {"num_kv_heads": draw.one_of(ways)}))
    assert_equal(multihead_self_attention(x, w_q, w_k, w_v, w_o, **keywords), repeated)


@invariant("B", source=EQUATION, cost=1.5)
def test_fused_projection(
    multihead_self_attention: Operation, linear: Operation, scaled_dot_product_attention: Operation, draw: Draw
) -> None:
    """The three projections are one product with the weights one above the other, then cut apart: the backend's own linear and
    attention, put together, give the same."""
    h = draw.size("h", (2, 1, 3))
    d_k, d_v, n, d = draw.dims(d_k=9, d_v=9, n=17, d=17)
    x = draw.normal((*draw_batch(draw, h * n * n), n, d))
    weights = draw_projections(draw, d, h, h, d_k, d_v)
    qkv = linear(x, np.concatenate(weights[:3]))
    q, k, v = (split_heads(qkv[..., a:b], h) for a, b in ((0, h * d_k), (h * d_k, 2 * h * d_k), (2 * h * d_k, None)))
    together = linear(join_heads(attend_causally(scaled_dot_product_attention, q, k, v)), weights[3])
    assert_equal(multihead_self_attention(x, *weights, num_heads=h), together)


@invariant("E", source=EQUATION)
def test_zero_output_weight(multihead_self_attention: Operation, draw: Draw) -> None:
    """w_o = 0, or w_v = 0, gives exactly zero."""
    x, (w_q, w_k, w_v, w_o), keywords = draw_inputs(draw, "theta", "is_causal")
    zeroed = (0 * w_v, w_o) if draw.one_of((False, True)) else (w_v, 0 * w_o)
    assert_identical(multihead_self_attention(x, w_q, w_k, *zeroed, **keywords), np.zeros(x.shape))


@invariant("B", source=EQUATION)
def test_linear_in_output_weight(multihead_self_attention: Operation, draw: Draw) -> None:
    """The result for the output weight 2a − b is twice that for a, less that for b."""
    x, (*inner, w_o), keywords = draw_inputs(draw, "theta", "is_causal")
    a, b = draw.grid(w_o.shape), draw.grid(w_o.shape)
    once, other = (multihead_self_attention(x, *inner, w, **keywords) for w in (a, b))
    assert_equal(multihead_self_attention(x, *inner, 2 * a - b, **keywords), 2.0 * once - other)


# --- positions ------------------------------------------------------------------------------------------------------


def draw_inputs_with_theta(draw: Draw) -> tuple[np.ndarray, tuple[np.ndarray, ...], dict[str, Any]]:
    """Draw x, weights, and keywords with theta and a layout, without positions."""
    x, weights, keywords = draw_inputs(draw, even=True)
    if len(weights[0]) // keywords["num_heads"] % 2:
        within_domain(draw, d_k=-1)
    return x, weights, keywords | draw.keyword("theta", THETA) | draw.keyword("layout", ("interleaved", "half"))


@invariant("B", source=ROPE, needs=("keyword:theta", "keyword:positions"))
def test_shift_of_positions(multihead_self_attention: Operation, draw: Draw) -> None:
    """Adding one number to all positions does not change the result: queries and keys are turned alike."""
    x, weights, keywords = draw_inputs_with_theta(draw)
    positions, s = draw.positions(x.shape[:-2], x.shape[-2], highest=2049), draw.one_of((1, 3, 62, 4095, 1_000_000))
    require_positions(draw, "offset")
    y = multihead_self_attention(x, *weights, positions=positions, **keywords)
    assert_equal(multihead_self_attention(x, *weights, positions=positions + s, **keywords), y)


@invariant("B", source=ROPE, needs=("keyword:theta", "keyword:positions"))
def test_equal_positions(multihead_self_attention: Operation, draw: Draw) -> None:
    """Where all tokens have the same position, RoPE changes nothing: values are not turned, nor queries without keys."""
    x, weights, keywords = draw_inputs_with_theta(draw)
    require_positions(draw)
    positions = np.full(x.shape[-2], draw.one_of((0, 1, 2, 300, 100_000)))
    plain = {name: value for name, value in keywords.items() if name != "theta"}
    y = multihead_self_attention(x, *weights, positions=positions, **keywords)
    assert_equal(y, multihead_self_attention(x, *weights, **plain))


@invariant("B", source=ROPE, needs=("keyword:theta", "keyword:positions"))
def test_default_positions(multihead_self_attention: Operation, draw: Draw) -> None:
    """With theta and without positions they are 0, …, n − 1."""
    x, weights, keywords = draw_inputs_with_theta(draw)
    y = multihead_self_attention(x, *weights, positions=np.arange(x.shape[-2]), **keywords)
    assert_equal(multihead_self_attention(x, *weights, **keywords), y)


@invariant("B", needs=("keyword:theta", "keyword:positions"))
def test_no_theta_no_positions(multihead_self_attention: Operation, draw: Draw) -> None:
    """Without theta positions are ignored."""
    x, weights, keywords = draw_inputs(draw, "is_causal")
    positions = draw.positions(x.shape[:-2], x.shape[-2])
    y = multihead_self_attention(x, *weights, positions=positions, **keywords, theta=None)
    assert_equal(y, multihead_self_attention(x, *weights, **keywords))


@invariant("B", source=ROPE, needs=("keyword:theta", "keyword:positions"))
def test_positions_of_each_sequence(multihead_self_attention: Operation, draw: Draw) -> None:
    """Positions may differ from sequence to sequence; each is treated as it would be alone."""
    x, weights, keywords = draw_inputs_with_theta(draw)
    require_positions(draw)
    within_domain(draw, batch_dims=1)
    x = draw.normal((3, *x.shape[-2:]))
    positions, i = draw.rng.integers(0, 2049, x.shape[:-1]), draw.integer(0, 2)
    y = multihead_self_attention(x, *weights, positions=positions, **keywords)
    alone = multihead_self_attention(x[i : i + 1], *weights, positions=positions[i], **keywords)
    assert_equal(y[i : i + 1], alone)
