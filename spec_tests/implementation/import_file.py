"""Import a Python file from any folder, so that it can import its neighbours and its project and shadows no other module."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

OF_REPOSITORY = (".git",)
OF_PROJECT = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "environment.yml")


def import_root(path: Path) -> Path:
    """Return the parent of the file's outermost package, or its own folder: what pytest would put on sys.path."""
    folder = path.parent
    while (folder / "__init__.py").is_file():
        folder = folder.parent
    return folder


def module_names(path: Path) -> tuple[str, ...]:
    """Return the parts of the file's dotted name, as it is imported from its import root."""
    return path.relative_to(import_root(path)).with_suffix("").parts


def import_file(path: Path) -> ModuleType:
    """Import a file. Raise ImportError if a name that it imports from its project would come from elsewhere.

    What is found nowhere else is looked for in the folders above the file, as far as its project goes: there its author starts
    Python.
    """
    path = path.resolve()
    while True:
        try:
            return _import_once(path)
        except ModuleNotFoundError as error:
            folder = _find_in_project(path, (error.name or "").partition(".")[0])
            if folder is None:
                raise
            sys.path.append(str(folder))


def list_added_folders(path: Path) -> list[Path]:
    """Return the folders of the file's project that are places of modules beside its import root, as its imports need them."""
    return [place for place in _list_project_folders(path) if str(place) in sys.path and place != import_root(path)]


def _find_in_project(path: Path, name: str) -> Path | None:
    """Return the nearest folder of the file's project that has a module of this name and is no place of modules yet."""
    folders = (place for place in _list_project_folders(path) if str(place) not in sys.path)
    return next((place for place in folders if name and ((place / name).is_dir() or (place / f"{name}.py").is_file())), None)


def _list_project_folders(path: Path) -> list[Path]:
    """Return the folders above a file up to that of its repository, or else of its project. [] if none looks like one."""
    for signs in (OF_REPOSITORY, OF_PROJECT):
        for number, folder in enumerate(path.parents, 1):
            if any((folder / sign).exists() for sign in signs):
                return [place for above in path.parents[:number] for place in (above, above / "src")]
    return []


def _import_once(path: Path) -> ModuleType:
    root, names = import_root(path), module_names(path)
    for folder in map(str, (root, path.parent)):  # in this order: in the package `model`, model/model.py is no other `model`
        if folder not in sys.path:
            # At the end, to shadow nothing. It stays there, because functions may import when they are called.
            sys.path.append(folder)
    for name in re.findall(r"^\s*(?:from|import) (\w+)", path.read_text(), re.MULTILINE):
        in_project = (root / name / "__init__.py").is_file() or (root / f"{name}.py").is_file()
        if in_project and not _resolves_into(root, name):
            raise ImportError(f"{name} would not be that of {root}: another of that name comes first; try this backend alone")
    if len(names) > 1 and _resolves_into(root, names[0]):
        return importlib.import_module(".".join(names))
    return _import_in_own_package(path, root, names)


def _resolves_into(root: Path, name: str) -> bool:
    """Whether the module that Python imports by this name lies in the folder."""
    spec = importlib.util.find_spec(name)
    places = () if spec is None else (spec.origin, *(spec.submodule_search_locations or ()))
    return any(root in Path(place).resolve().parents for place in places if place)


def _import_in_own_package(path: Path, root: Path, names: tuple[str, ...]) -> ModuleType:
    """Import the file into a package made for its root, so that relative imports work and it takes no other module's name."""
    package_name = f"spec_tests_backend_{abs(hash(str(root))):x}"
    if package_name not in sys.modules:
        package = ModuleType(package_name)
        package.__path__ = [str(root)]
        sys.modules[package_name] = package
    name = ".".join([package_name, *names])
    if len(names) > 1:
        importlib.import_module(name.rpartition(".")[0])
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # before it runs, because dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
