"""Operators of torch.library: custom operators that a file defines, or a namespace of torch.ops, each by its schema."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from ._imported import Imported, NotTaken, import_torch
from ._schemas import NAMES, Form, match_arguments

KIND = "operators of torch.library"
ORDER = 3


def take(source: Any) -> Imported | None:
    """Return the backend of the operators that the source has, None if it has none."""
    found = list(_list_operators(source))
    if not found:
        return None
    imported = Imported(source, KIND)
    for operator in found:
        schema = operator._schema
        name = schema.name.partition("::")[2].lower()
        form = NAMES.get(name)
        if form is None or form.operation in imported.renamed_operations:
            continue
        try:
            function, words = _bind(operator, form)
        except NotTaken as reason:
            imported.absence_hints[form.operation] = (
                f"has the operator {schema}, which is not taken for {form.operation}: {reason}"
            )
        else:
            imported.add(form.operation, function, words, dict(form.domain))
    return imported if imported.renamed_operations or imported.absence_hints else None


def _list_operators(source: Any) -> Iterator[Any]:
    """Yield the overloads of all operators that the source is, holds, or has defined."""
    if not inspect.ismodule(source) and type(source).__name__ != "_OpNamespace":
        return
    for value in vars(source).values() if inspect.ismodule(source) else (source,):
        kind = type(value).__name__
        if kind == "CustomOpDef":
            yield value._opoverload
        elif kind == "Library" and type(value).__module__ == "torch.library":
            yield from _list_namespace(value.ns)
        elif kind == "_OpNamespace":
            yield from _list_namespace(value.name)


def _list_namespace(name: str) -> Iterator[Any]:
    torch = import_torch()
    for schema in torch._C._jit_get_all_schemas():
        namespace, _, operator = schema.name.partition("::")
        if namespace == name and not schema.overload_name:
            yield getattr(getattr(torch.ops, namespace), operator).default


def _bind(operator: Any, form: Form) -> tuple[Callable[..., Any], str]:
    """Return the operation that calls the operator, and the words on its arguments."""
    arguments = list(operator._schema.arguments)
    written = {a.name for a in arguments if a.alias_info is not None and a.alias_info.is_write}
    returns_nothing = not operator._schema.returns
    names, optional = match_arguments(form, [(a.name, str(a.type), a.has_default_value()) for a in arguments], written)
    outputs = [name for name in written if name not in names.values()]
    if outputs and not returns_nothing:
        raise NotTaken(f"it writes {', '.join(outputs)} and returns a result")
    if len(outputs) > 1:
        raise NotTaken(f"it writes {', '.join(outputs)}, where one result is expected")
    updated = [ours for ours, theirs in names.items() if theirs in written]

    def call(*arrays: Any, **keywords: Any) -> Any:
        given = dict(zip(form.arrays, arrays, strict=False)) | keywords
        given |= {name: given[name].clone() for name in updated}  # an operation changes no argument
        options = {names[name]: value for name, value in given.items() if name in names}
        if outputs:
            options[outputs[0]] = form.make_output(*arrays)
        answer = operator(**options)
        if outputs:
            return options[outputs[0]]
        return tuple(given[name] for name in updated) if updated and returns_nothing else answer

    kinds = inspect.Parameter
    signature = [kinds(name, kinds.POSITIONAL_OR_KEYWORD) for name in form.arrays]
    signature += [kinds(name, kinds.POSITIONAL_OR_KEYWORD, default=None) for name in form.optional if name in names]
    signature += [
        kinds(name, kinds.KEYWORD_ONLY, default=None if name in optional else kinds.empty)
        for name in form.keywords
        if name in names
    ]
    signature += [kinds(name, kinds.KEYWORD_ONLY) for name in form.domain]  # options that the operator's name states
    call.__signature__ = inspect.Signature(signature)  # type: ignore[attr-defined]
    words = f"the operator {operator._schema.name}({', '.join(a.name for a in arguments)})"
    words += f", which writes {outputs[0]}" if outputs else f", which updates {' and '.join(updated)}" if updated else ""
    return call, words + "".join(f", {name} {' or '.join(map(str, values))}" for name, values in form.domain.items())
