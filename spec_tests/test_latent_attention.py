"""What must hold of latent_attention: its two forms, what its parts contribute, and what a query sees."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_all_zero, assert_unmoved, exactly
from .helpers.attention_states import assert_states_equal
from .helpers.cache_laws import other_slots
from .helpers.conventions import assert_convention
from .inputs.draw import Draw, within_domain
from .operations.latent_attention import SCALES, draw_arrays, draw_inputs
from .trials.invariant import invariant

SOURCE = "DeepSeek-AI 2024, arXiv:2405.04434, section 2.1"


def with_exact_products(draw: Draw, arrays: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """Return the arrays with grids, and with weights that have one power of two in each row and column: products are exact."""
    q_nope, q_rope, latent, k_rope, w_uk, w_uv = arrays
    weights = []
    for w in (w_uk, w_uv):
        row, column = (draw.rng.permuted(np.broadcast_to(np.arange(d), (len(w), d)), axis=-1) for d in w.shape[-2:])
        chosen = row[:, :, None] == column[:, None, :]
        weights.append(np.where(chosen, draw.rng.choice((1.0, -1.0, 0.5, 2.0), w.shape), 0.0))
    return draw.grid(q_nope.shape), q_rope, draw.grid(latent.shape), k_rope, *weights


def causal_rows(n: int, m: int, keywords: dict[str, Any]) -> np.ndarray:
    """Return which of m rows each of n queries sees."""
    away = np.arange(m) - (np.arange(n)[:, None] + m - n)
    return np.asarray((away <= 0) | (not keywords.get("is_causal", True)))


@invariant("B", source=SOURCE, cost=2)
def test_absorbed_is_explicit(latent_attention: Operation, latent_attention_absorbed: Operation, draw: Draw) -> None:
    """It is w_uv times the backend's own absorbed form, of queries that have taken w_uk, at the scale 1 / √(d_n + d_r)."""
    arrays = with_exact_products(draw, draw_arrays(draw))
    q_nope, q_rope, latent, k_rope, w_uk, w_uv = arrays
    q, cache = np.concatenate([q_nope @ w_uk, q_rope], axis=-1), np.concatenate([latent, k_rope], axis=-1)
    scale = float((q_nope.shape[-1] + q_rope.shape[-1]) ** -0.5)
    out, lse = latent_attention_absorbed(q, cache, rank=latent.shape[-1], scale=scale)
    in_heads: Any = exactly(out) @ exactly(np.swapaxes(w_uv, -1, -2))
    assert_states_equal(latent_attention(*arrays), (in_heads, lse))


@invariant("B", source=SOURCE, cost=2)
def test_is_attention_to_keys_and_values(latent_attention: Operation, attention_with_lse: Operation, draw: Draw) -> None:
    """It is the backend's own attention, over as many heads, to the keys and values that the latents make."""
    arrays, keywords = with_exact_products(draw, draw_arrays(draw)), draw.keyword("is_causal", (True, False))
    q_nope, q_rope, latent, k_rope, w_uk, w_uv = arrays
    k_nope, v = (latent[..., None, :, :] @ np.swapaxes(w, -1, -2) for w in (w_uk, w_uv))
    rotated = np.broadcast_to(k_rope[..., None, :, :], (*k_nope.shape[:-1], k_rope.shape[-1]))
    q, k = np.concatenate([q_nope, q_rope], axis=-1), np.concatenate([k_nope, rotated], axis=-1)
    mask = causal_rows(q.shape[-2], k.shape[-2], keywords)
    assert_states_equal(latent_attention(*arrays, **keywords), attention_with_lse(q, k, v, mask=mask))


@invariant("B", source=SOURCE)
def test_other_basis_of_the_latents(latent_attention: Operation, draw: Draw) -> None:
    """Latents in another basis, with the inverse of it in w_uk and w_uv, give the same: here permuted, times powers of two."""
    (*queries, latent, k_rope, w_uk, w_uv), keywords = draw_inputs(draw, used=False)
    r = latent.shape[-1]
    order, size = draw.rng.permutation(r), draw.rng.choice((1.0, -1.0, 2.0, 0.5), r)
    moved = (latent[..., order] * size, k_rope, *(draw.held(w[..., order] / size) for w in (w_uk, w_uv)))
    before = latent_attention(*queries, latent, k_rope, w_uk, w_uv, **keywords)
    assert_states_equal(latent_attention(*queries, *moved, **keywords), before)


@invariant("B", source=SOURCE)
def test_rotated_part(latent_attention: Operation, draw: Draw) -> None:
    """Where q_rope is 0 other k_rope does not show; where w_uk is 0 other q_nope does not."""
    (q_nope, q_rope, latent, k_rope, w_uk, w_uv), keywords = draw_inputs(draw, used=False)
    other = draw.vectors(k_rope.shape), draw.vectors(q_nope.shape)
    plain = latent_attention(q_nope, 0 * q_rope, latent, k_rope, w_uk, w_uv, **keywords)
    for one, after in zip(plain, latent_attention(q_nope, 0 * q_rope, latent, other[0], w_uk, w_uv, **keywords), strict=True):
        assert_unmoved(after, one)
    plain = latent_attention(q_nope, q_rope, latent, k_rope, 0 * w_uk, w_uv, **keywords)
    for one, after in zip(plain, latent_attention(other[1], q_rope, latent, k_rope, 0 * w_uk, w_uv, **keywords), strict=True):
        assert_unmoved(after, one)


@invariant("B", source=SOURCE)
def test_no_rotated_part(latent_attention: Operation, draw: Draw) -> None:
    """With d_r = 0 the scale is 1 / √d_n: the same as a rotated part of zeros at that scale."""
    q_nope, q_rope, latent, k_rope, *weights = draw_arrays(draw, rotated=False)
    scale, zeros = float(q_nope.shape[-1] ** -0.5), [np.zeros((*x.shape[:-1], 1)) for x in (q_rope, k_rope)]
    within_domain(draw, d_r=1, scale=scale)
    of_zeros = latent_attention(q_nope, zeros[0], latent, zeros[1], *weights, scale=scale)
    assert_states_equal(latent_attention(q_nope, q_rope, latent, k_rope, *weights), of_zeros)


@invariant("E", source=SOURCE)
def test_no_values(latent_attention: Operation, draw: Draw) -> None:
    """w_uv = 0 gives 0."""
    (*others, w_uv), keywords = draw_inputs(draw, used=False)
    out, _ = latent_attention(*others, 0 * w_uv, **keywords)
    assert_all_zero(out)


@invariant("B", source=SOURCE)
def test_heads_are_separate(latent_attention: Operation, draw: Draw) -> None:
    """A head gives what it gives alone, with its own w_uk and w_uv."""
    (q_nope, q_rope, latent, k_rope, w_uk, w_uv), keywords = draw_inputs(draw, used=False)
    within_domain(draw, h=1)
    i = draw.integer(0, len(w_uk) - 1)
    own = slice(i, i + 1)
    queries = (q[..., own, :, :] for q in (q_nope, q_rope))
    alone = latent_attention(*queries, latent, k_rope, w_uk[own], w_uv[own], **keywords)
    out, lse = latent_attention(q_nope, q_rope, latent, k_rope, w_uk, w_uv, **keywords)
    assert_states_equal((out[..., own, :, :], lse[..., own, :]), alone)


@invariant("B", source=SOURCE)
def test_decode_is_prefill(latent_attention: Operation, draw: Draw) -> None:
    """Each query alone, beside the rows up to its own, gives what it gives beside the later ones: causality is bottom-right."""
    q_nope, q_rope, latent, k_rope, *weights = draw_arrays(draw)
    n, m = q_nope.shape[-2], latent.shape[-2]
    scale, i = draw.keyword("scale", SCALES), draw.integer(0, n - 1)
    rows, own = m - n + i + 1, slice(i, i + 1)
    within_domain(draw, n=1, m=rows)
    queries = (q[..., own, :] for q in (q_nope, q_rope))
    alone = latent_attention(*queries, latent[..., :rows, :], k_rope[..., :rows, :], *weights, **scale)
    out, lse = latent_attention(q_nope, q_rope, latent, k_rope, *weights, **scale)
    assert_states_equal((out[..., own, :], lse[..., own]), alone)


@invariant("B", source=SOURCE, needs=("keyword:lengths",))
def test_nothing_beyond_the_lengths(latent_attention: Operation, draw: Draw) -> None:
    """Other finite latents in rows from lengths on do not change either result, with and without causality."""
    (*queries, latent, k_rope, w_uk, w_uv, lengths), keywords = draw_inputs(draw, used=True)
    beyond = (np.arange(latent.shape[-2]) >= lengths[:, None])[..., None]
    others = (other_slots(draw, x, beyond, 300.0) for x in (latent, k_rope))
    before = latent_attention(*queries, latent, k_rope, w_uk, w_uv, lengths=lengths, **keywords)
    for one, after in zip(before, latent_attention(*queries, *others, w_uk, w_uv, lengths=lengths, **keywords), strict=True):
        assert_unmoved(after, one)


@invariant("B", source=SOURCE, needs=("keyword:lengths",))
def test_rows_have_their_own_lengths(latent_attention: Operation, draw: Draw) -> None:
    """An entry of the batch gives what it gives without lengths, cut to its own length."""
    (*arrays, w_uk, w_uv, lengths), keywords = draw_inputs(draw, used=True)
    i = draw.integer(0, len(lengths) - 1)
    q_nope, q_rope, latent, k_rope = (x[i : i + 1] for x in arrays)
    held = int(lengths[i])
    within_domain(draw, m=held)
    alone = latent_attention(q_nope, q_rope, latent[:, :held], k_rope[:, :held], w_uk, w_uv, **keywords)
    out, lse = latent_attention(*arrays, w_uk, w_uv, lengths=lengths, **keywords)
    assert_states_equal((out[i : i + 1], lse[i : i + 1]), alone)


@invariant("B", source=SOURCE)
def test_fully_masked_rows(latent_attention: Operation, draw: Draw) -> None:
    """A query before the first row gives what the backend states. If the backend states nothing, it always gives zeros, or always
    NaN. The other queries give what the equation says.
    """
    assert_convention(latent_attention, draw, "fully_masked_rows")


@invariant("B", source="FlashAttention: natural; FlashInfer and FlashMLA: to the base 2")
def test_lse_base(latent_attention: Operation, draw: Draw) -> None:
    """lse is to the base that the backend states. If it states nothing, the base is always the same, e or 2."""
    assert_convention(latent_attention, draw, "lse_base")
