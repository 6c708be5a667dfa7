"""Tests of spec_tests/implementation: how a backend is found, loaded, described and called."""
