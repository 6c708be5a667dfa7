"""The limit of --max-calls: how many calls of a backend a run may make before it draws no further example."""

from __future__ import annotations

from ..implementation.backend import Backend
from ..specification.run_settings import current_settings


def find_limit(backend: Backend) -> str:
    """Return the option whose limit the calls of a backend have reached, "" if there is none.

    A search for the cause of a failure that has begun is finished, so that the failure keeps its name.
    """
    limit = current_settings().max_calls
    return "--max-calls" if limit is not None and backend.call_counts.total() >= limit else ""
