"""The data of a report in a file that has no name: no process finds it that has not inherited its descriptor."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .session import Session


class UnnamedReport:
    """A pytest plugin whose presence has a run write the data of its report into the file of a descriptor."""

    def __init__(self, number: int):
        os.set_inheritable(number, False)  # what the run starts must not have it
        self.number = number

    def build_recorder(self, config: pytest.Config, session: Session) -> Any:
        """Return the recorder of the run. It writes neither a page nor a badge."""
        from .recorded_details import state_backends
        from .recording import Recorder

        class UnnamedRecorder(Recorder):
            file_number = self.number

            def _start_file(self, lines: list[Any]) -> None:
                self.file = os.fdopen(self.file_number, "wb", buffering=0, closefd=False)
                for line in lines:
                    self.write(line)

            def _publish(self) -> None:
                self.written_files.clear()

            def pytest_terminal_summary(self, terminalreporter: Any) -> None:
                pass

        return UnnamedRecorder(config, state_backends(session))
