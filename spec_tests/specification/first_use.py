"""Import modules of the suite when a run first uses them.

What is not imported costs a run nothing: neither its own import, nor a look at what it holds. A backend in this process may have
replaced what an import runs. In a run that watches this process, `tampering/detector.py` therefore looks before each import.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from types import ModuleType

from .changed_names import originals_in_place

Importer = Callable[[Sequence[str]], None]


def _import_plainly(names: Sequence[str]) -> None:
    for name in names:
        importlib.import_module(name)


_importer: Importer = _import_plainly


def import_modules(*names: str) -> list[ModuleType]:
    """Import the modules of the suite with these dotted names, if this is their first use, and return them."""
    with originals_in_place():
        _importer(names)
    return [sys.modules[name] for name in names]


def set_importer(importer: Importer = _import_plainly) -> None:
    """Let this function import what is used for the first time. Without one, modules are imported plainly."""
    global _importer
    _importer = importer
