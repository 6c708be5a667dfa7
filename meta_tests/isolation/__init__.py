"""Tests of spec_tests/isolation, with broken and dishonest backends, in one process and in two."""
