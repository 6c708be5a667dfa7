"""Where modules are found: those of backends, and those that the judge imports after a backend was loaded."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SUITE_FOLDER = Path(__file__).resolve().parents[2]  # in which the suite itself is found

_of_backends: list[str] | None = None
_of_judge: tuple[list[Any], ...] | None = None


def backend_path() -> list[str]:
    """Return the path on which modules of backends are found."""
    return list(sys.path if _of_backends is None else _of_backends)


def set_backend_path(path: Sequence[str]) -> None:
    """Set the path on which modules of backends are found, for processes that are started from now on."""
    global _of_backends
    _of_backends = list(path)


def path_without(folders: Iterable[Path]) -> list[str]:
    """Return the path of this process without these folders. That of the suite itself stays."""
    left_out = {folder.resolve() for folder in folders} - {SUITE_FOLDER}
    return [place for place in sys.path if Path(place or ".").resolve() not in left_out]


def fix_judge_finders(folders: Iterable[Path]) -> None:
    """Record how modules are found now, in any folder but these, before a backend is loaded that may change it."""
    global _of_judge
    _of_judge = path_without(folders), list(sys.meta_path), list(sys.path_hooks)


@contextmanager
def imports_of_judge() -> Iterator[None]:
    """Find modules in this block as was recorded before a backend was loaded."""
    lists: tuple[list[Any], ...] = (sys.path, sys.meta_path, sys.path_hooks)
    before = tuple(map(list, lists))
    try:
        for found, recorded in zip(lists, _of_judge or before, strict=True):
            found[:] = recorded
        if _of_judge:
            sys.path_importer_cache.clear()
        yield
    finally:
        for found, earlier in zip(lists, before, strict=True):
            found[:] = earlier
