"""Tests of spec_tests/processes, with broken, dishonest and hostile backends, in one process and in two."""
