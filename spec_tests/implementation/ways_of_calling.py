"""Ways of calling a function that are no plain call: from another thread, compiled, or under a transform of its framework.

Each is the name of a state, which a law asks for. A framework has the transforms if it has the functions of `torch.func`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextvars import copy_context
from types import MappingProxyType
from typing import Any

from ..specification.formats import DTYPES
from ..specification.pytree import leaves, tree_map

OTHER_THREAD = "a call from another thread"
COMPILED = "the function compiled by its framework"
VMAP = "the function under vmap"
JVP = "the function under jvp"
TANGENT = "the tangent of jvp"
VJP = "the function under torch.func.vjp"

NEEDED_TRANSFORMS = ("vmap", "jvp", "vjp")
COMPILER = "aot_eager"  # traces as the default does, with fake tensors, and generates no code

Arguments = tuple[Any, dict[str, Any]]


def has_transforms(module: Any) -> bool:
    """Whether a framework compiles functions, and has transforms of them."""
    names = all(callable(getattr(getattr(module, "func", None), name, None)) for name in NEEDED_TRANSFORMS)
    return names and callable(getattr(module, "compile", None)) and hasattr(module, "compiler")


def call_in_the_way(framework: Any, function: Callable[..., Any], arrays: Any, keywords: dict[str, Any]) -> Any:
    """Call the function in the way that the framework's state names, if it names one."""
    way = WAYS.get(framework.state)
    return way(framework, function, arrays, keywords) if way else function(*arrays, **keywords)


def _call_from_another_thread(framework: Any, function: Callable[..., Any], arrays: Any, keywords: dict[str, Any]) -> Any:
    """Call the function from a new thread, with the context variables of this one, and raise here what it raises there."""
    answers, errors = list[Any](), list[BaseException]()

    def run() -> None:
        try:
            answers.append(framework.force(function(*arrays, **keywords)))
        except BaseException as error:
            errors.append(error)

    context = copy_context()
    thread = threading.Thread(target=lambda: context.run(run), daemon=True)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return answers[0]


def _call_compiled(framework: Any, function: Callable[..., Any], arrays: Any, keywords: dict[str, Any]) -> Any:
    """Call the function as compiled. What was compiled before is forgotten, since beyond a limit nothing is compiled."""
    framework.module.compiler.reset()

    def call(arrays: Any, keywords: dict[str, Any]) -> Any:
        return function(*arrays, **keywords)

    return framework.module.compile(call, backend=COMPILER, dynamic=False)(list(arrays), keywords)


def _call_under_vmap(framework: Any, function: Callable[..., Any], arrays: Any, keywords: dict[str, Any]) -> Any:
    """Return the result of the second of two calls that are one under vmap. The first has floating numbers in other places."""
    tree = list(arrays), keywords
    inputs = [x for _, x in leaves(tree) if framework.is_array(x)]
    pairs = [framework.xp.stack([_roll(framework, x), x]) for x in inputs]
    y = framework.module.func.vmap(_as_function_of(framework, function, tree, inputs))(*pairs)
    return framework.map_results(lambda x: x[1], y)


def _call_under_jvp(framework: Any, function: Callable[..., Any], arrays: Any, keywords: dict[str, Any]) -> Any:
    return _linearize_forward(framework, function, (list(arrays), keywords))[0]


def _find_tangent(framework: Any, function: Callable[..., Any], arrays: Any, keywords: dict[str, Any]) -> Any:
    return _linearize_forward(framework, function, (list(arrays), keywords))[1]


def _linearize_forward(framework: Any, function: Callable[..., Any], tree: Arguments) -> tuple[Any, Any]:
    """Return the result and its tangent along the numbers of each floating argument, each moved by one place."""
    inputs = [x for _, x in leaves(tree) if framework.is_array(x) and framework.dtype_of(x) in DTYPES]
    if not inputs:
        return function(*tree[0], **tree[1]), None
    tangents = tuple(_roll(framework, x) for x in inputs)
    return framework.module.func.jvp(_as_function_of(framework, function, tree, inputs), tuple(inputs), tangents)


def _roll(framework: Any, x: Any) -> Any:
    """Return a floating array with its numbers moved by one place, and another as it is."""
    return framework.xp.roll(x, 1) if framework.dtype_of(x) in DTYPES else x


def _as_function_of(framework: Any, function: Callable[..., Any], tree: Arguments, inputs: list[Any]) -> Callable[..., Any]:
    """Return the function as one of these arrays among its arguments."""
    places = {id(x): place for place, x in enumerate(inputs)}

    def call(*values: Any) -> Any:
        arrays, keywords = tree_map(lambda x: values[places[id(x)]] if id(x) in places else x, list(tree))
        return function(*arrays, **keywords)

    return call


WAYS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        OTHER_THREAD: _call_from_another_thread,
        COMPILED: _call_compiled,
        VMAP: _call_under_vmap,
        JVP: _call_under_jvp,
        TANGENT: _find_tangent,
    }
)
