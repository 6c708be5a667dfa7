"""The environment variables that a backend states in `environment`: they are set before it, or its framework, is imported."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import sys
from collections.abc import Sequence
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from ..specification.source_text import parse_file
from .lookup import DEVIATION_PREFIX, BackendError, built_in_backends, registered_backends, split_file
from .search_path import backend_path

DEVICES = "devices"  # the value of `ranks` in a backend whose ranks are devices of one process


def set_variables(text: str, folder: Path) -> None:
    """Set the backend's variables in this process. Raise BackendError if its framework was imported without them."""
    stated = environment_of(text, folder)
    missing = {name: value for name, value in stated.items() if os.environ.get(name) != value}
    if missing and (framework := _read_framework_name(text, folder)) in sys.modules:
        raise BackendError(
            f"--backend={text}: it sets {', '.join(missing)} before {framework} is imported, which has happened here; "
            f"add --isolate, or start with {' '.join(f'{name}={value}' for name, value in missing.items())}"
        )
    os.environ.update(missing)


def environment_of(text: str, folder: Path) -> dict[str, str]:
    """Return the variables that the backend's file states. The file is parsed and not run, because running it imports."""
    if (path := backend_file(text, folder)) is None:
        return {}
    if "environment" not in assigned_names(path):
        return {}
    stated = read_literal(path, "environment")
    if not isinstance(stated, dict) or not all(isinstance(x, str) for pair in stated.items() for x in pair):
        raise BackendError(f"--backend={text}: its environment is read before it runs; write a plain dict of strings")
    return stated


def assigned_names(path: Path) -> frozenset[str]:
    """Return the names to which a file's statements at its top assign. The file is parsed and not run."""
    return frozenset(_list_assignments(path))


def read_literal(path: Path, name: str) -> Any:
    """Return what the file assigns to the name at its top, None if that is no plain literal, or if there is no assignment."""
    try:
        return ast.literal_eval(_list_assignments(path)[name])
    except (LookupError, ValueError):
        return None


def states_ranks(path: Path | None) -> bool:
    """Whether a backend's file says that it runs on several ranks: processes that are given shards, or devices of one process."""
    return path is not None and ("shards" in assigned_names(path) or has_devices(path))


def has_devices(path: Path | None) -> bool:
    """Whether a backend's file says that its ranks are devices of one process, as those of a JAX program are."""
    return path is not None and read_literal(path, "ranks") == DEVICES


def _list_assignments(path: Path) -> dict[str, ast.expr]:
    """Return the first value that each name gets at the top of a file, {} if it cannot be read: loading it reports the error."""
    try:
        statements = parse_file(path).body
    except (OSError, SyntaxError, ValueError):
        return {}
    values: dict[str, ast.expr] = {}
    pairs = [(target, x.value) for x in statements if isinstance(x, ast.Assign) for target in x.targets]
    pairs += [(x.target, x.value) for x in statements if isinstance(x, ast.AnnAssign) and x.value is not None]
    for target, value in pairs:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            pairs += zip(target.elts, value.elts, strict=True)  # a, b = 1, 2
        values.setdefault(ast.unparse(target), value)
    return values


def _read_framework_name(text: str, folder: Path) -> str:
    """Return the framework that the backend's file names, without running it, or ""."""
    path = backend_file(text, folder)
    found = re.search(r"""^framework = ["'](\w+)["']""", path.read_text(), re.MULTILINE) if path else None
    return found[1] if found else ""


def backend_file(text: str, folder: Path) -> Path | None:
    """Return the file of the backend that `text` names, found without running code. Return None if there is none."""
    if text.startswith(DEVIATION_PREFIX):
        return None
    entry = registered_backends().get(text)
    module = (entry.value if entry else text).partition(":")[0]
    file, _ = split_file(text)
    if path := built_in_backends().get(text) or (folder / file if file else None):
        return path if path.is_file() else None
    return find_module_file(module)


def find_module_file(module: str) -> Path | None:
    """Return the file of a module by its dotted name. Its packages are not run: Python's own search of folders is enough."""
    places: Sequence[str] | None = None
    parts = module.split(".")
    for count in range(1, len(parts) + 1):
        name = ".".join(parts[:count])
        if not parts[count - 1].isidentifier() or (count > 1 and places is None):
            return None
        found = PathFinder.find_spec(name, backend_path() if places is None else places)
        found = found or (importlib.util.find_spec(name) if places is None else None)  # by a finder of an editable install
        if found is None:
            return None
        places = found.submodule_search_locations
    path = Path(found.origin) if found and found.origin else None
    return path if path is not None and path.suffix == ".py" and path.is_file() else None
