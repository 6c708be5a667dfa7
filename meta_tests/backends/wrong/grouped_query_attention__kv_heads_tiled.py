"""Tile key and value heads as 0 1 0 1 instead of repeating each for its neighbours, 0 0 1 1."""

framework = "torch"


def grouped_query_attention(q, k, v):
    groups = q.shape[-3] // k.shape[-3]
    batch = [1] * (k.ndim - 3)
    k, v = k.repeat(*batch, groups, 1, 1), v.repeat(*batch, groups, 1, 1)
    return (q @ k.mT * q.shape[-1] ** -0.5).softmax(-1) @ v


caught_by = "grouped_query_attention.reference"
named = "grouped_query_attention/heads-in-turn"
