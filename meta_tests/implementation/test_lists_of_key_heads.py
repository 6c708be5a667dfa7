"""The optional variant of sparse_attention: a list for each key head, which is told by its number of axes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from reference_numpy.sparse_attention import sparse_attention
from reference_numpy.sparse_attention_vjp import sparse_attention_vjp
from spec_tests.deviations import OracleBackend
from spec_tests.implementation.backend import build_backend
from spec_tests.specification.registry import core_of, given_dimensions, operations, specification

from ..support.in_process import caught_by

LAWS = ("lists_of_key_heads", "equal_lists", "list_of_another_key_head")


def draw_arrays(*batch: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((*batch, *shape)) for shape in ((4, 3, 2), (2, 5, 2), (2, 5, 3)))
    return q, k, v, np.stack([np.stack([rng.permutation(3)[:2] for _ in range(3)]) for _ in range(2)])


def test_each_key_head_reads_its_own_list() -> None:
    q, k, v, lists = draw_arrays()
    out, lse = sparse_attention(q, k, v, lists)
    cotangents = np.cos(out), np.sin(lse)
    gradients = sparse_attention_vjp(cotangents, q, k, v, lists)
    for head in range(2):
        own, read = slice(head, head + 1), slice(2 * head, 2 * head + 2)
        alone = sparse_attention(q[read], k[own], v[own], lists[head])
        assert np.array_equal(out[read], alone[0])
        assert np.array_equal(lse[read], alone[1])
        found = sparse_attention_vjp([c[read] for c in cotangents], q[read], k[own], v[own], lists[head])
        for whole, part, at in zip(gradients[:3], found, (read, own, own), strict=False):
            assert np.max(np.abs(whole[at] - part)) < 1e-12


@pytest.mark.parametrize("batch", [(), (2,), (2, 3)])
def test_the_axes_of_the_list_say_whether_heads_have_their_own(batch: tuple[int, ...]) -> None:
    spec = specification("sparse_attention")
    q, k, v, lists = draw_arrays(*batch)
    for own, labels in ((False, ("n", "t")), (True, ("h_kv", "n", "t"))):
        indices = np.broadcast_to(lists if own else lists[0], (*batch, *(lists if own else lists[0]).shape))
        named = {"q": q, "k": k, "v": v, "indices": indices}
        assert core_of(spec, named)["indices"] == len(labels)
        assert given_dimensions(spec, {name: x.ndim for name, x in named.items()}, named)["indices"] == labels


def test_a_backend_may_refuse_it() -> None:
    def refuses(q: Any, k: Any, v: Any, indices: Any, **options: Any) -> Any:
        if indices.ndim == q.ndim:
            raise IndexError("indices has too many axes")
        return OracleBackend().sparse_attention(q, k, v, indices, **options)

    source = SimpleNamespace(framework="numpy", dtypes=("float32",), sparse_attention=refuses)
    under_test = build_backend(source, set(operations()))
    for law in LAWS:
        assert caught_by(under_test, seed=1, only=f"sparse_attention.{law}") == {}
