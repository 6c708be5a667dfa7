"""Classes of torch.nn modules, by their names, the parameters of their constructors and their weights."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from . import _attention_modules, _rotary_modules, _simple_modules
from ._imported import RAISED, Imported, NotTaken, is_module_instance, is_own, is_torch_module, say

KIND = "torch.nn modules"
ORDER = 5
OTHER_PARAMETERS = "its parameters are "  # in the reason why a class is not another operation that its name may mean
MODELS = ("llama", "mistral", "mixtral", "qwen2", "qwen3", "qwen", "gemma", "deepseek", "gptoss", "minimind")
QUALIFIERS = (*MODELS, "my", "mini", "tiny", "simple", "custom", "naive", "basic", "plain", "vanilla", "manual", "fast", "fused")
SUFFIXES = ("block", "layer")
Binder = Callable[[Any], tuple[Callable[..., Any], str, dict[str, Any]]]  # of a class: the function, words on it, its domain


def _list_binders() -> Mapping[str, tuple[tuple[str, Binder], ...]]:
    """Return by the name of a class, in lower case and without underscores, the operations that it may be."""
    found: dict[str, tuple[tuple[str, Binder], ...]] = {}
    for table in (_simple_modules.CLASSES, _rotary_modules.CLASSES, _attention_modules.CLASSES):
        for operation, (names, binder) in table.items():
            for name in names:
                key = _normalize(name)
                found[key] = (*found.get(key, ()), (operation.partition(" ")[0], binder))
    return MappingProxyType(found)


def _normalize(name: str) -> str:
    """Return the name of a class without what says nothing of its operation: MiniMHA is MHA, and so is MHABlock."""
    own = name.lower().replace("_", "")
    for prefix in QUALIFIERS:
        own = own.removeprefix(prefix) or own
    for suffix in SUFFIXES:
        own = own.removesuffix(suffix) or own
    return own


BINDERS = _list_binders()


def take(source: Any) -> Imported | None:
    """Return the backend of the module's classes, None if the module has none with a known name."""
    if not inspect.ismodule(source):
        return None
    classes = {name: value for name, value in vars(source).items() if is_torch_module(value) and is_own(source, value)}
    known = {name: value for name, value in classes.items() if _normalize(name) in BINDERS}
    known |= {type(value).__name__: type(value) for value in vars(source).values() if _is_known_instance(value, known)}
    imported = Imported(source, KIND)
    for name, found in known.items():
        bind_class(imported, name, found)
    return imported if imported.renamed_operations or imported.absence_hints else None


def _is_known_instance(value: Any, known: dict[str, Any]) -> bool:
    """Whether the value is a module, made by the file, whose class has a known name and none of the file's own has it."""
    if not is_module_instance(value) or _normalize(type(value).__name__) not in BINDERS:
        return False
    return _normalize(type(value).__name__) not in map(_normalize, known) and type(value).__module__.partition(".")[0] != "torch"


def bind_class(imported: Imported, name: str, found: Any) -> None:
    """Add the operation that a class is, or the sentence on why it is not taken. An operation's own function comes first."""
    reasons = {}
    for operation, binder in BINDERS[_normalize(name)]:
        own = getattr(imported.recognized_source, operation, None)
        if operation in imported.renamed_operations or (callable(own) and not is_module_instance(own)):
            continue
        try:
            function, words, domain = binder(found)
        except NotTaken as reason:
            reasons[operation] = f"has the class {name}, which is not taken for {operation}: {reason}"
        except RAISED as error:  # of the class itself, on the few numbers on which it is tried
            reasons[operation] = f"has the class {name}, which is not taken for {operation}: making one raised {say(error)}"
        else:
            imported.add(operation, function, words, domain)
            imported.taken_classes.add(name)
            return
    telling = {key: why for key, why in reasons.items() if OTHER_PARAMETERS not in why} or reasons  # of several operations
    imported.absence_hints.update({key: why for key, why in telling.items() if key not in imported.absence_hints})
