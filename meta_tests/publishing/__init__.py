"""Tests of spec_tests/publishing: published verdicts, tables of them, and what changed between two versions."""
