"""Tests of spec_tests/sharding: ranks that fail, shards of any length, and sharded backends, right and wrong ones."""
