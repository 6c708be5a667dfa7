"""Tests of a pytest run: command line, messages, verdicts, other projects, pytest-xdist."""
