"""Under pytest-xdist: the backend is loaded by the workers alone, side by side, and its refusal by any of them ends the run.

A pytest plugin of its own, which `plugin.py` registers.
"""

from __future__ import annotations

import os
import signal
import threading
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


def share_devices(config: pytest.Config) -> None:
    """Each worker has a GPU of its own, as far as there are some. Read when a framework is imported."""
    worker = getattr(config, "workerinput", {}).get("workerid")
    if worker and (one := device_of(int(worker.removeprefix("gw")), devices())):
        os.environ["CUDA_VISIBLE_DEVICES"] = one


def devices() -> list[str]:
    """The GPUs, as CUDA_VISIBLE_DEVICES names or numbers them; those of a driver, where that is not set."""
    stated = os.environ.get("CUDA_VISIBLE_DEVICES")
    if stated is not None:
        return [name.strip() for name in stated.split(",") if name.strip()]
    return [str(number) for number, _ in enumerate(Path("/proc/driver/nvidia/gpus").glob("*"))]


def device_of(worker: int, devices: list[str]) -> str:
    """Of the workers in turn; none where there is no choice."""
    return devices[worker % len(devices)] if len(devices) > 1 else ""


def stop_on_termination() -> None:
    """SIGTERM, as CI sends it, ends a run as Ctrl-C does: with what was found, and without processes left behind."""
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))


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
