"""Backends on the fake device of `meta_tests/support`, whose `sigmoid` treats the device wrongly in one way."""
