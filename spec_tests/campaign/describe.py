"""python -m spec_tests.campaign.describe BACKEND [RANKS]: print the record of a backend as JSON, in a process of its own."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path

import pytest

from ..report.records import write_line
from ..running.recorded_details import state_backend
from ..running.session import Session


def main(text: str, world_size: int | None = None) -> int:
    """Print the record and return the exit status: 0, or 4 if the backend cannot be loaded."""
    session = Session((text,), Path.cwd(), (), None, (), frozenset(), world_size=world_size)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            backend = state_backend(session.backends[0], session.folder)
        session.close()
    except pytest.UsageError as error:
        print(f"ERROR: {error}", file=sys.stderr)
        return 4
    print(json.dumps(write_line(backend)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], *map(int, sys.argv[2:])))
