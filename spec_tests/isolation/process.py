"""The process of an isolated backend in Python: it runs `server.py`, and messages have the format of `wire.py`."""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path
from typing import Any

from ..implementation.search_path import backend_path
from .supervisor import Supervisor, start_with_socket
from .wire import LENGTHS, MAX_HEADER_BYTES, MAX_MESSAGE_BYTES, MalformedMessage, pack, unpack

START_CODE = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[2]); from spec_tests.isolation.server import main; main(sys.argv[1])"
)
TRACEBACK_FRAME = re.compile(r'^  File "(.*)", line (\d+) in (\w+)$', re.MULTILINE)  # as faulthandler prints it


class Process(Supervisor):
    """A process that answers requests, one message at a time."""

    aborts = True

    def __init__(self, folder: Path, environment: dict[str, str]):
        def command(channel: int) -> list[str]:
            return [sys.executable, "-u", "-c", START_CODE, str(channel), json.dumps(backend_path())]

        super().__init__(*start_with_socket(command, folder, environment))

    def ask(self, message: Any, seconds: float) -> Any:
        """Send a message and return the reply. Raise ProcessEnded, MalformedMessage or a Fault if there is none in this time."""
        deadline = time.monotonic() + seconds
        try:
            self.send(pack(message), deadline)
            header, rest = LENGTHS.unpack(self.receive(LENGTHS.size, deadline))
            if header > MAX_HEADER_BYTES or header + rest > MAX_MESSAGE_BYTES:
                raise MalformedMessage(f"a message of {header + rest} bytes, {header} of them before the arrays")
            reply = unpack(bytes(self.receive(header, deadline)), memoryview(self.receive(rest, deadline)))
        except TimeoutError:
            raise self.describe_timeout(seconds) from None
        self.print_output()
        return reply

    def locate(self) -> list[tuple[str, str]]:
        """Return the line of the backend that the process was in, if faulthandler has printed a traceback."""
        frames = [frame for frame in TRACEBACK_FRAME.findall(self.printed) if "spec_tests/" not in frame[0]]
        if not frames:
            return []
        file, line, function = frames[-1]  # the outermost frame outside the suite: the function that the suite has called
        return [("where", f"line {line} of {Path(file).name}, in {function}")]
