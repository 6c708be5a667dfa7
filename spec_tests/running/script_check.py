"""A pytest plugin that runs, at the end of a run on a device, the printed scripts once, and says which do not show their failure.

A device is asked in a fresh process, so that a lost context of the run does not matter. Each process that has backends runs its
own scripts. Under pytest-xdist the controller prints what the workers found.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest

from ..implementation.array_framework import ArrayFramework
from ..implementation.framework import Framework
from ..specification.first_use import import_modules

if TYPE_CHECKING:
    from ..trials.written_script import WrittenScript

OUTPUT_KEY = "spec_tests_scripts"  # key of `workeroutput`


class ScriptCheck:
    """The plugin."""

    def __init__(self, config: pytest.Config):
        self.config, self.sentences = config, list[str]()

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            return  # a person or a program has ended the run
        found: defaultdict[tuple[str, str], list[WrittenScript]] = defaultdict(list)
        for item in getattr(session, "items", ()):
            trial = getattr(item, "callspec", None) and item.callspec.params.get("trial")
            if trial and trial.tally.scripts and is_on_device(trial.backend.framework):
                found[trial.backend.framework.name, trial.backend.framework.device or ""] += trial.tally.scripts
        for (framework, device), scripts in found.items():
            (runs,) = import_modules("spec_tests.report.script_runs")
            self.sentences += runs.check_scripts(scripts, framework, device)
        if hasattr(self.config, "workeroutput"):
            self.config.workeroutput[OUTPUT_KEY] = self.sentences

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.sentences += getattr(node, "workeroutput", {}).get(OUTPUT_KEY, [])

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.sentences and not terminalreporter.no_summary:
            terminalreporter.section("scripts, run once in a fresh process")
            for sentence in self.sentences:
                terminalreporter.write_line(sentence)


def is_on_device(framework: ArrayFramework) -> bool:
    """Whether this process makes its arrays on another device than the processor. What is isolated stays so."""
    return isinstance(framework, Framework) and framework.place.partition(":")[0] != "cpu"
