"""Tests of spec_tests/calls and of the assertions of laws: what one answer is compared with, and what a failure says."""
