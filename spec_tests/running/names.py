"""The names that options give. They are checked before the rest of a run is imported, so that a misspelt one is told at once."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from types import MappingProxyType

import pytest

from ..inputs.effort import EFFORTS
from ..specification.formats import DTYPES, PRECISIONS
from ..specification.levels import LEVELS
from ..specification.registry import gradients, operations
from ..specification.tiers import OPTIONAL_TIERS
from .options import read_option, split_names

NOUNS = MappingProxyType(
    {"require": "operation", "require-level": "level", "require-tier": "tier", "precision": "precision class"}
)  # what the values of an option are


@dataclass(frozen=True)
class Names:
    """What the options of a run name."""

    effort: str
    dtypes: tuple[str, ...]  # empty means all that a backend has
    precision: str | None
    operations: tuple[str, ...]  # whose laws alone are tried; empty means those of all
    required: tuple[str, ...]  # operations that a backend must implement
    levels: frozenset[str]  # levels that a backend must hold
    tiers: tuple[str, ...]  # of a contract, that this run asks for besides those that an author promises


def read_names(config: pytest.Config) -> Names:
    """Return the names. Raise UsageError for one that does not exist, and for --resume without a report to go on with."""
    precision, every_operation = read_option(config, "precision"), (*operations(), *gradients())
    (effort,) = validate_choices("effort", [read_option(config, "effort")], EFFORTS)
    names = Names(
        effort,
        validate_choices("dtype", read_option(config, "dtype"), DTYPES),
        validate_choices("precision", [precision], PRECISIONS)[0] if precision else None,
        validate_choices("operation", read_option(config, "operation"), every_operation),
        validate_choices("require", read_option(config, "require"), every_operation),
        frozenset(validate_choices("require-level", read_option(config, "require_level"), LEVELS)),
        validate_choices("require-tier", read_option(config, "require_tier"), OPTIONAL_TIERS),
    )
    if read_option(config, "resume") and not read_option(config, "report") and not hasattr(config, "workerinput"):
        raise pytest.UsageError("--resume: name the report to go on with, as in --report=DIR --resume")
    return names


def validate_choices(option: str, values: Iterable[str], allowed: Iterable[str]) -> tuple[str, ...]:
    """Return the names in the values, which may be lists with commas. Raise UsageError for a name that is not allowed."""
    names, allowed = tuple(split_names(values)), tuple(allowed)
    for name in names:
        if name not in allowed:
            near = difflib.get_close_matches(name, allowed, n=2)
            hint = f" Did you mean {' or '.join(near)}?" if near else ""
            raise pytest.UsageError(
                f"--{option}={name}: there is no {NOUNS.get(option, option)} {name!r}.{hint} There are {', '.join(allowed)}."
            )
    return names
