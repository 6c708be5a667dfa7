"""What a run needs under pytest-xdist: only the workers load the backends, each with its share of the devices.

If a worker cannot load a backend, the run ends. This module is a pytest plugin, which `plugin.py` registers.
"""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .exit_status import ExitStatus
    from .session import Session

REFUSAL_KEY = "spec_tests_refusal"  # key of `workeroutput`: why a backend could not be loaded
REFUSAL_STASH_KEY: pytest.StashKey[str] = pytest.StashKey()


def load_backends(config: pytest.Config, session: Session) -> None:
    """Load the backends, unless workers do. A backend that cannot be loaded stops the run with one message."""
    exit_status = _hold_exit_status(config, session)
    if not session.backend_texts or _has_workers(config):
        exit_status.status = None
        return
    from ..implementation.printable import printable
    from .captured_output import capture_output

    try:
        with capture_output(config) as texts:
            _ = session.backends  # a cached property, which loads them
        for text in texts:
            print(printable(text), end="")
        exit_status.status = None  # no longer that of a refusal; a session that begins will have one
    except pytest.UsageError as refusal:
        if not _is_worker(config):
            raise
        config.stash[REFUSAL_STASH_KEY] = config.workeroutput[REFUSAL_KEY] = str(refusal)  # type: ignore[attr-defined]


def _hold_exit_status(config: pytest.Config, session: Session) -> ExitStatus:
    """Keep what a backend registers to run at exit from changing the exit status."""
    from .exit_status import ExitStatus
    from .last_words import LastWords

    exit_status = ExitStatus(LastWords(session.list_loaded_files), is_worker=_is_worker(config))
    exit_status.install()
    config.pluginmanager.register(exit_status, "spec_tests.exit_status")
    return exit_status


def share_devices(config: pytest.Config) -> None:
    """Let the GPUs of each worker begin with another one. A framework reads their order when it is imported.

    A worker keeps all of them, because a backend may name one by its number, as in "cuda:1". JAX would take three quarters of
    the memory of each for itself.
    """
    if not _is_worker(config) or not (devices := list_devices()):
        return
    if len(devices) > 1:
        worker = int(config.workerinput["workerid"].removeprefix("gw"))  # type: ignore[attr-defined]
        os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(rotate(devices, worker))
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


def list_devices() -> list[str]:
    """Return the GPUs that CUDA_VISIBLE_DEVICES lists, or the numbers of all if it is not set."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return [name.strip() for name in visible.split(",") if name.strip()]
    return [str(number) for number, _ in enumerate(Path("/proc/driver/nvidia/gpus").glob("*"))]


def rotate(devices: list[str], worker: int) -> list[str]:
    """Return the devices of a worker. The workers begin with each in turn."""
    first = worker % len(devices)
    return devices[first:] + devices[:first]


def stop_on_termination() -> None:
    """Let SIGTERM, which CI sends, and SIGHUP, of a terminal that closes, end the run as Ctrl-C does.

    The run then has its results so far, and leaves no processes. Both work where SIGINT is ignored, as in the background of a
    script. A SIGHUP that is ignored, as under `nohup`, stays so.
    """
    from ..implementation.guard import ENDING_SIGNALS, interrupt_run  # this imports NumPy, so it has to follow `set_threads`

    for number in ENDING_SIGNALS if threading.current_thread() is threading.main_thread() else ():
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, interrupt_run)
            HANDLED.add(number)


def pytest_unconfigure() -> None:
    """Put back the handlers. After a signal they are ignored until here, so that nothing cuts the end of the run."""
    from ..implementation.guard import interrupt_run

    if threading.current_thread() is threading.main_thread():
        for number in HANDLED:
            if signal.getsignal(number) in (interrupt_run, signal.SIG_IGN):
                signal.signal(number, signal.SIG_DFL)
        HANDLED.clear()


HANDLED: set[int] = set()  # the signals whose handlers `stop_on_termination` has replaced


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def _has_workers(config: pytest.Config) -> bool:
    return config.getoption("dist", "no") != "no" and not _is_worker(config)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return True if REFUSAL_STASH_KEY in config.stash else None


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: Any) -> None:
    if refusal := getattr(node, "workeroutput", {}).get(REFUSAL_KEY):
        node.config.stash[REFUSAL_STASH_KEY] = refusal


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if REFUSAL_STASH_KEY in session.config.stash and not _is_worker(session.config):
        session.exitstatus = pytest.ExitCode.USAGE_ERROR


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if refusal := terminalreporter.config.stash.get(REFUSAL_STASH_KEY, None):
        terminalreporter.write_line(f"ERROR: {refusal}", red=True)
