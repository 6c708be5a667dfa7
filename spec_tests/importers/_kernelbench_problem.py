"""The inputs of a KernelBench problem, made small: their shapes are read without memory, and their sizes replaced."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ._imported import import_torch

SMALL_SIZES = (2, 3, 5, 7, 11, 13, 17, 19)  # one for each size of a problem, in their order
MAX_LABEL = 2  # labels are below each small size


@dataclass(frozen=True)
class SmallProblem:
    """The shapes and kinds of a problem's inputs, and the arguments of its model, with small sizes."""

    shapes: tuple[tuple[int, ...], ...]
    floating: tuple[bool, ...]
    init: tuple[Any, ...]
    make_init: Callable[[dict[int, int]], tuple[Any, ...]]  # of the small sizes, and what to write in their place
    is_square: bool

    def draw(self, dtype: Any) -> tuple[Any, ...]:
        """Return inputs with random values, always the same."""
        torch = import_torch()
        generator = torch.Generator().manual_seed(0)
        return tuple(
            torch.randn(shape, generator=generator, dtype=dtype)
            if floating
            else torch.randint(0, MAX_LABEL, shape, generator=generator)
            for shape, floating in zip(self.shapes, self.floating, strict=True)
        )

    def describe(self) -> str:
        return f"arrays of {', '.join(f'{len(shape)} dimensions' for shape in self.shapes)}"


def import_problem(path: Path) -> Any:
    """Return the module of a problem's file, which other modules cannot import by its name."""
    spec = importlib.util.spec_from_file_location(f"spec_tests_problem_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def shrink(module: Any) -> SmallProblem:
    """Return the small form of the module's problem. Equal sizes stay equal, and keep their order."""
    with _without_memory():
        inputs = [x for x in module.get_inputs() if hasattr(x, "shape")]
    init = tuple(getattr(module, "get_init_inputs", list)())
    sizes = sorted({size for x in inputs for size in x.shape})
    if len(sizes) > len(SMALL_SIZES):
        raise ValueError(f"its inputs have {len(sizes)} different sizes")
    small: dict[int, int] = dict(zip(sizes, SMALL_SIZES, strict=False))
    shapes = tuple(tuple(small[size] for size in x.shape) for x in inputs)
    is_square = len(inputs) == 2 and len({size for x in inputs for size in x.shape[-2:]}) == 1

    def make_init(replaced: dict[int, int]) -> tuple[Any, ...]:
        return tuple(_replace(value, {size: replaced.get(new, new) for size, new in small.items()}) for value in init)

    floating = tuple(bool(x.dtype.is_floating_point) for x in inputs)
    return SmallProblem(shapes, floating, make_init({}), make_init, is_square)


def _replace(value: Any, sizes: dict[int, int]) -> Any:
    """Return an argument of the model with the new sizes in it."""
    if isinstance(value, tuple | list):
        return type(value)(_replace(item, sizes) for item in value)
    return sizes[value] if isinstance(value, int) and not isinstance(value, bool) and value in sizes else value


def _without_memory() -> Any:
    """Return a context in which PyTorch makes arrays without values, whatever device is asked for."""
    torch = import_torch()
    names = ("rand", "randn", "randint", "ones", "zeros", "empty", "full", "arange", "randperm", "normal", "linspace", "eye")
    factories = {getattr(torch, name) for name in names}

    def make(mode: Any, function: Any, types: Any, arguments: Any = (), keywords: Any = None) -> Any:
        keywords = dict(keywords or {})
        if getattr(function, "__name__", "") in ("cuda", "cpu", "to") and arguments:
            return arguments[0]
        if "device" in keywords or function in factories:
            keywords["device"] = "meta"
        return function(*arguments, **keywords)

    return type("WithoutMemory", (torch.overrides.TorchFunctionMode,), {"__torch_function__": make})()
