"""Import the scripts in docs/, which are in no package."""

import importlib.util
from types import ModuleType

from .paths import DOCS


def import_script(name: str) -> ModuleType:
    """Return docs/NAME.py as a module."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
