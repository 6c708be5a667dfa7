"""Tests of spec_tests/inputs: shapes, sizes, efforts, shrinking."""
