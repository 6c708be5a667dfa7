"""Conformance tests for transformer operations: `pytest --pyargs spec_tests --backend=my_backend.py`."""

__version__ = "0.1.0"

SPEC_VERSION = "1.0"  # of the equations and invariants: a changed meaning is a new invariant id and a new version
