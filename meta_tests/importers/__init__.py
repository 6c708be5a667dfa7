"""Tests of spec_tests/importers: right and wrong files of each format, from an empty folder."""
