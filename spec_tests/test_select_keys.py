"""What must hold of select_keys. The result is a set: laws compare the scores of what was selected."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_identical, assert_true
from .helpers.attention_states import assert_states_equal
from .inputs.draw import Draw
from .operations.select_keys import draw_k, draw_scores, require_k
from .operations.sparse_attention import draw_arrays
from .trials.invariant import invariant

SOURCE = "DeepSeek-V3.2, eq. 2"


def selected(scores: np.ndarray, indices: Any) -> np.ndarray:
    """Return the scores of what was selected, in ascending order: −∞ for −1. An index that is no key's is a failure."""
    found = np.asarray(indices.value).astype(int)
    m = scores.shape[-1]
    assert_true(bool(np.all((found >= -1) & (found < m))), "an index is no key's", keys=m)
    chosen = np.sort(found, axis=-1)
    assert_true(bool(np.all((np.diff(chosen, axis=-1) > 0) | (chosen[..., 1:] == -1))), "a key is selected twice")
    return np.sort(np.where(found < 0, -np.inf, np.take_along_axis(scores, np.maximum(found, 0), axis=-1)), axis=-1)


@invariant("E", source=SOURCE)
def test_largest_scores(select_keys: Operation, draw: Draw) -> None:
    """The scores of what is selected are the k largest finite ones, also where some scores are equal."""
    scores = draw_scores(draw)
    scores = np.where(draw.rng.random(scores.shape) < draw.one_of((0.0, 0.5)), np.max(scores, axis=-1, keepdims=True), scores)
    keywords = draw_k(draw, scores, most=scores.shape[-1])
    got = selected(scores, select_keys(scores, **keywords))
    assert_identical(got, np.sort(scores, axis=-1)[..., scores.shape[-1] - got.shape[-1] :])


@invariant("E", source=SOURCE)
def test_more_places_than_keys(select_keys: Operation, draw: Draw) -> None:
    """With k ≥ m every finite score is selected, and the other places hold −1."""
    scores = draw_scores(draw)
    m = scores.shape[-1]
    keywords = require_k(draw, m + draw.integer(0, 3))
    indices = np.sort(select_keys(scores, **keywords).value, axis=-1)
    count = np.sum(np.isfinite(scores), axis=-1, keepdims=True)
    k = indices.shape[-1]
    assert_identical((indices == -1).astype(float), (np.arange(k) < k - count).astype(float))
    selected(scores, select_keys(scores, **keywords))


@invariant("E", source=SOURCE)
def test_shift_of_the_scores(select_keys: Operation, draw: Draw) -> None:
    """Twice the scores, or all of them higher by one number, select the same keys."""
    scores = draw_scores(draw)
    keywords = draw_k(draw, scores)
    higher = 2 * scores if draw.one_of((True, False)) else draw.held(scores - 1)  # exact: scores near 1, or quarters below 16
    one, other = (np.sort(select_keys(x, **keywords).value, axis=-1) for x in (scores, higher))
    assert_identical(other, one)


@invariant("E", source=SOURCE)
def test_permuted_scores(select_keys: Operation, draw: Draw) -> None:
    """Permuting the scores permutes the indices."""
    scores = draw_scores(draw, hidden=False)
    keywords = draw_k(draw, scores, most=scores.shape[-1])
    order = draw.rng.permutation(scores.shape[-1])
    one, moved = (select_keys(x, **keywords).value.astype(int) for x in (scores, scores[..., order]))
    assert_identical(np.sort(order[moved], axis=-1).astype(float), np.sort(one, axis=-1).astype(float))


@invariant("B", source="DeepSeek-V3.2, section 2.1", cost=2)
def test_selection_of_every_key(
    select_keys: Operation, indexer_scores: Operation, sparse_attention: Operation, attention_with_lse: Operation, draw: Draw
) -> None:
    """The backend's own scores, selection and sparse attention, with k ≥ m, are its causal attention."""
    q, k, v = draw_arrays(draw.for_operation(sparse_attention))
    n, m = q.shape[-2], k.shape[-2]
    of_index = np.swapaxes(q, -2, -3)
    scores = indexer_scores(of_index, k[..., 0, :, :], draw.normal(of_index.shape[:-1]))
    given = np.where(np.isneginf(scores.value), -np.inf, draw.held(np.clip(np.nan_to_num(scores.value), -1e4, 1e4)))
    indices = select_keys(given, **require_k(draw, m + 1)).value.astype(int)
    mask = np.arange(m) <= np.arange(n)[:, None] + m - n
    assert_states_equal(sparse_attention(q, k, v, indices), attention_with_lse(q, k, v, mask=mask))
