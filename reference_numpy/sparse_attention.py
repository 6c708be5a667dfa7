from typing import Any

from ._listed import listed_keys
from ._marks import float64
from .attention_with_lse import attention_with_lse


def sparse_attention(
    q: Any, k: Any, v: Any, indices: Any, sinks: Any = None, *, scale: float | None = None, block_size: int = 1
) -> Any:
    """Attention of each query to the keys that its row of indices lists, and the logarithm of the softmax's denominator.

        out_i = attention of query i to the keys j block_size, ..., (j + 1) block_size - 1, for each j in indices_i,
        without those that do not exist, or that lie behind position i + m - n.   lse as in attention_with_lse

    Shapes
        q (..., h, n, d_k),  k (..., h_kv, m, d_k),  v (..., h_kv, m, d_v),  indices (..., n, t) or (..., h_kv, n, t),
        sinks (h)  ->  out (..., h, n, d_v),  lse (..., h, n)
    Dtypes
        out as the arguments; lse as the arguments, or float32 or wider
    Units
        Scores, sinks and lse in nats; indices in blocks, which are keys where block_size is 1.
    Domain
        As in grouped_query_attention. An index is -1, which is no block, or that of a block that begins at or before position
        i + m - n. Each block stands in a row once. n <= m.
    Edges
        -1 may stand anywhere in a row, and a row may be longer than there are keys. The order of a row says nothing. A query
        without an index has lse = -inf and no weights: NaN here. With a finite sink its out is 0 and its lse the sink.

    Raises
        ValueError where h_kv does not divide h.
    Choices
        All heads of a query read the same list, or those that share a key head: indices has as many axes as q then, which code
        may refuse. Causality is bottom-right, and cuts a block in which the query itself lies. An
        index beyond the position of its query, which some sources mask and some read, is outside the domain, and so is an index
        that stands twice.
    Source
        DeepSeek-AI 2025, DeepSeek-V3.2, section 2.1 (lists of keys). Yuan et al. 2025, arXiv:2502.11089, section 3.3.2 (blocks).
        FlashMLA's sparse prefill, whose keys and values are one array.

    The second key of three is not listed:

    >>> import numpy as np
    >>> out, lse = sparse_attention([[[1.0]]], np.zeros((1, 3, 1)), [[[1.0], [9.0], [3.0]]], np.array([[2, -1, 0]]))
    >>> out, lse.round(4)
    (array([[[2.]]]), array([[0.6931]]))
    """
    q, k = float64(q), float64(k)
    seen = listed_keys(indices, q, k, block_size)
    return attention_with_lse(q, k, v, seen, sinks, scale=scale)
