"""From the words after --backend to the object that they name, and the framework whose arrays it takes."""

from __future__ import annotations

import difflib
import importlib
import inspect
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from . import cs336
from .framework import Framework, Unavailable
from .import_file import import_file
from .process_state import ProcessState

HERE = Path(__file__).parent.parent  # the suite

BUILT_IN = HERE / "backends" if (HERE / "backends").is_dir() else HERE.parent / "backends"  # installed, or a checkout

DEVIATING = "deviation:"  # and the id of one of the catalogue

ENTRY_POINTS = "spec_tests.backends"


class BackendError(Exception):
    """What was given, what exists, what to do: one sentence for the person at the command line."""


def built_in_backends() -> dict[str, Path]:
    return {path.stem.replace("_", "-"): path for path in sorted(BUILT_IN.glob("*.py")) if not path.stem.startswith("_")}


def registered_backends() -> dict[str, Any]:
    return {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}


def identify(source: Any, text: str = "") -> tuple[Any, str, Framework]:
    """What serves as the backend that an object is, its name, and its framework."""
    source = cs336.Adapters(source) if cs336.is_adapters_file(source) else source
    name = str(getattr(source, "name", _short(text) or getattr(source, "__name__", type(source).__name__)))
    given = f"--backend={text}" if text else name
    framework_name = getattr(source, "framework", None)
    if not isinstance(framework_name, str):
        raise BackendError(f'{given}: it does not say whose arrays it takes; add a line framework = "torch", or "numpy"')
    try:
        return source, name, Framework(framework_name, getattr(source, "device", None))
    except Unavailable as error:
        raise BackendError(f"{given}: {error}; {_others(text)}") from error


def source_file(source: Any) -> Path | None:
    """The file that defines it; what it imports is not looked at."""
    if "__file__" in getattr(source, "__dict__", {}):
        return Path(source.__file__) if source.__file__ else None
    for thing in (source, type(source)):
        try:
            path = Path(inspect.getfile(thing))
        except (TypeError, OSError):
            continue
        if path.is_file():
            return path
    return None


def _short(text: str) -> str:
    return Path(text).stem if text.endswith(".py") else text


def _others(text: str) -> str:
    return f"built in are {', '.join(name for name in built_in_backends() if name != text)}"


SCHEMES = {"deviation:": "spec_tests.deviations:backend"}  # by name: nothing of the catalogue is imported here


def _by_scheme(scheme: str, text: str) -> Any:
    module, _, function = SCHEMES[scheme].partition(":")
    return getattr(importlib.import_module(module), function)(text.removeprefix(scheme))


def resolve(text: str, folder: Path) -> Any:
    known = built_in_backends()
    if text.startswith(DEVIATING):
        return _by_scheme(DEVIATING, text)
    if text in known:
        return _load_safely(text, lambda: import_file(known[text]))
    if text in registered_backends():
        return _instance(_load_safely(text, registered_backends()[text].load))
    if text.endswith(".py"):
        path = folder / text
        if not path.is_file():
            near = ", ".join(sorted(p.name for p in path.parent.glob("*.py"))[:8]) if path.parent.is_dir() else ""
            raise BackendError(f"--backend={text}: there is no file {path}" + (f"; that folder has {near}" if near else ""))
        return _load_safely(text, lambda: import_file(path))
    module, _, attribute = text.partition(":")
    if not all(part.isidentifier() for part in module.split(".")) or not _exists(module):
        names = [*known, *registered_backends()]
        close = difflib.get_close_matches(text, names, n=3, cutoff=0.5)
        hint = f"; did you mean {' or '.join(close)}?" if close else "."
        raise BackendError(
            f"--backend={text}: unknown{hint} Built in: {', '.join(names)}. "
            "Or give a path to a .py file, a dotted module name, or module:attribute."
        )
    found = _load_safely(text, lambda: importlib.import_module(module))
    for name in filter(None, attribute.split(".")):
        if not hasattr(found, name):
            raise BackendError(f"--backend={text}: {module} has no attribute {attribute!r}")
        found = getattr(found, name)
    return _load_safely(text, lambda: _instance(found))


def _instance(found: Any) -> Any:
    return found() if inspect.isclass(found) else found


def _exists(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _load_safely(text: str, load: Any) -> Any:
    surroundings = ProcessState()
    try:
        return load()
    except (Exception, SystemExit) as error:
        where = ""
        placed = isinstance(error, SyntaxError)  # it says where by itself
        for frame in inspect.getinnerframes(error.__traceback__) if error.__traceback__ and not placed else []:
            file = Path(frame.filename)
            if file.suffix == ".py" and HERE not in file.parents and file.parent.name != "importlib":
                where = f" (line {frame.lineno} of {frame.filename})"
        what = f"importing it raised {type(error).__name__}: {error}{where}"
        if isinstance(error, ModuleNotFoundError) and error.name:
            what = f"it imports {error.name!r}, which is not installed here{where}; install it first"
        raise BackendError(f"--backend={text}: {what}") from error
    finally:
        surroundings.restore()
