"""Kernel repositories of Hugging Face: a folder with builds or with torch-ext/, or an installed package that has `layers`.

Layers of such repositories take the parameters of the module whose `forward` they replace, so that they have no constructor of
their own. Layers with a constructor are taken as any torch.nn module.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import nn_modules
from ._imported import CannotRun, Imported, NotTaken, import_torch, is_torch_module

KIND = "a kernel repository of Hugging Face"
ORDER = 2
COMPILED = "_ops"  # the module that a build writes beside the Python sources
PORTABLE = ("universal", "cpu")  # words in the names of builds that run without a GPU
EPS_NAMES = ("variance_epsilon", "eps", "epsilon")  # under which layers read the epsilon of the module that they stand in for
RMS_NORMS = ("rmsnorm", "llamarmsnorm", "mistralrmsnorm", "qwen2rmsnorm", "ligerrmsnorm")
LAYER_NORMS = ("layernorm",)


def opens(path: Path) -> bool:
    """Whether the path is the folder of a repository."""
    return path.is_dir() and ((path / "build.toml").is_file() or any((path / part).is_dir() for part in ("build", "torch-ext")))


def open_path(path: Path, import_file: Callable[[Path], Any]) -> Imported:
    """Return the backend of the repository's layers, or else of its functions."""
    package = _find_package(path)
    file = package / "layers.py" if (package / "layers.py").is_file() else package / "__init__.py"
    try:
        return _take_layers(import_file(file), str(package.relative_to(path)))
    except ModuleNotFoundError as error:
        if not str(error.name).endswith(f".{COMPILED}"):
            raise
        raise CannotRun(
            f"it is {KIND}, which needs its compiled {COMPILED}: build it, and give the folder with the build"
        ) from error


def take(source: Any) -> Imported | None:
    """Return the backend of an installed package with a module `layers`, None if it has none."""
    layers = getattr(source, "layers", None)
    return _take_layers(layers, source.__name__) if inspect.ismodule(source) and inspect.ismodule(layers) else None


def _find_package(path: Path) -> Path:
    """Return the folder of the Python package: of a build that runs anywhere or on a CPU, or in torch-ext/."""
    builds = sorted(folder for folder in (path / "build").glob("*") if folder.is_dir())
    portable = [folder for word in PORTABLE for folder in builds if word in folder.name]
    for folder in (*portable, *sorted((path / "torch-ext").glob("*"))):
        for package in (folder, *sorted(folder.glob("*"))):
            if (package / "__init__.py").is_file():
                return package
    names = ", ".join(folder.name for folder in builds) or "none"
    raise NotTaken(f"its builds are {names}: none is universal or for a CPU, and torch-ext/ has no Python package")


def _take_layers(layers: Any, where: str) -> Imported:
    imported = Imported(layers, f"{KIND} ({where})")
    for name, found in vars(layers).items():
        if not is_torch_module(found):
            continue
        own = name.lower().replace("_", "")
        has_constructor = "__init__" in vars(found)
        if own in RMS_NORMS and not has_constructor:
            imported.add(
                "rms_norm", _bind_rms_norm(found), f"the layer {name}, with the weight and the epsilon of the module it replaces"
            )
        elif own in LAYER_NORMS and not has_constructor:
            imported.add(
                "layer_norm", _bind_layer_norm(found), f"the layer {name}, with the parameters of the module it replaces"
            )
        elif own in nn_modules.BINDERS:
            nn_modules.bind_class(imported, name, found)
    return imported


def _make_layer(found: Any, eps: float, **parameters: Any) -> Any:
    """Return a layer with the attributes of the module whose place it takes."""
    layer = found()
    for name, value in (parameters | dict.fromkeys(EPS_NAMES, eps)).items():
        setattr(layer, name, value)
    return layer


def _bind_rms_norm(found: Any) -> Callable[..., Any]:
    def rms_norm(x: Any, weight: Any, *, eps: float) -> Any:
        return _make_layer(found, eps, weight=weight, hidden_size=x.shape[-1])(x)

    return rms_norm


def _bind_layer_norm(found: Any) -> Callable[..., Any]:
    def layer_norm(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
        shape = import_torch().Size(x.shape[-1:])
        return _make_layer(found, eps, weight=weight, bias=bias, normalized_shape=shape)(x)

    return layer_norm
