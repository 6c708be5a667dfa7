"""How the project's own tests run: which files are data, what was skipped, and what has passed before."""

import os
from pathlib import Path

import pytest

from .support.kept_results import KeptResults
from .support.rotation import leave_to_the_night
from .support.skipped_tests import SkippedTests

os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX2")  # with AVX-512, F.gelu overflows; with AMX, more: docs/findings/torch.md

# Some of the example backends end or harm the process that imports them, and the modules of the student's repository would
# shadow those that tests load. The other folders hold no tests, and --doctest-modules would import all of them.
collect_ignore = ["backends", "earlier_versions", "measure", "mutations", "real_bugs", "support"]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("meta_tests", "the project's own tests")
    group.addoption("--fail-if-lacking", action="store_true", help="fail if a test was skipped for lack of a tool or a library")
    group.addoption("--keep-passed", metavar="FILE", type=Path, help="go on with the run of the same sources that wrote FILE")


def pytest_configure(config: pytest.Config) -> None:
    worker, kept = getattr(config, "workerinput", None), config.getoption("keep_passed", default=None)
    if worker is None:  # no worker of pytest-xdist
        config.pluginmanager.register(SkippedTests(config.getoption("fail_if_lacking", default=False)), "skipped tests")
    if kept:
        results = KeptResults.of_file(kept) if worker is None else KeptResults(None, worker["passed_before"])
        config.pluginmanager.register(results, "kept results")


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    leave_to_the_night(items)
