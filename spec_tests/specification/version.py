"""The version of the suite and the version of the specification."""

from __future__ import annotations

__version__ = "0.1.0"

SPEC_VERSION = "1.0"  # of equations and invariants; changing the meaning of an invariant takes a new id and a new version
