"""How logsumexp is drawn: as softmax is."""

from spec_tests.operations.softmax import arguments, core

__all__ = ["arguments", "core"]
