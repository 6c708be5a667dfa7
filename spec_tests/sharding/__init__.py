"""An implementation that runs on several ranks: its processes, the shards of its arguments, and the answers of all ranks."""
