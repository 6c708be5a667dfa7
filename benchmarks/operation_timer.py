"""A pytest plugin that writes how many CPU seconds a run takes for each operation, and before the first law.

`benchmarks/compare_checkouts.py` copies this file and loads it into runs of older checkouts: it imports nothing of the suite.
"""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from pathlib import Path

import pytest

FILE_VARIABLE = "SPEC_TESTS_OPERATION_TIMES"
START = "(start)"  # the CPU seconds before the first law: imports and collection

GENERAL = ("every_operation", "every_gradient")  # the files of laws that are tried on many operations

SECONDS: defaultdict[str, float] = defaultdict(float)
OPERATIONS: dict[str, str] = {}  # by the node
STARTS: dict[str, float] = {}  # when the test of a node began


def pytest_collection_finish(session: pytest.Session) -> None:
    OPERATIONS.update((item.nodeid, name_operation(item)) for item in session.items)
    SECONDS[START] = time.process_time()


# No hook that runs around a test: the suite looks for replacements more often where another project has one.
def pytest_runtest_logstart(nodeid: str) -> None:
    STARTS[nodeid] = time.process_time()


def pytest_runtest_logfinish(nodeid: str) -> None:
    SECONDS[OPERATIONS[nodeid]] += time.process_time() - STARTS[nodeid]


def name_operation(item: pytest.Item) -> str:
    """Return the operation that a law is about: that of its file, or the one that its id begins with in a law of all."""
    about = item.path.stem.removeprefix("test_").partition("__")[0]
    callspec = getattr(item, "callspec", None)
    return callspec.id.partition("-")[0] if callspec and about in GENERAL else about


def pytest_unconfigure() -> None:
    Path(os.environ[FILE_VARIABLE]).write_text(json.dumps(SECONDS))
