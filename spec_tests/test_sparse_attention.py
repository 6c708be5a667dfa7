"""What must hold of sparse_attention: lists of keys, and of blocks of keys."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_conforms, assert_equal, assert_unmoved
from .helpers.attention_equation import repeat_shared_heads
from .helpers.attention_inputs import largest_safe_key
from .helpers.attention_states import assert_states_equal
from .helpers.cache_laws import other_slots
from .helpers.conventions import assert_convention
from .helpers.keywords import accepted
from .helpers.optional import answer_optional
from .inputs.draw import Draw, within_domain
from .operations.sparse_attention import (
    OPTIONAL,
    draw_arrays,
    draw_chosen,
    draw_full_lists,
    draw_indices,
    draw_inputs,
    draw_lists_of_key_heads,
    draw_options,
    draw_several_key_heads,
    in_rows,
)
from .trials.invariant import invariant

SOURCE = "DeepSeek-V3.2, section 2.1"
OWN_LISTS = "it takes no list for each key head"
BLOCKS = "Yuan et al. 2025, arXiv:2502.11089, section 3.3.2"


def listed(indices: np.ndarray, n: int, m: int, block_size: int = 1) -> np.ndarray:
    """Return which keys each query sees."""
    seen = np.any(indices[..., None] == np.arange(m) // block_size, axis=-2)
    return np.asarray(seen & (np.arange(m) <= np.arange(n)[:, None] + m - n))


@invariant("B", source=SOURCE)
def test_is_attention_under_a_mask(sparse_attention: Operation, attention_with_lse: Operation, draw: Draw) -> None:
    """It is the backend's own attention under the mask of the lists, also where the lists have all visible keys."""
    common = [name for name in ("scale", "sinks") if sparse_attention.accepts(name) and attention_with_lse.accepts(name)]
    (q, k, v, indices), keywords = draw_inputs(draw, *common)
    mask = listed(indices, q.shape[-2], k.shape[-2])[..., None, :, :]
    assert_states_equal(sparse_attention(q, k, v, indices, **keywords), attention_with_lse(q, k, v, mask=mask, **keywords))


@invariant("B", source=SOURCE)
def test_order_of_the_list(sparse_attention: Operation, draw: Draw) -> None:
    """Another order of a list, and −1 between its indices, change neither result."""
    q, k, v = draw_arrays(draw, least=2)
    keywords = draw_options(draw, q.shape[-3], *accepted(sparse_attention, *OPTIONAL))
    indices = draw_full_lists(draw, q, k, keywords.get("block_size", 1))
    spare = np.full((*indices.shape[:-1], draw.integer(1, 4)), -1)
    within_domain(draw, t=indices.shape[-1] + spare.shape[-1])
    other = draw.rng.permuted(np.concatenate([indices, spare], axis=-1), axis=-1)
    assert_states_equal(sparse_attention(q, k, v, other, **keywords), sparse_attention(q, k, v, indices, **keywords))


@invariant("B", source=SOURCE)
def test_what_is_not_listed_does_not_show(sparse_attention: Operation, draw: Draw) -> None:
    """Other finite keys and values where no query of the row lists them change neither result, also beside −1."""
    (q, k, v, indices), keywords = draw_inputs(draw, *accepted(sparse_attention, *OPTIONAL))
    seen = listed(indices, q.shape[-2], k.shape[-2], keywords.get("block_size", 1))
    unlisted = ~np.any(seen, axis=-2)[..., None, :, None]
    before = sparse_attention(q, k, v, indices, **keywords)
    others = other_slots(draw, k, unlisted, largest_safe_key(draw, q)), other_slots(draw, v, unlisted, draw.format.max)
    for one, other in zip(before, sparse_attention(q, *others, indices, **keywords), strict=True):
        assert_unmoved(other, one)


@invariant("B", source=SOURCE)
def test_one_listed_key(sparse_attention: Operation, draw: Draw) -> None:
    """Of a single listed key out is the value."""
    q, k, v = draw_arrays(draw, least=2)
    n, m = q.shape[-2], k.shape[-2]
    place = np.floor(draw.rng.random((*q.shape[:-3], n)) * (np.arange(n) + m - n + 1)).astype(int)
    row = in_rows(draw, place[..., None] == np.arange(m), draw.size("t", (2, 1, 4)))
    out, _ = sparse_attention(q, k, v, row)
    values: Any = np.take_along_axis(repeat_shared_heads(q, v)[0], place[..., None, :, None], axis=-2)
    assert_equal(out, values)


@invariant("B", source=BLOCKS, needs=("keyword:block_size",))
def test_blocks_are_lists_of_keys(sparse_attention: Operation, draw: Draw) -> None:
    """A list of blocks is the list of the keys in them that exist and that lie at the query's position or before it."""
    q, k, v = draw_arrays(draw, least=2)
    n, m = q.shape[-2], k.shape[-2]
    keywords = draw_options(draw, q.shape[-3], *accepted(sparse_attention, "scale", "sinks"))
    size = draw.only("block_size", 2, 3, 4, 16)
    chosen = draw_chosen(draw, q.shape[:-3], n, m, size.get("block_size", 1))
    blocks = in_rows(draw, chosen, draw.size("t", (chosen.shape[-1] + 1,)))
    keys = in_rows(draw, listed(blocks, n, m, size.get("block_size", 1)), draw.size("t", (m,)))
    within_domain(draw, block_size=1)
    assert_states_equal(sparse_attention(q, k, v, blocks, **size, **keywords), sparse_attention(q, k, v, keys, **keywords))


@invariant("B", source=BLOCKS)
def test_lists_of_key_heads(sparse_attention: Operation, draw: Draw) -> None:
    """With a list for each key head, its query heads are those of a call of them alone with this list."""
    (q, k, v), keywords = draw_several_key_heads(draw, *accepted(sparse_attention, "scale", "block_size"))
    h, h_kv = q.shape[-3], k.shape[-3]
    lists = draw_lists_of_key_heads(draw, q, k, keywords.get("block_size", 1))
    within_domain(draw, h=h // h_kv, h_kv=1)
    joint = answer_optional(sparse_attention, sparse_attention.call(q, k, v, lists, **keywords), OWN_LISTS)
    assert_conforms(joint)
    for head in range(h_kv):
        own, read = slice(head, head + 1), slice(head * (h // h_kv), (head + 1) * (h // h_kv))
        arrays = q[..., read, :, :], k[..., own, :, :], v[..., own, :, :]
        alone = sparse_attention(*arrays, lists[..., head, :, :], **keywords)
        assert_states_equal((joint.parts["out"][..., read, :, :], joint.parts["lse"][..., read, :]), alone)


@invariant("E", source=BLOCKS)
def test_equal_lists(sparse_attention: Operation, draw: Draw) -> None:
    """Equal lists for all key heads are one list."""
    (q, k, v), keywords = draw_several_key_heads(draw, *accepted(sparse_attention, "scale", "block_size"))
    one = draw_indices(draw, q, k, keywords.get("block_size", 1))
    lists = np.repeat(one[..., None, :, :], k.shape[-3], axis=-3)
    joint = answer_optional(sparse_attention, sparse_attention.call(q, k, v, lists, **keywords), OWN_LISTS)
    assert_states_equal(joint, sparse_attention(q, k, v, one, **keywords))


@invariant("E", source=BLOCKS)
def test_list_of_another_key_head(sparse_attention: Operation, draw: Draw) -> None:
    """Another list of one key head changes nothing of the heads that read another key head."""
    (q, k, v), keywords = draw_several_key_heads(draw, *accepted(sparse_attention, "scale", "block_size"))
    size, h_kv = keywords.get("block_size", 1), k.shape[-3]
    lists, changed = draw_lists_of_key_heads(draw, q, k, size), draw.integer(0, h_kv - 1)
    other = lists.copy()
    other[..., changed, :, :] = draw.rng.permuted(lists[..., changed, :, :], axis=-1)
    other[..., changed, :, :] = np.where(draw.rng.random(other[..., changed, :, :].shape) < 0.5, -1, other[..., changed, :, :])
    empty = np.all(other == -1, axis=-1, keepdims=True)
    other = np.where(empty & (np.arange(other.shape[-1]) == 0), 0, other)
    kept = np.repeat(np.arange(h_kv) != changed, q.shape[-3] // h_kv)
    before = answer_optional(sparse_attention, sparse_attention.call(q, k, v, lists, **keywords), OWN_LISTS)
    after = sparse_attention(q, k, v, other, **keywords)
    assert_unmoved(after.parts["out"][..., kept, :, :], before.parts["out"][..., kept, :, :])
    assert_unmoved(after.parts["lse"][..., kept, :], before.parts["lse"][..., kept, :])


@invariant("B", source=SOURCE)
def test_fully_masked_rows(sparse_attention: Operation, draw: Draw) -> None:
    """A query that lists no key gives what the backend states. If the backend states nothing, it always gives zeros, or always
    NaN. The other queries give what the equation says.
    """
    assert_convention(sparse_attention, draw, "fully_masked_rows")


@invariant("B", source="FlashAttention: natural; FlashInfer and FlashMLA: to the base 2")
def test_lse_base(sparse_attention: Operation, draw: Draw) -> None:
    """lse is to the base that the backend states. If it states nothing, the base is always the same, e or 2."""
    assert_convention(sparse_attention, draw, "lse_base")


@invariant("B", level="quarantine", cost=2)
def test_quarantine(sparse_attention: Operation, draw: Draw) -> None:
    """NaN and infinities in keys and values that no query of the row lists never reach a result."""
    (q, k, v, indices), keywords = draw_inputs(draw, *accepted(sparse_attention, *OPTIONAL))
    seen = listed(indices, q.shape[-2], k.shape[-2], keywords.get("block_size", 1))
    unlisted, poison = ~np.any(seen, axis=-2)[..., None, :, None], draw.one_of((np.nan, np.inf, -np.inf))
    before = sparse_attention(q, k, v, indices, **keywords)
    spoiled: Any = (np.where(unlisted, poison, x) for x in (k, v))
    for one, other in zip(before, sparse_attention(q, *spoiled, indices, **keywords), strict=True):
        assert_unmoved(other, one)
