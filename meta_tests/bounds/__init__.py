"""Tests of spec_tests/bounds: a correct implementation stays within the error bound."""
