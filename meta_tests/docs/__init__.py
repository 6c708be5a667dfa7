"""Tests of the documentation: its examples run, and its figures are those of docs/measured."""
