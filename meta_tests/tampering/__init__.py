"""Tests of spec_tests/tampering: what a backend replaces in the suite's own process is found and put back."""
