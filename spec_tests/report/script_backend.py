"""How a printed script imports the backend."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from ..implementation.backend import Backend
from ..implementation.import_file import import_root, list_added_folders, module_names
from ..implementation.lookup import DEVIATION_PREFIX, registered_backends, split_file


def write_backend(backend: Backend) -> str:
    """Return the expression that imports the backend, with a comment that says in which folder it works if not everywhere."""
    if backend.text.startswith(DEVIATION_PREFIX):
        return f"importlib.import_module('spec_tests.deviations').backend({backend.text.removeprefix(DEVIATION_PREFIX)!r})"
    if not backend.text and not inspect.ismodule(backend.source):
        return f"...  # {backend.name}, as it was given"
    entry = registered_backends().get(backend.text)
    path, attribute = split_file(backend.text)
    if not path:
        module, _, attribute = (entry.value if entry else backend.text).partition(":")
    call = "()" if getattr(backend.source, "kind", type(backend.source).__name__) == attribute else ""
    taken = f".{attribute}{call}" if attribute else ""
    if attribute and not path:
        return f"importlib.import_module({module!r}){taken}"
    if not path and (backend.source.__name__ == module or not backend.text):
        return f"importlib.import_module({backend.source.__name__!r})"
    file = Path(path).resolve() if attribute else Path(backend.source.__file__)
    names, root = module_names(file), import_root(file)
    if len(names) == 1 and re.search(r"^from \.", file.read_text(), re.MULTILINE):  # it imports from its folder as from a package
        names, root = (root.name, *names), root.parent
    added = ":".join(map(str, list_added_folders(file)))
    return f"importlib.import_module({'.'.join(names)!r}){taken}  # in {root}{f', with PYTHONPATH={added}' if added else ''}"
