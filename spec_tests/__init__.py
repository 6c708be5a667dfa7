"""Conformance tests for transformer operations: `pytest --pyargs spec_tests --backend=my_backend.py`."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .checking import DoesNotConform, check, parametrize

__version__ = "0.1.0"
__all__ = ["DoesNotConform", "check", "parametrize"]

SPEC_VERSION = "1.0"  # of the equations and invariants: a changed meaning is a new invariant id and a new version


def __getattr__(name: str) -> Any:
    """Imported when it is first used: every pytest run in an environment with this plugin imports the package."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import checking

    return getattr(checking, name)
