"""Import all that the judge may need before a backend in another process starts, and nothing from the folders of the run after.

A backend's process can write files, and a module that the judge imported later could be such a file.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import pkgutil
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from ..implementation.search_path import backend_path, path_without, set_backend_path
from .reachable import OUR_PACKAGES, is_ours

SUITE = Path(__file__).parents[1]
OF_OTHER_PROCESSES = (  # which are no part of judging
    "backends", "campaign", "commands", "importers", "publishing", "sharding", "vectors",
)  # fmt: skip
OF_PYTEST = ("pytest", "_pytest")
INDENTED_IMPORT = re.compile(r"^[ \t]+(?:import \w|from \w[\w.]* import)", re.MULTILINE)
OF_FRAMEWORKS = "implementation"  # the folder whose imports inside functions are those of frameworks, in the backend's process


def settle_imports(folders: Iterable[Path]) -> None:
    """Import what may be needed later, and take these folders off the path of this process. Backends keep the path as it was.

    The folder that holds the suite itself stays.
    """
    set_backend_path(backend_path())
    importlib.invalidate_caches()
    for name in list_needed():
        with suppress(ImportError):
            importlib.import_module(name)
    sys.path[:] = path_without(folders)


@cache
def list_needed() -> tuple[str, ...]:
    """Return the modules that judging may import: all of ours, and those that ours import inside of functions."""
    names: dict[str, None] = {}
    for name, path in list_modules():
        names[name] = None
        if OF_FRAMEWORKS not in name.split("."):
            names.update(dict.fromkeys(other for other in find_imports(path) if not is_ours(other)))
    for package in [name for name in names if is_foreign(name)]:
        names.update(dict.fromkeys(list_submodules(package)))
    return tuple(names)


def list_modules() -> Iterator[tuple[str, Path]]:
    """Yield the name and the file of each module of ours that is part of judging."""
    for package in OUR_PACKAGES:
        for path in sorted((SUITE.parent / package).rglob("*.py")):
            parts = path.relative_to(SUITE.parent).with_suffix("").parts
            if not {*parts} & {*OF_OTHER_PROCESSES, "__main__"} and path.name != "launcher.py":
                yield ".".join(part for part in parts if part != "__init__"), path


def find_imports(path: Path) -> Iterator[str]:
    """Yield the absolute names that a file imports inside of functions. A file without such a line is not parsed."""
    text = path.read_text(encoding="utf-8")
    for scope in ast.walk(ast.parse(text)) if INDENTED_IMPORT.search(text) else ():
        if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
            for statement in ast.walk(scope):
                if isinstance(statement, ast.Import):
                    yield from (alias.name for alias in statement.names)
                elif isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
                    yield statement.module


def is_foreign(name: str) -> bool:
    """Whether a module is of another distribution than pytest, which is loaded before this runs."""
    return name.partition(".")[0] not in (*sys.stdlib_module_names, *OUR_PACKAGES, *OF_PYTEST)


def list_submodules(package: str) -> Iterator[str]:
    """Yield the modules of a package that is installed."""
    with suppress(ImportError, ValueError):
        found = importlib.util.find_spec(package)
        for module in pkgutil.iter_modules((found and found.submodule_search_locations) or ()):
            if module.name != "__main__":
                yield f"{package}.{module.name}"
