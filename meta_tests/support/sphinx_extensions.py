"""The extensions of the documentation, outside a build."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

from .paths import ROOT


def extension(name: str) -> ModuleType:
    """As Sphinx imports it, which has its folder on the path; afresh."""
    sys.path.insert(0, str(ROOT / "docs" / "_extensions"))
    try:
        sys.modules.pop(name, None)
        return importlib.import_module(name)
    finally:
        del sys.path[0]
