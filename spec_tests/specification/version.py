"""Versions of the suite and of the specification."""

from __future__ import annotations

__version__ = "0.1.0"

SPEC_VERSION = "1.0"  # of the equations and invariants: a changed meaning is a new invariant id and a new version
