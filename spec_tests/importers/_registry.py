"""Find the importer of an object, of a file or of a folder. A file of this folder registers itself by being there."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ._imported import Imported
from ._recognition import recognize

ImportFile = Callable[[Path], Any]  # imports a Python file


def _load_importers() -> tuple[Any, ...]:
    """Return the modules of this folder, in the order in which they are asked: the most special formats first.

    Each has KIND, ORDER, and `take(source)` for imported objects or `opens(path)` and `open_path(path, import_file)` for files
    and folders that Python cannot import.
    """
    names = [path.stem for path in Path(__file__).parent.glob("[!_]*.py")]
    found = [importlib.import_module(f"{__package__}.{name}") for name in names]
    return tuple(sorted(found, key=lambda importer: (importer.ORDER, importer.KIND)))


IMPORTERS = _load_importers()  # before any backend, so that what a backend loads is its own


def find_opener(path: Path) -> Any:
    """Return the importer that opens the file or folder, None if there is none."""
    return next((importer for importer in IMPORTERS if hasattr(importer, "opens") and importer.opens(path)), None)


def take(source: Any) -> Any:
    """Return the backend that an importer makes of the object, or the object itself if no importer knows it.

    Both also have what the object has under other names than ours.
    """
    known = [] if isinstance(source, Imported) else [importer for importer in IMPORTERS if hasattr(importer, "take")]
    taken = (importer.take(source) for importer in known)
    return recognize(next((found for found in taken if found is not None), source))
