"""What the first failure imports: the search for a cause, which a run without failures does not need."""

from __future__ import annotations

from typing import Any

from ..specification.first_use import import_modules


def cause_search() -> Any:
    """Return the module `cause_search`."""
    return import_modules("spec_tests.trials.cause_search")[0]
