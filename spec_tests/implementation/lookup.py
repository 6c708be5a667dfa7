"""Find the object that a value of --backend names, and the framework whose arrays it takes."""

from __future__ import annotations

import ast
import difflib
import importlib
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from ..importers import NotTaken, find_opener, list_parameters, say, take
from ..specification.formats import DTYPES
from ..specification.run_settings import current_settings
from ..specification.source_text import parse_file
from .framework import Framework, Unavailable
from .guard import Fault, run_loading
from .import_file import import_file
from .missing_parts import describe_missing_package
from .plain_values import copy_plain, find_unreadable
from .printable import printable_line
from .process_state import ProcessState

SUITE = Path(__file__).parent.parent  # the folder of spec_tests
BUILT_IN = SUITE / "backends" if (SUITE / "backends").is_dir() else SUITE.parent / "backends"  # in a wheel, or in a checkout
DEVIATION_PREFIX = "deviation:"  # before the id of a deviation of the catalogue
ENTRY_POINT_GROUP = "spec_tests.backends"
PLACES = "Or give a path to a .py file, a dotted module name, file.py:attribute or module:attribute."
ASKS_FOR_CUDA = re.compile("cuda|nvidia driver", re.IGNORECASE)
OF_LIBRARIES = frozenset({"site-packages", "dist-packages"})  # folders
STANDARD = Path(inspect.__file__).parent  # the folder of the standard library
MAX_NAME_CHARACTERS = 60  # of the name that a backend states
T = TypeVar("T")


class BackendError(Exception):
    """A backend cannot be loaded. The text is one sentence for the user: what was given, what exists, and what to do."""


def built_in_backends() -> dict[str, Path]:
    """Return the file of each built-in backend by its name."""
    return {path.stem.replace("_", "-"): path for path in sorted(BUILT_IN.glob("*.py")) if not path.stem.startswith("_")}


def registered_backends() -> dict[str, Any]:
    """Return the entry point of each backend that an installed package registers, by its name."""
    return _find_entry_points(tuple(sys.path))


@cache  # to look takes longer than all else that a start does with the name of a backend
def _find_entry_points(path: tuple[str, ...]) -> dict[str, Any]:
    """Return what the distributions on this path of Python register."""
    return {entry.name: entry for entry in entry_points(group=ENTRY_POINT_GROUP)}


def identify(source: Any, text: str = "") -> tuple[Any, str, Framework]:
    """Return the object to call, its name, and its framework. What an importer knows is made into a backend.

    `text` is the value of --backend that named the object, if one did.
    """
    name = _find_stated_name(source) or _shorten(text) or str(getattr(source, "__name__", type(source).__name__))
    name = printable_line(name)
    label = f"--backend={text}" if text else name
    for complaint in find_unreadable(source):
        raise BackendError(f"{label}: {complaint}")
    source = take(source)
    framework_name = getattr(source, "framework", None)
    if not isinstance(framework_name, str):
        raise BackendError(f'{label}: it does not say whose arrays it takes; add a line framework = "torch", or "numpy"')
    framework_name = str(copy_plain(framework_name))
    device = _choose_device(source, framework_name, label)
    try:
        return source, name, Framework(framework_name, device)
    except Unavailable as error:
        raise BackendError(f"{label}: {error}; {_list_other_backends(text)}") from error


def _choose_device(source: Any, framework: str, label: str) -> Any:
    """Return the device of --device, which the source is told too, or else the one that the source states."""
    device = current_settings().device
    if device is None:
        stated = getattr(source, "device", None)  # scripts keep a device of PyTorch under this name
        return None if stated is None else str(stated)
    if framework != "torch":
        raise BackendError(f"{label}: --device={device} is for backends of PyTorch, and this one is of {framework}; leave it out")
    with suppress(AttributeError, TypeError):  # an object may take no attributes
        source.device = device
    return device


def _find_stated_name(source: Any) -> str:
    """Return the name that the source states for the report, "" if it states none.

    A file's global `name` may be left from a loop. It states nothing if a loop of the file sets it, if it is no text, if it is no
    short line, or if it is the name of a dtype or of something that the file defines, such as an operation.
    """
    name = getattr(source, "name", None)
    if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME_CHARACTERS or not name.isprintable() or name != name.strip():
        return ""
    return "" if name in DTYPES or hasattr(source, name) or _is_set_by_a_loop(source, "name") else name


def _is_set_by_a_loop(source: Any, name: str) -> bool:
    """Whether a loop at the top level of the module's file sets this global variable."""
    path = source_file(source) if inspect.ismodule(source) else None
    try:
        statements = parse_file(path).body if path else []
    except (OSError, SyntaxError, ValueError):
        return False
    while statements:
        statement = statements.pop()
        if isinstance(statement, ast.For):
            stored = (node for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
            if any(node.id == name for node in stored):
                return True
        elif not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            statements += [node for node in ast.iter_child_nodes(statement) if isinstance(node, ast.stmt)]
    return False


def source_file(source: Any) -> Path | None:
    """Return the file that defines the object or its class, if there is one. Files that it imports are ignored."""
    source = getattr(source, "recognized_source", source)
    if "__file__" in getattr(source, "__dict__", {}):
        return Path(source.__file__) if source.__file__ else None
    for definition in (source, type(source)):
        try:
            path = Path(inspect.getfile(definition))
        except (TypeError, OSError):
            continue
        if path.is_file():
            return path
    return None


def split_file(text: str) -> tuple[str, str]:
    """Return the path of the .py file that a value of --backend names and the attribute after its colon, "" if there is none.

    Return ("", "") if the text names no file.
    """
    path, _, attribute = text.rpartition(":")
    if path.endswith(".py"):
        return path, attribute
    return (text, "") if text.endswith(".py") else ("", "")


def _shorten(text: str) -> str:
    """Return the name of the file or the folder without its suffix, or the text itself. An attribute of a file is kept."""
    file, attribute = split_file(text)
    if attribute:
        return f"{Path(file).stem}:{attribute}"
    return Path(text).stem if file or text.endswith(".onnx") or "/" in text else text


def _list_other_backends(text: str) -> str:
    return f"built in are {', '.join(name for name in built_in_backends() if name != text)}"


SCHEMES = MappingProxyType(
    {DEVIATION_PREFIX: "spec_tests.deviations:backend"}
)  # a name, so that this module does not import the catalogue


def _resolve_scheme(scheme: str, text: str) -> Any:
    module, _, function = SCHEMES[scheme].partition(":")
    return getattr(importlib.import_module(module), function)(text.removeprefix(scheme))


def resolve(text: str, folder: Path) -> Any:
    """Return the object that --backend=text names: a module, an object in one, or an instance of a class.

    The text is a deviation, the name of a built-in or registered backend, a path relative to `folder` of what an importer opens,
    or such a path of a .py file or a dotted module name, with or without :attribute. Raise BackendError if there is none, or if
    importing it fails.
    """
    built_in = built_in_backends()
    if text.startswith(DEVIATION_PREFIX):
        return _resolve_scheme(DEVIATION_PREFIX, text)
    if text in built_in:
        return _load_safely(text, lambda: import_file(built_in[text]))
    if text in registered_backends():
        return _instantiate(_load_safely(text, registered_backends()[text].load))
    if (importer := find_opener(folder / text)) is not None:
        return _load_safely(text, lambda: importer.open_path(folder / text, import_file))
    file, attribute = split_file(text)
    if file:
        path = folder / file
        if not path.is_file():
            files = ", ".join(sorted(p.name for p in path.parent.glob("*.py"))[:8]) if path.parent.is_dir() else ""
            if path.exists() and not path.is_dir():
                raise BackendError(f"--backend={text}: {path} is a pipe or a device, and no file")
            raise BackendError(f"--backend={text}: there is no file {path}" + (f"; that folder has {files}" if files else ""))
        return _load_attribute(text, _load_safely(text, lambda: import_file(path)), file, attribute)
    module, _, attribute = text.partition(":")
    if not all(part.isidentifier() for part in module.split(".")) or not _module_exists(module):
        names = [*built_in, *registered_backends()]
        matches = difflib.get_close_matches(text, names, n=3, cutoff=0.5)
        hint = f"; did you mean {' or '.join(matches)}?" if matches else "."
        raise BackendError(f"--backend={text}: unknown{hint} Built in: {', '.join(names)}. {PLACES}")
    return _load_attribute(text, _load_safely(text, lambda: importlib.import_module(module)), module, attribute)


def _load_attribute(text: str, found: Any, name_of_it: str, attribute: str) -> Any:
    """Return the attribute of a module, or an instance of it if it is a class. Without one, return the module."""
    for name in filter(None, attribute.split(".")):
        if not hasattr(found, name):
            raise BackendError(f"--backend={text}: {name_of_it} has no attribute {attribute!r}")
        found = getattr(found, name)
    return _load_safely(text, lambda: _instantiate(found))


def describe_class(source: Any, operations: Collection[str], text: str) -> str:
    """Return what to write where a class of the file has the operations, as text that follows a sentence; "" if none has any."""
    source = getattr(source, "recognized_source", source)
    classes = [value for value in vars(source).values() if inspect.isclass(value)] if inspect.ismodule(source) else []
    for found in classes:
        names = [name for name in sorted(operations) if inspect.isroutine(getattr(found, name, None))]
        if names and found.__module__ == source.__name__:
            start = f"; its class {found.__name__} has {', '.join(names)}: "
            if all(p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in list_parameters(found)):
                return f"{start}write --backend={text}:{found.__name__}"
            return f"{start}make an object of it in the file, as in made = {found.__name__}(…), and write --backend={text}:made"
    return ""


def _instantiate(source: Any) -> Any:
    """Return an instance of a class, and any other object as it is."""
    return source() if inspect.isclass(source) else source


def _module_exists(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _explain(error: BaseException, where: str) -> str:
    """Return the clause for what an import has raised. `standalone_backend.py` says the same in another Python."""
    said = say(error)
    if missing := describe_missing_package(error, where):
        return missing
    if isinstance(error, RuntimeError | AssertionError) and ASKS_FOR_CUDA.search(str(error)):
        reason = "it asks for a CUDA device while it is imported, and there is none here"
        return f"{reason} ({said}){where}; choose the device when a function is called, or run this where there is one"
    return f"importing it raised {said}{where}"


def _find_place(error: BaseException) -> str:
    """Return the line of the backend's code, or else of a library that it calls, that raised an exception while it was loaded."""
    lines = traceback.extract_tb(error.__traceback__)
    outer = [line for line in lines if Path(line.filename).suffix == ".py" and SUITE not in Path(line.filename).parents]
    own = [line for line in outer if not _is_of_a_library(Path(line.filename))]
    return f" (line {(own or outer)[-1].lineno} of {(own or outer)[-1].filename})" if outer else ""


def _is_of_a_library(file: Path) -> bool:
    return bool(OF_LIBRARIES & {*file.parts}) or STANDARD in file.parents


def _load_safely(text: str, load: Any) -> Any:
    """Call `load` and put back the state of the process. Raise BackendError for what it raises, with the line that raised it."""
    state = ProcessState()
    try:
        return load()
    except NotTaken as reason:
        raise BackendError(f"--backend={text}: {reason}") from reason
    except (Exception, SystemExit, GeneratorExit) as error:
        where = "" if isinstance(error, SyntaxError) else _find_place(error)
        raise BackendError(f"--backend={text}: {_explain(error, where)}") from error
    finally:
        state.restore()


def contain(load: Callable[[], T], text: str) -> T:
    """Return what `load` returns. Raise BackendError for what code of the backend raises in it to end the program."""
    try:
        return run_loading(load)
    except Fault as fault:
        what, place = fault.what.removeprefix("the call raised "), (fault.raised or ("", ""))[1]
        raise BackendError(f"{f'--backend={text}: ' if text else ''}loading it raised {what} ({place})") from fault
