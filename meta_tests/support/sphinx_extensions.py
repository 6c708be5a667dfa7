"""Import the documentation's Sphinx extensions without building it."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

from .paths import ROOT


def import_extension(name: str) -> ModuleType:
    """Import an extension anew, with its folder on sys.path as in a build."""
    sys.path.insert(0, str(ROOT / "docs" / "_extensions"))
    try:
        sys.modules.pop(name, None)
        return importlib.import_module(name)
    finally:
        del sys.path[0]
