"""What the attentions of models share: heads that share keys, the keys in a window, capped scores, and sinks."""

from typing import Any

import numpy as np

from ._marks import copied, eager, float64


def repeated_heads(operation: str, q: Any, *shared: Any) -> list[Any]:
    """Return each head of keys or values once for every query head of its group."""
    h, h_kv = q.shape[-3], shared[0].shape[-3]
    if h % h_kv:
        raise ValueError(f"{operation}: {h} query heads cannot be shared evenly by {h_kv} key/value heads.")
    return [np.repeat(float64(x), h // h_kv, axis=-3) for x in shared]


def copied_heads(operation: str, q: Any, *shared: Any) -> list[Any]:
    """Return the same, and mark the copies, whose gradients code may store one by one."""
    h, h_kv = q.shape[-3], shared[0].shape[-3]
    if h % h_kv:
        raise ValueError(f"{operation}: {h} heads cannot share {h_kv} heads evenly.")
    return [copied(float64(x), h // h_kv, axis=-3) for x in shared]


def seen_keys(
    operation: str, n: int, m: int, mask: Any, is_causal: bool, left_window: int | None, right_window: int | None
) -> Any:
    """Return which keys each query sees, None if it sees all: by the mask, by causality and by the window together."""
    if not is_causal and left_window is None and right_window is None:
        return mask
    if n != m:
        raise ValueError(
            f"{operation}: is_causal and windows are defined here for n = m; give a mask instead (n = {n}, m = {m})."
        )
    away = np.arange(m) - np.arange(n)[:, None]  # how far the key is behind the query
    near = (away >= -m if left_window is None else away >= -left_window) & (
        away < m if right_window is None else away <= right_window
    )
    near = near & (away <= 0) if is_causal else near
    return near if mask is None else np.logical_and(mask, near)


def seen_slots(lengths: Any, n: int, slots: int, is_causal: bool, left_window: int | None, right_window: int | None) -> Any:
    """Return which slots of a cache each query of each row sees. Of a row of length l, query i stands at position l - n + i."""
    lengths = np.asarray(lengths)[:, None, None, None]
    slot, position = np.arange(slots), lengths - n + np.arange(n)[:, None]
    seen = np.broadcast_to(slot < lengths, (len(lengths), 1, n, slots))
    seen = seen & (slot <= position) if is_causal else seen
    seen = seen if left_window is None else seen & (slot >= position - left_window)
    return seen if right_window is None else seen & (slot <= position + right_window)


def capped_scores(q: Any, k: Any, seen: Any, scale: Any, softcap: float | None) -> Any:
    """Return the scaled scores, capped, with -inf where a query does not see a key."""
    scores = np.matmul(eager(q), np.swapaxes(eager(k), -1, -2)) * scale
    if softcap is not None:
        scores = np.tanh(scores / softcap) * softcap
    return scores if seen is None else np.where(seen, scores, -np.inf)


def with_sinks(scores: Any, sinks: Any) -> Any:
    """Return the scores with the sink of each head as the score of one more key. It is neither scaled nor capped."""
    if sinks is None:
        return scores
    column = np.reshape(float64(sinks), (scores.shape[-3], 1, 1))
    return np.concatenate([scores, np.broadcast_to(column, (*scores.shape[:-1], 1))], axis=-1)
