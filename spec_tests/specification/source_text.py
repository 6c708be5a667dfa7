"""Parse a file that somebody else wrote, without the warnings of the parser: Python prints them where the file is imported."""

from __future__ import annotations

import ast
import warnings
from pathlib import Path


def parse_file(path: Path) -> ast.Module:
    """Return the syntax tree of a Python file. Raise OSError, SyntaxError or ValueError if it cannot be read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(path.read_bytes(), str(path))
