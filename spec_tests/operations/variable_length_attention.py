"""How variable_length_attention is drawn."""

from typing import Any

import numpy as np

from reference_numpy.variable_length_attention import variable_length_attention
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.inputs.draw import Draw, within_domain
from spec_tests.operations.attention_with_kv_cache import OPTIONAL, draw_keywords, shortest_length
from spec_tests.operations.grouped_query_attention import draw_heads
from spec_tests.operations.scaled_dot_product_attention import MAX_SCORES, draw_widths, has_wide_heads
from spec_tests.specification.declaration import Declaration

MEMBER_LENGTHS = (1, 2, 3, 5, 8, 16, 17, 33, 64)

MAX_TOKENS_OF_WIDE_HEADS = 64  # queries and keys of an example

ENDS = (2, 3, 4, 5, 6)  # one more than there are members


def draw_ends(lengths: np.ndarray) -> np.ndarray:
    """Return the exclusive sums of the lengths, with 0 in front."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def shortest_lengths(draw: Draw, keywords: dict[str, Any], queries: np.ndarray) -> np.ndarray:
    """Return the least number of keys of each member."""
    least = int(draw.operation.spec.is_gradient)
    return np.array([max(shortest_length(keywords, n, causal=False), least) for n in queries])


def fit_total(lengths: np.ndarray, least: np.ndarray, total: int) -> np.ndarray:
    """Return the lengths with this sum: the last members are shortened, or the last one is lengthened."""
    spare = total - int(np.sum(least))
    if spare < 0:
        raise NotImplementedVariant(f"its domain has too few tokens, {total}, for {len(lengths)} members")
    ends = np.minimum(np.cumsum(lengths - least), spare)
    ends[-1] = spare
    return least + np.diff(ends, prepend=0)


def draw_member_lengths(draw: Draw, keywords: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Draw the numbers of queries and of keys of each member. Some have neither; each query sees a key, or a finite sink."""
    members = max(draw.size("members", ENDS) - 1, 1)
    queries = np.array([draw.one_of((*MEMBER_LENGTHS, 0, 0)) for _ in range(members)])
    queries[draw.integer(0, members - 1)] += 1  # some member has a query
    queries = fit_total(queries, 0 * queries, draw.size("N", (int(np.sum(queries)),)))
    total = draw.size("M", (int(np.sum(queries)),)) if "M" in draw.operation.domain else None
    least = shortest_lengths(draw, keywords, queries)
    if total is not None and np.sum(least) > total:
        queries = fit_total(queries, 0 * queries, total)
        within_domain(draw, N=total)
        least = shortest_lengths(draw, keywords, queries)
    if draw.one_of((True, False)):
        keys, least = queries.copy(), np.minimum(queries, least)  # as in training
    else:
        keys = np.array([draw.near(n, low, 40, low=low, high=64 + low) for n, low in zip(queries, least, strict=True)])
    return queries, keys if total is None else fit_total(keys, least, total)


def draw_arrays(draw: Draw, queries: np.ndarray, keys: np.ndarray) -> tuple[tuple[np.ndarray, ...], int]:
    """Draw q, k and v for members of these lengths, and return them with the number of query heads."""
    d_k, d_v = draw_widths(draw, wide=np.sum(queries) + np.sum(keys) <= MAX_TOKENS_OF_WIDE_HEADS and has_wide_heads(draw))
    scores = max(int(np.sum(queries * keys)), 1)
    h, h_kv = draw_heads(draw, 2 * MAX_SCORES // scores)
    n, m = int(np.sum(queries)), int(np.sum(keys))
    return (draw.vectors((n, h, d_k)), draw.vectors((m, h_kv, d_k)), draw.vectors((m, h_kv, d_v))), h


def draw_inputs(draw: Draw, *optional: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw a call in which every query sees a key or a finite sink."""
    keywords = draw_keywords(draw, {"M": 33, "h": 1}, *(name for name in optional if name != "sinks"), causal=False)
    with_sinks = "sinks" in optional and draw.operation.accepts("sinks") and draw.one_of((False, False, True))
    queries, keys = draw_member_lengths(draw, {**keywords, **({"sinks": np.zeros(1)} if with_sinks else {})})
    arrays, h = draw_arrays(draw, queries, keys)
    if with_sinks:
        keywords["sinks"] = draw.held(draw.rng.standard_normal(h) * 3)
    return (*arrays, draw_ends(queries), draw_ends(keys)), keywords


def draw_blind_queries(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw members of which one has queries and no keys, or, under causality, more queries than keys."""
    queries, keys = draw_member_lengths(draw, {})
    at = draw.integer(0, len(queries) - 1)
    queries[at] = max(queries[at], 2)
    keys[at] = draw.one_of((0, 1))
    if not keys.any():  # sums over no key at all are 0 in code that gives a query without a key something else
        keys[at - 1] = 1
    arrays, _ = draw_arrays(draw, queries, keys)
    return (*arrays, draw_ends(queries), draw_ends(keys)), draw.keyword("is_causal", (True,))


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return draw_inputs(draw, *OPTIONAL)


declaration = Declaration(
    equation=variable_length_attention,
    arguments=arguments,
    core={"q": 3, "k": 3, "v": 3},
    composed=True,
    structure=("cu_seqlens_q", "cu_seqlens_k"),
    open_questions={"fully_masked_rows": draw_blind_queries},
    unbatched=True,
    short=True,
    linear=("v",),
)
