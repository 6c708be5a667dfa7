"""What must hold of embedding's gradient."""

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_identical
from .inputs.draw import Draw, within_domain
from .operations.embedding import draw_token_ids
from .trials.invariant import invariant

EQUATION = "the transpose of the look-up"


@invariant("E", source=EQUATION, cost=2)
def test_absent_and_single_tokens(embedding_vjp: Operation, draw: Draw) -> None:
    """The row of an id that does not occur is exactly 0; that of an id that occurs once is its cotangent."""
    vocab, d = draw.dims(vocab=4097, d=257)
    token_ids = draw.rng.permutation(vocab)[: draw.shape.integer(1, min(vocab, 64))]
    c = draw.vectors((len(token_ids), d))
    expected = np.zeros((vocab, d))
    expected[token_ids] = c
    assert_identical(embedding_vjp(c, token_ids, draw.normal((vocab, d)), wrt="weight"), expected)


@invariant("B", source=EQUATION, cost=2)
def test_repeated_tokens_add_up(embedding_vjp: Operation, draw: Draw) -> None:
    """The row of an id gathers the cotangents of all its occurrences, however many."""
    vocab, d = draw.dims(vocab=33, d=65)
    token_ids = draw_token_ids(draw, (draw.shape.one_of((5, 40, 2, 200)),), vocab)
    c = draw.grid((len(token_ids), d), step=1.0, largest=1)  # so that every order of the sum is exact, in 16 bits too
    expected = (token_ids == np.arange(vocab)[:, None]).astype(float) @ c
    assert_equal(embedding_vjp(c, token_ids, draw.normal((vocab, d)), wrt="weight"), expected)


@invariant("E", source="PyTorch, torch.nn.functional.embedding", needs=("keyword:padding_idx",), cost=2)
def test_padding_row(embedding_vjp: Operation, draw: Draw) -> None:
    """The row of padding_idx, which is counted from the end if it is negative, is exactly 0. Other rows are as without it."""
    vocab, d = draw.dims(vocab=257, d=65)
    token_ids = draw_token_ids(draw, (draw.shape.one_of((5, 40, 2, 200)),), vocab)
    c, weight = draw.grid((len(token_ids), d), step=1.0, largest=1), draw.normal((vocab, d))
    gathered, padding = (token_ids == np.arange(vocab)[:, None]).astype(float) @ c, int(token_ids[0])
    for padding_idx in (padding, padding - vocab):
        within_domain(draw, padding_idx=padding_idx)
        expected = np.where((np.arange(vocab) == padding)[:, None], 0.0, gathered)
        assert_equal(embedding_vjp(c, token_ids, weight, wrt="weight", padding_idx=padding_idx), expected)
