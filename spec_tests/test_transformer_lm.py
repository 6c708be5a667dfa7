"""What must hold of transformer_lm."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .calls.result import Result
from .helpers.assertions import assert_equal, assert_identical, assert_true, assert_unmoved, exactly
from .inputs.draw import Draw, within_domain
from .operations.scaled_dot_product_attention import draw_part
from .operations.transformer_lm import draw_inputs
from .specification.pytree import leaves
from .trials.invariant import invariant

SOURCE = "CS336 assignment 1, section 3.6"


@invariant("B", source=SOURCE)
def test_causal_prefix(transformer_lm: Operation, draw: Draw) -> None:
    """The scores of a prefix are the prefix of the scores, whatever tokens follow."""
    ids, weights, keywords = draw_inputs(draw)
    t = draw_part(draw, ids.shape[-1], "n")
    prefix = transformer_lm(ids[..., :t], weights, **keywords)
    for tokens in (ids, draw.rng.integers(0, len(weights["token_embedding"]), ids.shape)):
        longer = np.concatenate([ids[..., :t], tokens[..., t:]], axis=-1)
        y = transformer_lm(longer, weights, **keywords)
        assert_equal(Result(y.value[..., :t, :], prefix.call), prefix)


@invariant("B", source=SOURCE)
def test_no_layers(transformer_lm: Operation, draw: Draw) -> None:
    """Without layers each token is scored alone: lm_head rms_norm(embedding), whatever stands before it."""
    within_domain(draw, num_layers=0)
    ids, weights, keywords = draw_inputs(draw, layers=(0,))
    x: Any = exactly(weights["token_embedding"][ids])
    normed = x / np.sqrt(np.mean(np.square(x), axis=-1, keepdims=True) + keywords["eps"]) * weights["final_norm"]
    assert_equal(transformer_lm(ids, weights, **keywords), np.matmul(normed, weights["lm_head"].T))


@invariant("B", source=SOURCE)
def test_names_of_tokens(transformer_lm: Operation, draw: Draw) -> None:
    """Ids are names: permuting the rows of the embedding and renaming the tokens along changes nothing."""
    ids, weights, keywords = draw_inputs(draw)
    order = draw.rng.permutation(len(weights["token_embedding"]))
    renamed = weights | {"token_embedding": weights["token_embedding"][order]}
    assert_unmoved(transformer_lm(np.argsort(order)[ids], renamed, **keywords), transformer_lm(ids, weights, **keywords))


def score_with_other_unused_rows(transformer_lm: Operation, draw: Draw, *fillings: float) -> tuple[Result, Result]:
    """Return the scores with other numbers in the rows of the embedding that no id names, and the scores as they were."""
    ids, weights, keywords = draw_inputs(draw)
    table = weights["token_embedding"].copy()
    table[np.setdiff1d(np.arange(len(table)), ids)] = draw.one_of(fillings)
    y = transformer_lm(ids, weights, **keywords)
    other = transformer_lm.call(ids, weights | {"token_embedding": table}, **keywords)
    return Result(transformer_lm.values(y.call, transformer_lm.run(other)), y.call), y


@invariant("B", source=SOURCE)
def test_absent_tokens(transformer_lm: Operation, draw: Draw) -> None:
    """Rows of the embedding that no id names do not matter, however large they are."""
    assert_unmoved(*score_with_other_unused_rows(transformer_lm, draw, 300.0, draw.format.max))


@invariant("B", source=SOURCE, level="quarantine", cost=2)
def test_quarantine(transformer_lm: Operation, draw: Draw) -> None:
    """NaN and infinities in rows of the embedding that no id names never reach the scores: rows are looked up, not multiplied
    out by zeros and a one."""
    assert_unmoved(*score_with_other_unused_rows(transformer_lm, draw, np.nan, np.inf))


@invariant("B", source=SOURCE)
def test_order_of_the_head(transformer_lm: Operation, draw: Draw) -> None:
    """Permuting the rows of lm_head permutes the scores; the embedding is another matrix."""
    ids, weights, keywords = draw_inputs(draw)
    order = draw.rng.permutation(len(weights["lm_head"]))
    permuted = weights | {"lm_head": weights["lm_head"][order]}
    assert_equal(transformer_lm(ids, permuted, **keywords), transformer_lm(ids, weights, **keywords)[..., order])


@invariant("B", source=SOURCE)
def test_linear_in_the_head(transformer_lm: Operation, draw: Draw) -> None:
    """The scores for lm_head = 2a − b are twice those for a, less those for b: nothing follows the head, no softmax."""
    ids, weights, keywords = draw_inputs(draw)
    a, b = (draw.grid(weights["lm_head"].shape) for _ in range(2))
    once, other = (transformer_lm(ids, weights | {"lm_head": w}, **keywords) for w in (a, b))
    assert_equal(transformer_lm(ids, weights | {"lm_head": 2 * a - b}, **keywords), 2.0 * once - other)


@invariant("E", source=SOURCE)
def test_zero_head_or_last_norm(transformer_lm: Operation, draw: Draw) -> None:
    """A head of zeros, or a last norm whose gain is zero, gives exactly zero."""
    ids, weights, keywords = draw_inputs(draw)
    name = draw.one_of(("lm_head", "final_norm"))
    y = transformer_lm(ids, weights | {name: np.zeros_like(weights[name])}, **keywords)
    assert_identical(y, np.zeros(y.shape))


@invariant("B", source=SOURCE)
def test_silent_layer(transformer_lm: Operation, draw: Draw) -> None:
    """A layer whose w_o and w2 are zero leaves the scores, wherever it stands."""
    ids, weights, keywords = draw_inputs(draw, layers=(1, 2))
    layers = weights["layers"]
    within_domain(draw, num_layers=len(layers) + 1)
    silent = layers[0] | {name: np.zeros_like(layers[0][name]) for name in ("w_o", "w2")}
    i = draw.integer(0, len(layers))
    more = weights | {"layers": [*layers[:i], silent, *layers[i:]]}
    assert_unmoved(transformer_lm(ids, more, **keywords), transformer_lm(ids, weights, **keywords))


@invariant("E", source="the book's exercise on depth and width", cost=2)
def test_parameter_count(transformer_lm: Operation, parameter_count: Operation, draw: Draw) -> None:
    """parameter_count is the number of elements of the arrays of a model that runs, deep and narrow or shallow and wide."""
    ids, weights, keywords = draw_inputs(draw, layers=(1, 0, 2, 3))
    h, h_kv, d_k = keywords["num_heads"], keywords.get("num_kv_heads"), draw.size("d_k", (2, 4))
    d, f, vocab = h * d_k, draw.size("f", (3, 8, 5)), len(weights["token_embedding"])
    within_domain(draw, d=d)
    shapes = {"attn_norm": (d,), "ffn_norm": (d,), "w1": (f, d), "w2": (d, f), "w3": (f, d), "w_q": (d, d), "w_o": (d, d)}
    shapes |= dict.fromkeys(("w_k", "w_v"), ((h_kv or h) * d_k, d))
    layers = [{name: draw.normal(shape) for name, shape in shapes.items()} for _ in weights["layers"]]
    model = {"token_embedding": draw.normal((vocab, d)), "layers": layers, "final_norm": draw.gain(d)}
    model["lm_head"] = draw.weight(vocab, d)
    transformer_lm(ids, model, **keywords)
    sizes = {"d_model": d, "d_ff": f, "num_layers": len(layers), "num_heads": h, "num_kv_heads": h_kv, "vocab_size": vocab}
    counted, size = int(parameter_count(**sizes).value), sum(x.size for _, x in leaves(model))
    assert_true(counted == size, f"parameter_count is {counted}, the arrays have {size} elements")
