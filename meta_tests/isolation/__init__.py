"""Tests of spec_tests/isolation: broken and dishonest backends, in one process and in two."""
