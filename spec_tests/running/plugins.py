"""The pytest plugins that belong to a run of this suite, besides `plugin.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ..report.verdict import Verdict
from ..specification.first_use import import_modules
from .cause_printer import CausePrinter
from .completeness import Completeness
from .device_lines import DeviceLines
from .hang_watch import HangWatch
from .ignored_exceptions import IgnoredExceptions
from .import_lines import ImportLines
from .options import read_option
from .progress import ProgressLines
from .raised_between_calls import EndingsWatch
from .script_check import ScriptCheck
from .unnamed_report import UnnamedReport

if TYPE_CHECKING:
    from .session import Session


def register_plugins(config: pytest.Config, session: Session, verdicts: list[Verdict]) -> None:
    """Register the plugins that print the progress and write the report. A worker gets only some of them."""
    config.pluginmanager.register(ScriptCheck(config), "spec_tests.scripts")
    config.pluginmanager.register(HangWatch(config), "spec_tests.hang_watch")
    config.pluginmanager.register(EndingsWatch(session), "spec_tests.endings")
    config.pluginmanager.register(IgnoredExceptions(session), "spec_tests.ignored_exceptions")
    if hasattr(config, "workerinput"):
        if read_option(config, "resume"):
            (resuming,) = import_modules("spec_tests.running.resuming")
            resuming.register(config, None)
        return
    config.pluginmanager.register(ProgressLines(config), "spec_tests.progress")
    config.pluginmanager.register(Completeness(config), "spec_tests.completeness")
    config.pluginmanager.register(ImportLines(session), "spec_tests.imports")
    config.pluginmanager.register(DeviceLines(config, session), "spec_tests.devices")
    config.pluginmanager.register(CausePrinter(config, verdicts), "spec_tests.causes")
    if unnamed := next((plugin for plugin in config.pluginmanager.get_plugins() if isinstance(plugin, UnnamedReport)), None):
        config.pluginmanager.register(unnamed.build_recorder(config, session), "spec_tests.report")
    elif read_option(config, "report"):
        (recording,) = import_modules("spec_tests.running.recording")
        config.pluginmanager.register(recording.build_recorder(config, session), "spec_tests.report")
