"""The states of a framework in which layers are called, such as without gradients, in inference, or with frozen weights.

A framework has them if it has each of the functions below, whose names are PyTorch's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from types import MappingProxyType
from typing import Any

from .ways_of_calling import WAYS

INFERENCE = "inference mode"
AUTOCAST = "autocast to bfloat16"
AUTOCAST_DTYPE = "bfloat16"
DEFAULT_DTYPES = MappingProxyType({f"the default dtype {dtype}": dtype for dtype in ("float64", "bfloat16")})

CALL_STATES = ("no_grad", INFERENCE, *DEFAULT_DTYPES, AUTOCAST)

PARAMETERS, NOT_LEAVES = "all arguments but the first are parameters", "no argument is a leaf"
ALL_PARAMETERS = "every argument is a parameter"
SOME_ALONE = re.compile(r"only arrays ([\d, ]+) have a gradient")  # the others are frozen

GRADIENT_STATES = (PARAMETERS, ALL_PARAMETERS, NOT_LEAVES, *DEFAULT_DTYPES)

NEEDED_FUNCTIONS = ("no_grad", "inference_mode", "autocast", "get_default_dtype", "set_default_dtype")


def has_states(module: Any) -> bool:
    """Whether a framework has the states."""
    return all(callable(getattr(module, name, None)) for name in NEEDED_FUNCTIONS)


def enter_state(module: Any, device: str, state: str) -> AbstractContextManager[Any]:
    """Return a context in which the framework is in the state. The states of arguments, and ways of calling, change nothing."""
    if state in WAYS:
        return nullcontext()
    contexts: dict[str, Callable[[], Any]] = {
        "no_grad": module.no_grad,
        INFERENCE: module.inference_mode,
        AUTOCAST: lambda: module.autocast(device.partition(":")[0], dtype=getattr(module, AUTOCAST_DTYPE)),
        **{name: partial(_default_dtype, module, getattr(module, dtype)) for name, dtype in DEFAULT_DTYPES.items()},
    }
    return contexts.get(state, nullcontext)()


@contextmanager
def _default_dtype(module: Any, dtype: Any) -> Iterator[None]:
    before = module.get_default_dtype()
    module.set_default_dtype(dtype)
    try:
        yield
    finally:
        module.set_default_dtype(before)


def some_alone(places: Iterable[int]) -> str:
    """Return the state in which the arrays at these places have a gradient, counted from 0, and the others have none."""
    return f"only arrays {', '.join(map(str, sorted(places)))} have a gradient"


def make_inputs(module: Any, arrays: list[Any], state: str) -> tuple[list[Any], list[int]]:
    """Return the arrays as a graph begins with them in this state, and the places of those that have a gradient."""
    first, *others = [x.detach() for x in arrays]
    everywhere = list(range(len(arrays)))
    if state == NOT_LEAVES:
        return [x.requires_grad_().clone() for x in (first, *others)], everywhere
    if some := SOME_ALONE.fullmatch(state):
        chosen = [int(place) for place in some[1].split(", ")]
        parameters = [module.nn.Parameter(x) if i in chosen else x for i, x in enumerate(others, 1)]
        return [first.requires_grad_() if 0 in chosen else first, *parameters], chosen
    if state == ALL_PARAMETERS:
        return [*map(module.nn.Parameter, (first, *others))], everywhere
    if state == PARAMETERS:
        return [first.requires_grad_(), *map(module.nn.Parameter, others)], everywhere
    return [x.requires_grad_() for x in (first, *others)], everywhere
