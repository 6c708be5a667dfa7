"""What the first failure imports: the search for a cause, which a run without failures does not need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..specification.first_use import import_modules

if TYPE_CHECKING:
    from .failure import Failure


def cause_search() -> Any:
    """Return the module `cause_search`."""
    return import_modules("spec_tests.trials.cause_search")[0]


def make_failure(*fields: Any) -> Failure:
    """Return a `Failure` with these fields. That of a level, which fails no run, needs no search for its cause."""
    failure: Failure = import_modules("spec_tests.trials.failure")[0].Failure(*fields)
    return failure
