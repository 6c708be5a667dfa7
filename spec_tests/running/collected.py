"""What is found out once, when pytest has collected all tests and none has run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pytest

from .ledger import find_local_plugins

if TYPE_CHECKING:
    from .session import Session

HOOKS_BEFORE_TESTS = ("pytest_runtest_setup", "pytest_runtest_call", "pytest_runtest_protocol", "pytest_pyfunc_call")


def finish_collection(session: Session, laws: list[pytest.Item]) -> None:
    """Note which laws are due and whether others run code before them. Raise UsageError if something was replaced before."""
    if laws:
        _refuse_replacements(session)
        session.lookout.others_run = _has_foreign_fixtures(laws)
    session.ledger.finish_collection(laws, session.law_files.find_needed)


def _refuse_replacements(session: Session) -> None:
    """Raise UsageError if something was replaced while the tests were collected. Code of the backend may run there."""
    if replaced := session.undo_replacements():
        what = ", ".join(replaced[:3])
        raise pytest.UsageError(
            f"while the laws were collected, the backend, a plugin or a conftest.py replaced {what}, on which the verdicts depend"
        )
    session.watch_hooks()


def _has_foreign_fixtures(laws: list[pytest.Item]) -> bool:
    """Whether fixtures or plugins of another project run code before a test of this suite."""
    plugins = find_local_plugins(laws[0].config)
    return any(set(getattr(item, "fixturenames", ())) - {"trial"} for item in laws) or any(
        hasattr(plugin, hook) for plugin in plugins for hook in HOOKS_BEFORE_TESTS
    )


def find_untryable(items: Iterable[pytest.Item]) -> set[str]:
    """Return the node ids of the laws of operations that a backend lacks, and of others that it cannot be tried on."""
    laws: list[Any] = [item for item in items if hasattr(getattr(item, "obj", None), "invariant")]
    missing = {item.nodeid: item.callspec.params["trial"].missing(item.obj.invariant.operations) for item in laws}
    return {nodeid for nodeid, reason in missing.items() if reason}
