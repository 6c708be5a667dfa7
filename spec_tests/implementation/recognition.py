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

from ..specification.registry import operations
from .aliases import ARRAYS, CLASS_LINES, CLASS_NAMES, GUIDE, KEYWORDS, OPERATIONS, WIDTH_NAMES

MISSPELLING_CUTOFF = 0.8  # difflib's similarity, of 1: that of rms_nrom and rms_norm is 0.88


class Recognized:
    """A backend's object, with functions under the operations' names that it has under other names."""

    def __init__(self, source: Any, functions: dict[str, Any], renamed: dict[str, str], hints: dict[str, str]):
        self.__dict__.update(getattr(source, "__dict__", {}))
        self.__dict__.update(functions)
        self.recognized_source, self.renamed_operations, self.absence_hints = source, renamed, hints

        self.translate_call = self._translate_call if renamed else None  # as that of an adapters file, for scripts

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["recognized_source"], name)

    def _translate_call(self, operation: str, *arrays: Any, **keywords: Any) -> tuple[str, dict[str, Any]] | None:
        """Return the name of the function that is taken for the operation, and its arguments. None if its names are ours."""
        if operation not in self.renamed_operations:
            return None
        pairs = [pair.split(" for ") for pair in self.renamed_operations[operation].split(", ")]
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
        keywords = _find_keywords(function)
        if name != operation or keywords:
            functions[operation] = _rename_keywords(function, keywords)
            pairs = {operation: name} if name != operation else {}
            renamed[operation] = ", ".join(f"{theirs} for {ours}" for ours, theirs in {**pairs, **keywords}.items())
    return Recognized(source, functions, renamed, hints) if functions or hints else source


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


def _find_keywords(function: Any) -> dict[str, str]:
    """Return the arguments that the function has under another name: our name, and that of the function."""
    names = [p.name for p in _parameters(function) if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    others = {ours: [name for name in names if name in aliases] for ours, aliases in KEYWORDS.items() if ours not in names}
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
    for name in _class_names(operation):
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


def _class_names(operation: str) -> tuple[str, ...]:
    return CLASS_LINES[operation][0] if operation in CLASS_LINES else CLASS_NAMES.get(operation, ())


def _public_functions(source: Any) -> Iterator[str]:
    """Yield the names of the functions that the object defines, without those that a module imports."""
    for name, value in getattr(source, "__dict__", {}).items():
        if not name.startswith("_") and callable(value) and not inspect.isclass(value) and _is_own(source, value):
            yield name


def _is_own(source: Any, definition: Any) -> bool:
    """Whether the definition is that of the module itself. In another object everything is."""
    return not inspect.ismodule(source) or getattr(definition, "__module__", None) == source.__name__


def _describe_class(operation: str, found: type) -> str:
    """Return the sentence on a class that stands where a function is expected, with the lines to write."""
    start = f"has the class {found.__name__}, and {operation} must be a function of arrays"
    lines = write_class_lines(operation, found)
    return f"{start}: write\n{lines}" if lines else f"{start}: {GUIDE} shows the three lines to write"


def write_class_lines(operation: str, found: type) -> str:
    """Return the lines of a function that calls the class, "" if no such lines are known or if it is no class of PyTorch."""
    if operation not in CLASS_LINES or not any(base.__module__.startswith("torch.") for base in found.__mro__):
        return ""
    parameters = [p.name for p in _parameters(found)]
    width = next((name for name in WIDTH_NAMES if name in parameters), parameters[0] if parameters else "")
    eps = next((name for name in ("eps", *KEYWORDS["eps"]) if name in parameters), "")
    if operation in ("rms_norm", "layer_norm") and not (width and eps):
        return ""
    weight, bias = (next(iter(_named_attributes(found, name)), name) for name in ("weight", "bias"))
    return CLASS_LINES[operation][1].format(name=found.__name__, width=width, eps=eps, weight=weight, bias=bias)


def _named_attributes(found: type, array: str) -> list[str]:
    """Return which of the array's names the class's constructor uses for a parameter: self.gamma, say."""
    names = getattr(getattr(vars(found).get("__init__"), "__code__", None), "co_names", ())
    return [name for name in (array, *ARRAYS[array]) if name in names]
