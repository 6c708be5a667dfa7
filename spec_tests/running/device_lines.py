"""Lines at the start of a run: on which device a backend computes, and which settings decide how precisely."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pytest

from .reported import find_details

if TYPE_CHECKING:
    from .session import Session


class DeviceLines:
    """A pytest plugin that prints the lines. Under pytest-xdist only the workers know them: they come with the first verdict."""

    def __init__(self, config: pytest.Config, session: Session):
        self.config, self.session = config, session
        self.told: set[str] = set()

    def pytest_report_header(self) -> list[str]:
        backends = self.session.__dict__.get("backends", ())
        return self.tell((backend.name, backend.framework.place, backend.framework.device_facts) for backend in backends)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if (details := find_details(report)) and details.backends:
            self.write(self.tell((backend.name, backend.device, backend.device_facts) for backend in details.backends))

    def tell(self, backends: Iterable[tuple[str, str, tuple[str, ...]]]) -> list[str]:
        """Return the lines of those backends that have any, and had none so far."""
        new = {name: f"spec_tests: {name} is on {place}: {', '.join(facts)}" for name, place, facts in backends if facts}
        lines = [line for name, line in new.items() if name not in self.told]
        self.told |= new.keys()
        return [part for line in lines for part in textwrap.wrap(line, 120, subsequent_indent="  ")]

    def write(self, lines: list[str]) -> None:
        """Print the lines below the dots of the tests."""
        terminal: Any = self.config.pluginmanager.get_plugin("terminalreporter")
        if not lines or terminal is None:
            return
        terminal.ensure_newline()
        for line in lines:
            terminal.write_line(line)
