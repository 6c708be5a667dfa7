"""How many threads the libraries under test use, and how these wait.

NumPy and PyTorch read the variables of OpenMP when they are imported: what is set here must be set before. Variables that the
caller has set stay as they are.
"""

from __future__ import annotations

import os

import pytest


def set_threads(config: pytest.Config) -> None:
    """Let idle threads sleep, and limit the threads of a worker of pytest-xdist to its share of the cores.

    Calls of this suite are small. Between two parallel loops the threads of OpenMP spin by default. On a machine that other
    processes use as well, that takes more time than the calls.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    workers = getattr(config, "workerinput", {}).get("workercount")
    if workers:
        os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // workers)))
