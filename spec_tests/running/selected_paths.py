"""Which laws the command line selects: by --operation, by options of pytest, such as -k, and by paths and node ids."""

from __future__ import annotations

from typing import Any

import pytest

from ..trials.collection import SUITE
from .options import read_option, split_names

SELECTING_OPTIONS = ("keyword", "markexpr", "deselect", "lf", "stepwise", "ignore", "ignore_glob")  # of pytest


def find_selected_paths(config: pytest.Config) -> list[str]:
    """Return the arguments that name single laws or files of laws. Return [] if one of them names the whole suite."""
    found, suite = [], SUITE.resolve()
    for argument in config.args:
        path, _, names = argument.partition("::")
        is_package = path == SUITE.name and config.getoption("pyargs", False)
        place = suite if is_package else (config.invocation_params.dir / path).resolve()
        if not names and (place == suite or place in suite.parents):
            return []
        found.append(argument)
    return found


def find_selection(config: pytest.Config) -> dict[str, Any]:
    """Return the options that select tests, by their names, and the paths that do. {} for the whole suite."""
    chosen = {name: value for name in SELECTING_OPTIONS if (value := config.getoption(name, None))}
    if operations := split_names(read_option(config, "operation")):
        chosen["operation"] = operations
    return {**chosen, **({"paths": paths} if (paths := find_selected_paths(config)) else {})}
