"""Recognize what a backend has under other names: functions and arguments with names of the field, and classes.

A function with another name is taken for the operation where its arrays leave no doubt. What cannot be taken gives a sentence
that says what to write.
"""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from ..specification.aliases import ARRAYS, CLASS_NAMES, GUIDE, KEYWORDS, OPERATIONS, TAKEN_BY
from ..specification.registry import operations

MISSPELLING_CUTOFF = 0.8  # difflib's similarity, of 1: that of rms_nrom and rms_norm is 0.88


class Recognized:
    """A backend's object, with functions under the operations' names that it has under other names."""

    def __init__(self, source: Any, functions: dict[str, Any], renamed: dict[str, str], hints: dict[str, str]):
        self.__dict__.update(getattr(source, "__dict__", {}))
        self.__dict__.update(functions)
        self.recognized_source, self.own_names = source, renamed
        self.renamed_operations = {**getattr(source, "renamed_operations", {}), **renamed}  # an importer states its own
        self.absence_hints = {**hints, **_add_lines(getattr(source, "absence_hints", {}), hints)}
        self.translate_call = self._translate_call if self.renamed_operations else None  # as an adapters file's, for scripts

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["recognized_source"], name)

    def _translate_call(self, operation: str, *arrays: Any, **keywords: Any) -> tuple[str, dict[str, Any]] | None:
        """Return the name of the function that is taken for the operation, and its arguments. None if its names are ours."""
        if operation not in self.own_names:
            translate_call = getattr(self.recognized_source, "translate_call", None)
            return translate_call(operation, *arrays, **keywords) if translate_call else None
        pairs = [pair.split(" for ") for pair in self.own_names[operation].split(", ")]
        names = {ours: theirs for theirs, ours in pairs}
        name = names.get(operation, operation)
        signature = inspect.signature(getattr(self.recognized_source, name))
        arguments = signature.bind(*arrays, **{names.get(key, key): value for key, value in keywords.items()}).arguments
        return name, dict(arguments)


def recognize(source: Any) -> Any:
    """Return the object, wrapped in `Recognized` if it has operations or arguments under other names."""
    functions: dict[str, Any] = {}
    renamed: dict[str, str] = {}
    hints: dict[str, str] = {}
    for operation in operations():
        own = getattr(source, operation, None)
        if inspect.isclass(own):
            functions[operation], hints[operation] = None, _describe_class(operation, own)
            continue
        name, function = (operation, own) if callable(own) else _find_alias(source, operation)
        if function is None:
            if hint := _find_hint(source, operation):
                hints[operation] = hint
            continue
        keywords = _find_keywords(function, operation)
        if name != operation or keywords:
            functions[operation] = _rename_keywords(function, keywords)
            pairs = {operation: name} if name != operation else {}
            renamed[operation] = ", ".join(f"{theirs} for {ours}" for ours, theirs in {**pairs, **keywords}.items())
    return Recognized(source, functions, renamed, hints) if functions or hints else source


def _add_lines(reasons: dict[str, str], hints: dict[str, str]) -> dict[str, str]:
    """Return an importer's reasons, each with the lines to write, if a hint for the operation has lines."""
    lines = {operation: hints.get(operation, "").partition("\n")[2] for operation in reasons}
    return {name: f"{why}; write\n{lines[name]}" if lines[name] else f"{why}; see {GUIDE}" for name, why in reasons.items()}


def _find_alias(source: Any, operation: str) -> tuple[str, Any]:
    """Return the only function with another name of the operation whose arrays have known names, or ("", None)."""
    names, arrays = OPERATIONS.get(operation, ((), ()))
    found = [(name, getattr(source, name, None)) for name in names]
    fitting = [(name, f) for name, f in found if callable(f) and not inspect.isclass(f) and _takes_arrays(f, arrays)]
    return fitting[0] if len(fitting) == 1 else ("", None)


def _takes_arrays(function: Any, arrays: tuple[str, ...]) -> bool:
    """Whether the first parameters of the function have names of these arrays, in this order."""
    names = [p.name for p in _parameters(function) if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    pairs = zip(arrays, names, strict=False)
    return len(names) >= len(arrays) and all(theirs == ours or theirs in ARRAYS.get(ours, ()) for ours, theirs in pairs)


def _parameters(function: Any) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []


def _find_keywords(function: Any, operation: str) -> dict[str, str]:
    """Return the operation's arguments that the function has under another name: our name, and that of the function."""
    names = [p.name for p in _parameters(function) if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    own = {ours: KEYWORDS[ours] for ours in KEYWORDS if operation in TAKEN_BY[ours] and ours not in names}
    others = {ours: [name for name in names if name in aliases] for ours, aliases in own.items()}
    return {ours: theirs[0] for ours, theirs in others.items() if len(theirs) == 1}


def _rename_keywords(function: Any, keywords: dict[str, str]) -> Callable[..., Any]:
    """Return the function, which takes these arguments by our names."""
    if not keywords:
        return function

    @functools.wraps(function, updated=())
    def renamed(*arrays: Any, **given: Any) -> Any:
        return function(*arrays, **{keywords.get(name, name): value for name, value in given.items()})

    ours = {theirs: name for name, theirs in keywords.items()}
    parameters = [p.replace(name=ours.get(p.name, p.name)) for p in _parameters(function)]
    renamed.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return renamed


# --- what cannot be taken ---------------------------------------------------------------------------------------------


def _find_hint(source: Any, operation: str) -> str:
    """Return a sentence on what the object may have in place of the operation, "" if it has nothing like it."""
    for name in CLASS_NAMES.get(operation, ()):
        found = getattr(source, name, None)
        if inspect.isclass(found) and _is_own(source, found):
            return _describe_class(operation, found)
    names, arrays = OPERATIONS.get(operation, ((), ()))
    for name in names:
        if callable(getattr(source, name, None)):
            return f"has {name}, which is not taken for {operation}: its first parameters are not {', '.join(arrays)}; rename it"
    own = [name for name in _public_functions(source) if name not in operations() and not name.endswith("_vjp")]
    if near := difflib.get_close_matches(operation, own, n=1, cutoff=MISSPELLING_CUTOFF):
        return f"has {near[0]}, which is no operation; if {operation} is meant, rename it"
    return ""


def _public_functions(source: Any) -> Iterator[str]:
    """Yield the names of the functions that the object defines, without those that a module imports."""
    for name, value in getattr(source, "__dict__", {}).items():
        if not name.startswith("_") and callable(value) and not inspect.isclass(value) and _is_own(source, value):
            yield name


def _is_own(source: Any, definition: Any) -> bool:
    """Whether the definition is that of the module itself. In another object everything is."""
    source = getattr(source, "recognized_source", source)
    return not inspect.ismodule(source) or getattr(definition, "__module__", None) == source.__name__


def _describe_class(operation: str, found: type) -> str:
    """Return the sentence on a class that stands where a function is expected, with the lines to write."""
    start = f"has the class {found.__name__}, and {operation} must be a function of arrays"
    lines = write_class_lines(operation, found)
    return f"{start}: write\n{lines}" if lines else f"{start}: {GUIDE} shows the three lines to write"


def write_class_lines(operation: str, found: type) -> str:
    """Return the lines of a function that calls the class, in which ... is to be filled in. "" if it is no class of PyTorch."""
    if operation not in OPERATIONS or not any(base.__module__.startswith("torch.") for base in found.__mro__):
        return ""
    x, *weights = OPERATIONS[operation][1]
    options = ", *, eps" if operation.endswith("_norm") else ", *, axis" if operation.endswith("softmax") else ""
    sizes = ", ".join(f"{p.name}=..." for p in _parameters(found) if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD)
    state = ", ".join(f'"...": {weight}' for weight in weights)
    return (
        f"def {operation}({', '.join((x, *weights))}{options}):\n"
        f"    module = {found.__name__}({sizes})\n"
        f"    return torch.func.functional_call(module, {{{state}}}, ({x},), strict=True)"
    )
