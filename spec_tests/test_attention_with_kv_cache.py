"""What must hold of attention_with_kv_cache."""
