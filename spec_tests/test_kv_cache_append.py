"""What must hold of kv_cache_append."""
