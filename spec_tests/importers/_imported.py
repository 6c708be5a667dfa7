"""The backend that an object or a file of another format is made into."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from ._promises import DEFAULT_DTYPES, PROMISED_TIERS

MAX_DTYPES = 100  # that are read of what is stated: an object of foreign code may have no end
OTHER_DEVICE = re.compile(r"Could not run '(\S+)' with arguments from the '(\w+)' backend")
RAISED = (Exception, SystemExit, GeneratorExit)  # by foreign code that is tried; a person may still interrupt


class NotTaken(Exception):
    """Something looks like an operation and cannot be called as one. The text says why, and what to write."""


class CannotRun(NotTaken):
    """Something is recognized and cannot run here: it has to be compiled, or is for a device or a dtype that is missing."""


def say(error: BaseException) -> str:
    """Return the type and the text of what foreign code has raised, without PyTorch's list of all its devices."""
    if found := OTHER_DEVICE.search(str(error)):
        return f"{type(error).__name__}: PyTorch has no {found[1]} for the device {found[2]} here"
    return f"{type(error).__name__}: {error}".removesuffix(": ")


def read_dtypes(stated: Any) -> tuple[Any, ...]:
    """Return the dtypes that a source states. A derived list or tuple is not asked, and nothing is read without end."""
    for base in (list, tuple):
        if base in type(stated).__mro__:
            stated = base.__iter__(stated)
    return tuple(islice(stated, MAX_DTYPES))


def read_dict(stated: Any) -> dict[Any, Any]:
    """Return a copy of a dict that a source states. A derived dict is not asked."""
    return dict(dict.items(stated)) if dict in type(stated).__mro__ else dict(stated or {})


class Imported:
    """A backend whose functions call what an importer has found. What the file states as a backend counts as in any other.

    `renamed_operations` says of each operation what it is taken from, and `absence_hints` what was found and not taken.
    """

    def __init__(self, source: Any, kind: str, *, framework: str = "torch", dtypes: Sequence[str] = DEFAULT_DTYPES):
        self.recognized_source, self.import_kind = source, kind
        self.__name__, self.__file__ = getattr(source, "__name__", kind), getattr(source, "__file__", None)
        self.framework = getattr(source, "framework", framework)
        self.dtypes = read_dtypes(getattr(source, "dtypes", dtypes))
        self.promised_tiers = PROMISED_TIERS
        self.conventions: dict[str, Any] = read_dict(getattr(source, "conventions", {}))
        self.domain: dict[str, Any] = {}
        self.admitted_precision: dict[str, str] = {}  # by operation, where the format admits a looser class than the operation
        self.renamed_operations: dict[str, str] = {}
        self.absence_hints: dict[str, str] = {}
        self.taken_classes = set[str]()  # of which no hint needs to be given

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.__dict__["recognized_source"], name)

    def add(self, operation: str, function: Callable[..., Any], taken_from: str, domain: dict[str, Any] | None = None) -> None:
        """Add the function of an operation, the words that say what it is, and the domain that follows from its form.

        A function may have `conventions`, which its form shows. What the file states comes first.
        """
        setattr(self, operation, function)
        for name, value in getattr(function, "conventions", {}).items():
            stated = self.conventions.get(name, {})
            self.conventions[name] = {operation: value, **stated} if isinstance(stated, dict) else stated
        self.renamed_operations[operation] = taken_from
        stated = read_dict(getattr(self.recognized_source, "domain", {}))
        self.domain = {**self.domain, **stated, operation: {**(domain or {}), **read_dict(stated.get(operation))}}

    def translate_call(self, operation: str, *arrays: Any, **keywords: Any) -> tuple[str, dict[str, Any]] | None:
        """Return ("", {}) for an operation that was imported: no one function of the file stands for it. None for others."""
        return ("", {}) if operation in self.renamed_operations else None


def import_torch() -> Any:
    """Return PyTorch, which the imported file needs. The suite itself needs no framework."""
    return importlib.import_module("torch")


def is_torch_module(found: Any) -> bool:
    """Whether the object is a class of torch.nn modules. PyTorch is not imported for it."""
    if not inspect.isclass(found):
        return False
    return any(base.__name__ == "Module" and base.__module__ == "torch.nn.modules.module" for base in found.__mro__[1:])


def is_module_instance(found: Any) -> bool:
    """Whether the object is an instance of a class of torch.nn modules."""
    return not inspect.isclass(found) and is_torch_module(type(found))


def is_own(source: Any, definition: Any) -> bool:
    """Whether the module, or a module of the package that it is, defines the object."""
    module = str(getattr(definition, "__module__", ""))
    return not inspect.ismodule(source) or module == source.__name__ or module.startswith(f"{source.__name__}.")


def list_parameters(function: Any) -> list[inspect.Parameter]:
    """Return the parameters of a function or of a class's constructor, [] if there is no signature."""
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []


def is_apply(found: Any) -> bool:
    """Whether the object is the method `apply` of a class of torch.autograd.Function, which takes what its forward takes."""
    owner = getattr(found, "__self__", None)
    if not inspect.isclass(owner) or getattr(found, "__name__", "") != "apply":
        return False
    return any(base.__name__ == "Function" and base.__module__ == "torch.autograd.function" for base in owner.__mro__[1:])


def name_parameters(found: Any) -> Any:
    """Return a function that has the parameters of the forward of an `apply`, which itself takes arguments by position alone.

    Return any other object as it is.
    """
    if not is_apply(found):
        return found
    signature = inspect.Signature(list_parameters(found.__self__.forward)[1:])  # without the context

    def function(*given: Any, **options: Any) -> Any:
        bound = signature.bind(*given, **options)
        bound.apply_defaults()
        return found(*bound.args, *bound.kwargs.values())

    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


def list_named_parameters(function: Any) -> list[inspect.Parameter]:
    """Return the parameters without *args and **kwargs, which are all that a class without a constructor of its own has."""
    return [p for p in list_parameters(function) if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


def say_no_parameter(names: Sequence[str], what: str, known: Sequence[str]) -> str:
    """Return the sentence that a constructor has no parameter for a number, with two of the names that it could have."""
    return f"its constructor ({', '.join(names)}) has no parameter with a known name of {what}, such as {' or '.join(known[:2])}"


def find_name(names: Sequence[str], aliases: Sequence[str]) -> str:
    """Return the first of the names that is one of the aliases, "" if none is."""
    return next((name for name in names if name in aliases), "")
