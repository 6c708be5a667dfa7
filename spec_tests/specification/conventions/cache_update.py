"""Whether new caches are returned, or the given ones are written to. It is decided by looking: see `calls/updates.py`."""

from __future__ import annotations

from ._convention import Convention, Value

CONVENTION = Convention(
    "cache_update",
    "whether new caches are returned, or the given ones are written to",
    ("kv_cache_append",),
    {
        "returned": Value("nothing that was given changes", lambda equation: equation),
        "in place": Value("the given caches are written to; it returns them or nothing", lambda equation: equation),
    },
    lambda named, settled: False,
    is_closed=True,
)
