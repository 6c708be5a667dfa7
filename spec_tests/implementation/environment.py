"""The variables that a backend names in `environment`: set before anything of it, or of its framework, is imported."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import sys
from pathlib import Path

from .lookup import DEVIATING, BackendError, built_in_backends, registered_backends


def set_variables(text: str, folder: Path) -> None:
    """Into this process, unless it is too late."""
    stated = environment_of(text, folder)
    late = {name: value for name, value in stated.items() if os.environ.get(name) != value}
    if late and (loaded := _framework(text, folder)) in sys.modules:
        raise BackendError(
            f"--backend={text}: it sets {', '.join(late)} before {loaded} is imported, which has happened here; add --isolate, "
            f"or start with {' '.join(f'{name}={value}' for name, value in late.items())}"
        )
    os.environ.update(late)


def environment_of(text: str, folder: Path) -> dict[str, str]:
    """The variables that the file asks for, read without running it: they have to be set before anything is imported."""
    if (path := backend_file(text, folder)) is None:
        return {}
    try:
        statements = ast.parse(path.read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        return {}  # which loading it will say
    for statement in statements:
        if isinstance(statement, ast.Assign) and [ast.unparse(target) for target in statement.targets] == ["environment"]:
            try:
                stated = ast.literal_eval(statement.value)
            except ValueError:
                stated = None
            if not isinstance(stated, dict) or not all(isinstance(x, str) for pair in stated.items() for x in pair):
                raise BackendError(f"--backend={text}: its environment is read before it runs; write a plain dict of strings")
            return stated
    return {}


def _framework(text: str, folder: Path) -> str:
    """Whose arrays the file says that it takes."""
    path = backend_file(text, folder)
    found = re.search(r"""^framework = ["'](\w+)["']""", path.read_text(), re.MULTILINE) if path else None
    return found[1] if found else ""


def backend_file(text: str, folder: Path) -> Path | None:
    if text.startswith(DEVIATING):
        return None
    entry = registered_backends().get(text)
    module = (entry.value if entry else text).partition(":")[0]
    if path := built_in_backends().get(text) or (folder / text if text.endswith(".py") else None):
        return path if path.is_file() else None
    if "." in module:  # finding it would run its package
        return None
    found = importlib.util.find_spec(module) if module.isidentifier() else None
    return Path(found.origin) if found and found.origin and found.origin.endswith(".py") else None
