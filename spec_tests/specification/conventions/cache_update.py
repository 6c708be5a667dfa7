"""Whether new caches and states are returned, or the given ones are written to. How it is decided: see `calls/updates.py`."""

from __future__ import annotations

from ._convention import Convention, Value

CONVENTION = Convention(
    "cache_update",
    "whether new caches and states are returned, or the given ones are written to",
    ("causal_conv1d", "kv_cache_append", "linear_attention", "mamba2_scan"),
    {
        "returned": Value("nothing that was given changes", lambda equation: equation),
        "in place": Value("the given ones are written to; it returns them or leaves them out", lambda equation: equation),
    },
    lambda named, settled: False,
    is_closed=True,
)
