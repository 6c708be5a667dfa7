"""How sparse_attention is drawn: lists of any length, in any order, with −1 anywhere between the indices."""

from typing import Any

import numpy as np

from reference_numpy.sparse_attention import sparse_attention
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.inputs.draw import Draw, within_domain
from spec_tests.operations._serving import SCALES, draw_sinks
from spec_tests.operations.grouped_query_attention import draw_heads
from spec_tests.operations.scaled_dot_product_attention import MAX_SCORES, draw_batch
from spec_tests.specification.declaration import Declaration

OPTIONAL = ("sinks", "scale", "block_size")
QUERIES = (1, 2, 3, 5, 8)
KEYS = (3, 8, 1, 2, 5, 17, 33, 64)
WIDTHS = (4, 1, 2, 3, 8, 16)
BLOCKS = (2, 3, 4, 16)


def draw_arrays(draw: Draw, *, least: int = 1) -> tuple[np.ndarray, ...]:
    """Draw q, k and v with n ≤ m, and at least so many keys."""
    n = draw.size("n", QUERIES)
    m = draw.size("m", tuple(size for size in KEYS if size >= max(n, least)) or (n, n + 1))
    if m < max(n, least):
        raise NotImplementedVariant(f"its domain has no {max(n, least)} keys")
    d_k, d_v = draw.size("d_k", WIDTHS), draw.size("d_v", WIDTHS)
    h, h_kv = draw_heads(draw, MAX_SCORES // (4 * n * m))
    batch = draw_batch(draw, 4 * h * n * m)
    shapes = ((*batch, h, n, d_k), (*batch, h_kv, m, d_k), (*batch, h_kv, m, d_v))
    return tuple(draw.vectors(shape) for shape in shapes)


def reachable(n: int, m: int, block_size: int) -> np.ndarray:
    """Return how many blocks each query may list: those that begin at its position or before it."""
    return np.asarray((np.arange(n) + m - n) // block_size + 1)


def in_rows(draw: Draw, chosen: np.ndarray, t: int) -> np.ndarray:
    """Return the chosen blocks of each query as a row of t indices, in any order, with −1 in the other places."""
    key = np.where(chosen, draw.rng.random(chosen.shape), 2.0)
    order = np.argsort(key, axis=-1)[..., :t]
    listed = np.where(np.take_along_axis(chosen, order, axis=-1), order, -1)
    spare = np.full((*listed.shape[:-1], max(t - listed.shape[-1], 0)), -1)
    return np.asarray(draw.rng.permuted(np.concatenate([listed, spare], axis=-1), axis=-1))


def draw_chosen(draw: Draw, batch: tuple[int, ...], n: int, m: int, block_size: int, *, blind: float = 0.0) -> np.ndarray:
    """Draw which blocks each query lists. blind: the share of queries that list none."""
    possible = np.arange(-(-m // block_size)) < reachable(n, m, block_size)[:, None]
    share = draw.one_of(draw.planned("listed", (0.5, 0.2, 1.0, 0.9)))
    chosen = possible & (draw.rng.random((*batch, *possible.shape)) < share)
    own = np.floor(draw.rng.random((*batch, n)) * reachable(n, m, block_size)).astype(int)  # each query lists one at least
    np.put_along_axis(chosen, own[..., None], True, axis=-1)
    return np.asarray(chosen & (draw.rng.random((*batch, n, 1)) >= blind))


def draw_full_lists(draw: Draw, q: np.ndarray, k: np.ndarray, block_size: int) -> np.ndarray:
    """Draw lists of one length without −1."""
    n, m = q.shape[-2], k.shape[-2]
    reach = reachable(n, m, block_size)
    possible = np.arange(-(-m // block_size)) < reach[:, None]
    key = np.where(possible, draw.rng.random((*q.shape[:-3], *possible.shape)), 2.0)
    return np.argsort(key, axis=-1)[..., : draw.size("t", tuple(range(1, int(reach[0]) + 1)))]


def draw_indices(draw: Draw, q: np.ndarray, k: np.ndarray, block_size: int = 1, *, blind: float = 0.0) -> np.ndarray:
    """Draw the indices of a call, in rows that often have more places than are needed."""
    chosen = draw_chosen(draw, q.shape[:-3], q.shape[-2], k.shape[-2], block_size, blind=blind)
    longest = int(np.max(np.sum(chosen, axis=-1), initial=1))
    stated = draw.operation.domain.get("t")
    t = draw.size("t", tuple(sorted({longest, longest + 1, longest + 3, chosen.shape[-1] + 2})))
    if stated is not None and t < longest:
        raise NotImplementedVariant(f"its domain has no t = {longest}")
    return in_rows(draw, chosen, t)


def draw_lists_of_key_heads(draw: Draw, q: np.ndarray, k: np.ndarray, block_size: int = 1) -> np.ndarray:
    """Draw the indices of a call in which each key head has a list of its own."""
    chosen = draw_chosen(draw, k.shape[:-2], q.shape[-2], k.shape[-2], block_size)
    longest = int(np.max(np.sum(chosen, axis=-1), initial=1))
    return in_rows(draw, chosen, draw.size("t", (longest, longest + 1, longest + 3)))


def draw_several_key_heads(draw: Draw, *optional: str) -> tuple[tuple[np.ndarray, ...], dict[str, Any]]:
    """Draw q, k, v and keywords, with two key heads or more where the domain has so many."""
    q, k, v = draw_arrays(draw, least=2)
    if k.shape[-3] == 1:
        q, k, v = (draw.vectors((*x.shape[:-3], 2 * x.shape[-3], *x.shape[-2:])) for x in (q, k, v))
        within_domain(draw, h=q.shape[-3], h_kv=2)
    return (q, k, v), draw_options(draw, q.shape[-3], *optional)


def draw_options(draw: Draw, h: int, *optional: str) -> dict[str, Any]:
    """Draw some of the optional arguments."""
    used = draw.variants(*optional)
    keywords = draw.keyword("scale", (*SCALES, None)) if "scale" in used else {}
    keywords |= draw.keyword("block_size", BLOCKS) if "block_size" in used else {}
    return keywords | ({"sinks": draw_sinks(draw, h)} if "sinks" in used else {})


def draw_inputs(draw: Draw, *optional: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw a call in which every query lists a key."""
    q, k, v = draw_arrays(draw)
    keywords = draw_options(draw, q.shape[-3], *optional)
    return (q, k, v, draw_indices(draw, q, k, keywords.get("block_size", 1))), keywords


def draw_blind_queries(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw lists of which some, or all, are empty."""
    q, k, v = draw_arrays(draw)
    indices = draw_indices(draw, q, k, blind=draw.one_of((0.5, 1.0)))
    indices[..., draw.integer(0, q.shape[-2] - 1), :] = -1
    return (q, k, v, indices), {}


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return draw_inputs(draw, *OPTIONAL)


declaration = Declaration(
    equation=sparse_attention,
    arguments=arguments,
    core={"q": 3, "k": 3, "v": 3, "indices": 2},
    composed=True,
    cost=2,
    results={"out": "", "lse": "wider"},
    open_questions={"fully_masked_rows": draw_blind_queries, "lse_base": lambda draw: draw_inputs(draw, "scale")},
    structure=("indices",),
    short=True,
    linear=("v",),
)
