"""What must hold of embedding."""

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_identical
from .inputs.draw import Draw
from .operations.embedding import TABLE_REGIMES, TOKEN_BATCHES, draw_padding, draw_token_ids
from .trials.invariant import invariant


def draw_inputs(draw: Draw) -> tuple[np.ndarray, np.ndarray]:
    """Draw token ids and a table."""
    vocab, d = draw.dims(vocab=1025, d=257)
    return draw_token_ids(draw, draw.batch(TOKEN_BATCHES), vocab), draw.array((vocab, d), TABLE_REGIMES)


@invariant("E", source="CS336 assignment 1, the model's first step")
def test_table(embedding: Operation, draw: Draw) -> None:
    """All ids in their order give the table itself, bit for bit: no factor √d, no rounding, no padding id."""
    vocab, d = draw.dims(vocab=4097, d=257)
    weight = draw.array((vocab, d), TABLE_REGIMES)
    assert_identical(embedding(np.arange(vocab), weight), weight)


@invariant("E")
def test_one_hot_product(embedding: Operation, linear: Operation, draw: Draw) -> None:
    """Looking a row up is multiplying the table by a one-hot vector: y = Wᵀ e_t."""
    vocab, d = draw.dims(vocab=130, d=130)
    token_ids, weight = draw_token_ids(draw, draw.batch(), vocab), draw.normal((vocab, d))
    assert_identical(embedding(token_ids, weight), linear(np.eye(vocab)[token_ids], np.ascontiguousarray(weight.T)))


@invariant("E")
def test_unused_rows(embedding: Operation, draw: Draw) -> None:
    """Rows that no id names have no influence, whatever they hold, NaN and infinities included."""
    token_ids, weight = draw_inputs(draw)
    unused = np.isin(np.arange(len(weight)), token_ids, invert=True)
    other = np.where(unused[:, None], draw.one_of((np.nan, np.inf, -7.0)), weight)
    assert_identical(embedding(token_ids, other), weight[token_ids])


@invariant("E")
def test_all_values(embedding: Operation, draw: Draw) -> None:
    """Every value of the dtype is handed on: the largest, the smallest, infinities and NaN."""
    token_ids, weight = draw_inputs(draw)
    f = draw.format
    ends = (f.max, -f.max, f.tiny, -f.tiny, f.quantum, np.inf, -np.inf, np.nan, 1 + 2 * f.u, 0.0)
    weight = np.where(draw.rng.random(weight.shape) < 0.5, draw.rng.choice(ends, weight.shape), weight)
    assert_identical(embedding(token_ids, weight), weight[token_ids])


@invariant("E")
def test_shape(embedding: Operation, draw: Draw) -> None:
    """The shape of the ids is kept in front of the features, for any shape, that of a single id included."""
    token_ids, weight = draw_inputs(draw)
    flat = embedding(token_ids.reshape(-1), weight).value
    assert_identical(embedding(token_ids, weight), flat.reshape(*token_ids.shape, weight.shape[-1]))


@invariant("E")
def test_relabelling(embedding: Operation, draw: Draw) -> None:
    """Permuting the rows of the table and the ids with them changes nothing."""
    token_ids, weight = draw_inputs(draw)
    order = draw.rng.permutation(len(weight))
    assert_identical(embedding(np.asarray(np.argsort(order)[token_ids]), weight[order]), embedding(token_ids, weight))


@invariant("E", cost=2)
def test_large_table(embedding: Operation, draw: Draw) -> None:
    """Ids beyond 2¹⁶ find their rows, and neighbouring ids different ones."""
    vocab, d = draw.size("vocab", (70_001,)), draw.size("d", (1, 2, 3))
    last = max(vocab - 1, 0)
    token_ids = last - draw.rng.permutation(min(vocab, 300))
    weight = draw.normal((vocab, d))
    assert_identical(embedding(token_ids, weight), weight[token_ids])


@invariant("E", source="PyTorch, torch.nn.functional.embedding", needs=("keyword:padding_idx",))
def test_padding_changes_no_value(embedding: Operation, draw: Draw) -> None:
    """With a padding_idx every token has its row all the same, that of padding too, whatever it holds."""
    token_ids, weight = draw_inputs(draw)
    padding = draw_padding(draw, token_ids, len(weight))
    assert_identical(embedding(token_ids, weight, **padding), weight[token_ids])
