"""A file as a module, wherever it lies: it finds its neighbours and its project, and takes nobody's name."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType


def import_root(path: Path) -> Path:
    """The folder of the file's outermost package, or its own: what pytest would put on sys.path."""
    folder = path.parent
    while (folder / "__init__.py").is_file():
        folder = folder.parent
    return folder


def module_names(path: Path) -> tuple[str, ...]:
    """The parts of the file's dotted name, as seen from its root."""
    return path.relative_to(import_root(path)).with_suffix("").parts


def import_file(path: Path) -> ModuleType:
    path = path.resolve()
    root, names = import_root(path), module_names(path)
    for folder in map(str, (path.parent, root)):
        if folder not in sys.path:
            sys.path.append(folder)  # to stay: functions may import when they are called; last, so as to shadow nothing
    for name in re.findall(r"^\s*(?:from|import) (\w+)", path.read_text(), re.MULTILINE):
        own = (root / name / "__init__.py").is_file() or (root / f"{name}.py").is_file()
        if own and not _is_of(root, name):
            raise ImportError(f"{name} would not be that of {root}: another of that name comes first; try this backend alone")
    if len(names) > 1 and _is_of(root, names[0]):
        return importlib.import_module(".".join(names))
    return _apart(path, root, names)


def _is_of(root: Path, name: str) -> bool:
    """What Python imports by this name lies in the folder."""
    spec = importlib.util.find_spec(name)
    places = () if spec is None else (spec.origin, *(spec.submodule_search_locations or ()))
    return any(root in Path(place).resolve().parents for place in places if place)


def _apart(path: Path, root: Path, names: tuple[str, ...]) -> ModuleType:
    """The file as a module of a package of its own, so that `from .sibling import *` works and no name is taken."""
    top = f"spec_tests_backend_{abs(hash(str(root))):x}"
    if top not in sys.modules:
        package = ModuleType(top)
        package.__path__ = [str(root)]
        sys.modules[top] = package
    name = ".".join([top, *names])
    if len(names) > 1:
        importlib.import_module(name.rpartition(".")[0])
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # before it runs: dataclasses look themselves up there
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
