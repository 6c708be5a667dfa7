"""Under pytest-xdist: the backend is loaded by the workers alone, side by side, and its refusal by any of them ends the run.

A pytest plugin of its own, which `plugin.py` registers.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .session import Session

REFUSAL = "spec_tests_refusal"
REFUSED: pytest.StashKey[str] = pytest.StashKey()


def load(config: pytest.Config, session: Session) -> None:
    """A backend that cannot be had stops the run here, once."""
    if not session.requested or _has_workers(config):
        return
    try:
        _ = session.backends
    except pytest.UsageError as refusal:
        if not _is_worker(config):
            raise
        config.stash[REFUSED] = config.workeroutput[REFUSAL] = str(refusal)  # type: ignore[attr-defined]


def share_cores(config: pytest.Config) -> None:
    """Workers side by side, each with a thread for every core, would wait for one another. Read when NumPy is imported."""
    workers = getattr(config, "workerinput", {}).get("workercount")
    if workers:
        os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // workers)))


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def _has_workers(config: pytest.Config) -> bool:
    return config.getoption("dist", "no") != "no" and not _is_worker(config)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return True if REFUSED in config.stash else None


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: Any) -> None:
    if refusal := getattr(node, "workeroutput", {}).get(REFUSAL):
        node.config.stash[REFUSED] = refusal


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if REFUSED in session.config.stash and not _is_worker(session.config):
        session.exitstatus = pytest.ExitCode.USAGE_ERROR


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if refusal := terminalreporter.config.stash.get(REFUSED, None):
        terminalreporter.write_line(f"ERROR: {refusal}", red=True)
