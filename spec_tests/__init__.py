"""Conformance tests for transformer operations: `pytest --pyargs spec_tests --backend=my_backend.py`."""

from typing import TYPE_CHECKING, Any

from .specification.version import SPEC_VERSION, __version__

if TYPE_CHECKING:
    from .commands.score import score
    from .running.check import DoesNotConform, check, parametrize
    from .running.composition import check_composition


__all__ = ["SPEC_VERSION", "DoesNotConform", "__version__", "check", "check_composition", "parametrize", "score"]


def __getattr__(name: str) -> Any:
    """Import the functions when they are first used, because every pytest run with this plugin imports the package."""
    if name == "score":
        from .commands.score import score

        return score
    if name == "check_composition":
        from .running.composition import check_composition

        return check_composition
    if name not in ("DoesNotConform", "check", "parametrize"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .running import check

    return getattr(check, name)
