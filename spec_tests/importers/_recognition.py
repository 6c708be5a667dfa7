"""Recognize what a backend has under other names: functions and arguments with names of the field, and classes.

A function with another name is taken for the operation where its arrays leave no doubt. What cannot be taken gives a sentence
that says what to write.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterator
from typing import Any

from ..specification.aliases import CLASS_NAMES, GUIDE, OPERATIONS
from ..specification.registry import operations
from ._function_forms import NAMESPACES, Form, FormProbe
from ._imported import is_apply, is_module_instance, list_parameters, name_parameters, read_dict
from ._promises import DEFAULT_DTYPES, NUMPY_DTYPES
from ._signatures import match_parameters

ALIBI = "alibi_bias"
OF_SEVERAL_ARRAYS = ("rope", "scaled_dot_product_attention")  # whose arrays are no parameters of a module
MISSPELLING_CUTOFF = 0.8  # difflib's similarity, of 1: that of rms_nrom and rms_norm is 0.88


class Recognized:
    """A backend's object, with functions under the operations' names that it has under other names or in other forms."""

    def __init__(self, source: Any, taken: dict[str, Form], hints: dict[str, str], framework: str):
        self.__dict__.update(getattr(source, "__dict__", {}))
        self.__dict__.update(dict.fromkeys(hints), **{operation: form.function for operation, form in taken.items()})
        self.recognized_source, self.taken_forms = source, taken
        renamed = {operation: form.words for operation, form in taken.items()}
        self.renamed_operations = {**getattr(source, "renamed_operations", {}), **renamed}  # an importer states its own
        self.absence_hints = {**hints, **_add_lines(getattr(source, "absence_hints", {}), hints)}
        self.translate_call = self._translate_call if self.renamed_operations else None  # as an adapters file's, for scripts
        stated = read_dict(getattr(source, "domain", {}))
        self.domain = stated | {op: {**form.domain, **read_dict(stated.get(op))} for op, form in taken.items() if form.domain}
        self.conventions = read_dict(getattr(source, "conventions", {}))
        for operation, form in taken.items():
            for name, value in form.conventions.items():
                own = self.conventions.get(name, {})
                self.conventions[name] = {operation: value, **own} if isinstance(own, dict) else own
        if framework:
            usual = NUMPY_DTYPES if framework == "numpy" else DEFAULT_DTYPES
            self.framework, self.dtypes = framework, getattr(source, "dtypes", usual)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["recognized_source"], name)

    def _translate_call(self, operation: str, *arrays: Any, **keywords: Any) -> tuple[str, dict[str, Any]] | None:
        """Return the name of the function that is taken for the operation, and its arguments. None if its names are ours."""
        if operation not in self.taken_forms:
            translate_call = getattr(self.recognized_source, "translate_call", None)
            return translate_call(operation, *arrays, **keywords) if translate_call else None
        match = self.taken_forms[operation].match
        return (match.name, match.bind(*arrays, **keywords)) if match else ("", {})


def recognize(source: Any) -> Any:
    """Return the object, wrapped in `Recognized` if it has operations or arguments under other names or in other forms."""
    taken: dict[str, Form] = {}
    hints: dict[str, str] = {}
    framework = "" if hasattr(source, "framework") else _find_framework(source)
    probe = FormProbe(getattr(source, "framework", framework), is_stated=not framework)
    for operation in operations():
        own = getattr(source, operation, None)
        if inspect.isclass(own) or is_module_instance(own):
            hints[operation] = _describe_class(operation, own if inspect.isclass(own) else type(own))
        elif forms := list(_find_forms(source, operation, probe)):
            taken |= {form.operation: form for form in forms}
            if operation not in (form.operation for form in forms):
                hints[operation] = f"has {forms[0].name}, which is taken for {forms[0].operation}"
        elif hint := _find_hint(source, operation):
            hints[operation] = hint
    taken = {name: form for name, form in taken.items() if not form.is_plain or is_apply(getattr(source, form.name, None))}
    return Recognized(source, taken, hints, framework) if taken or hints or framework else source


def _add_lines(reasons: dict[str, str], hints: dict[str, str]) -> dict[str, str]:
    """Return an importer's reasons, each with the lines to write, if a hint for the operation has lines."""
    lines = {operation: hints.get(operation, "").partition("\n")[2] for operation in reasons}
    return {name: f"{why}; write\n{lines[name]}" if lines[name] else f"{why}; see {GUIDE}" for name, why in reasons.items()}


def _find_forms(source: Any, operation: str, probe: FormProbe) -> Iterator[Form]:
    """Yield what the function is that has the operation's name, or that is the only one with another name of it."""
    own = name_parameters(getattr(source, operation, None))
    names = [operation] if callable(own) else OPERATIONS.get(operation, ((), ()))[0]
    functions = {name: name_parameters(getattr(source, name, None)) for name in names}
    plain = {name: f for name, f in functions.items() if callable(f) and not inspect.isclass(f) and not is_module_instance(f)}
    if operation == ALIBI and ALIBI in plain and (forms := list(probe.list_alibi_forms(ALIBI, own))):
        yield from forms
        return
    fitting = [match for name, f in plain.items() if (match := match_parameters(name, f, operation)) is not None]
    if len(fitting) == 1:
        yield from probe.list_forms(operation, fitting[0], lambda name: hasattr(source, name))


def _find_framework(source: Any) -> str:
    """Return the only framework that a module imports, "" if there is none or if there are several."""
    if not inspect.ismodule(source):
        return ""
    modules = [value.__name__.partition(".")[0] for value in vars(source).values() if inspect.ismodule(value)]
    found = {name for name in modules if name in NAMESPACES}
    return found.pop() if len(found) == 1 else ""


# --- what cannot be taken ---------------------------------------------------------------------------------------------


def _find_hint(source: Any, operation: str) -> str:
    """Return a sentence on what the object may have in place of the operation, "" if it has nothing like it."""
    has_function = callable(getattr(source, operation, None))
    for name in () if has_function else CLASS_NAMES.get(operation, ()):
        found = getattr(source, name, None)
        if inspect.isclass(found) and _is_own(source, found) and name not in getattr(source, "taken_classes", ()):
            return _describe_class(operation, found)
    names, arrays = OPERATIONS.get(operation, ((), ()))
    for name in (operation, *names):
        value = getattr(source, name, None)
        if is_module_instance(value):
            return _describe_class(operation, type(value))
        if callable(value):
            return _describe_parameters(name, operation, ", ".join(arrays))
    own = [name for name in _public_functions(source) if name not in operations() and not name.endswith("_vjp")]
    if near := difflib.get_close_matches(operation, own, n=1, cutoff=MISSPELLING_CUTOFF):
        return f"has {near[0]}, which is no operation; if {operation} is meant, rename it"
    return ""


def _describe_parameters(name: str, operation: str, arrays: str) -> str:
    """Return the sentence on a function that is named as the operation and takes something else."""
    differs = f"its first parameters are not {arrays}"
    if name == operation:
        return f"has {name}, but {differs}; rename them, or the function if it is something else"
    call = f"write {operation}({arrays}, …), which calls it"
    return f"has {name}, which is not taken for {operation}: {differs}; if {operation} is meant, {call}"


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
    is_of_torch = any(base.__module__.startswith("torch.") for base in found.__mro__)
    if operation not in OPERATIONS or operation in OF_SEVERAL_ARRAYS or not is_of_torch:
        return ""
    x, *weights = OPERATIONS[operation][1]
    options = ", *, eps" if operation.endswith("_norm") else ", *, axis" if operation.endswith("softmax") else ""
    sizes = ", ".join(
        f"{p.name}=..." for p in list_parameters(found) if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD
    )
    state = ", ".join(f'"...": {weight}' for weight in weights)
    return (
        f"def {operation}({', '.join((x, *weights))}{options}):\n"
        f"    module = {found.__name__}({sizes})\n"
        f"    return torch.func.functional_call(module, {{{state}}}, ({x},), strict=True)"
    )
