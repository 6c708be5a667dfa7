"""The files of a backend's own project that its file imports, directly or through others, found without running any of them."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..implementation.import_file import import_root
from ..specification.source_text import parse_file

INSTALLED = frozenset(
    {"site-packages", "dist-packages"}
)  # folders of installed libraries, whose versions the header of a report has


def hash_imports(path: Path) -> dict[str, str]:
    """Return the SHA-256 of each file that the file imports from its own folder or from its project, by the path from there.

    Only import statements are followed. A module that code finds by other means, as with `importlib`, is not among them.
    """
    path = path.resolve()
    root = import_root(path)
    if INSTALLED & {*root.parts}:
        return {}
    found: dict[Path, str] = {}
    pending = [path]
    while pending:
        file = pending.pop()
        for imported in _find_imports(file, root, path.parent):
            if imported not in found and imported != path:
                found[imported] = hashlib.sha256(imported.read_bytes()).hexdigest()
                pending.append(imported)
    return {file.relative_to(root).as_posix(): digest for file, digest in sorted(found.items())}


def _find_imports(file: Path, root: Path, folder: Path) -> Iterator[Path]:
    """Yield the files of the project that one file imports, with those of their packages."""
    try:
        tree = parse_file(file)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _find_files((root, folder), alias.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            names = node.module.split(".") if node.module else []
            places = (root, folder) if not node.level else file.parents[node.level - 1 : node.level]
            for alias in node.names:
                yield from _find_files(places, [*names, alias.name])


def _find_files(places: Sequence[Path], names: list[str]) -> Iterator[Path]:
    """Yield the files of a dotted name in the first place that has its beginning: of each package, and of the module."""
    for place in places:
        files = []
        for count in range(len(names) + 1):
            base = place.joinpath(*names[:count])
            files += [file for file in (base / "__init__.py", base.with_suffix(".py")) if count and file.is_file()]
        if files:
            yield from (file.resolve() for file in files)
            return
