"""Files of KernelBench: `ModelNew`, or `Model` alone, with the `get_inputs` and `get_init_inputs` of the problem.

A problem is an operation if its own `Model` computes the same as the operation on a few small inputs, in float64. The suite then
compares with the operation, and never with `Model`. A problem that computes anything else is not judged.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

from . import _kernelbench_problem as problem
from ._imported import RAISED, Imported, is_torch_module, say
from ._kernelbench_equality import recognize

KIND = "a KernelBench file"
ORDER = 1
LINES = (
    "def OPERATION(x):  # or its other arrays\n"
    "    return {}(*get_init_inputs())(x)"
)  # fmt: skip


def take(source: Any) -> Imported | None:
    """Return the backend of the file's kernel, None if it has neither ModelNew nor a Model with inputs."""
    if not inspect.ismodule(source):
        return None
    new, old = getattr(source, "ModelNew", None), getattr(source, "Model", None)
    if not is_torch_module(new) and not (is_torch_module(old) and hasattr(source, "get_inputs")):
        return None
    kernel: Any = new if is_torch_module(new) else old
    imported, lines = Imported(source, KIND), LINES.format(kernel.__name__)
    asked = source if hasattr(source, "get_inputs") else _find_problem(source)
    if asked is None:
        imported.absence_hints["KernelBench"] = (
            "has ModelNew and no get_inputs: put the problem's file, with Model and get_inputs, into the same folder"
        )
        return imported
    try:
        small = problem.shrink(asked)
        found = recognize(small, getattr(asked, "Model", None) or kernel, _read_name(asked))
    except RAISED as error:  # of the file's own code, on the few numbers on which it is tried
        imported.absence_hints["KernelBench"] = f"cannot be tried on small inputs ({say(error)}); write\n{lines}"
        return imported
    if isinstance(found, str):
        imported.absence_hints["KernelBench"] = f"{found}; if it is meant to be one of them, write\n{lines}"
        return imported
    words = f"{kernel.__name__}, {found.words}"
    imported.add(found.operation, found.bind(kernel, small), words, dict(found.domain))
    return imported


def _find_problem(source: Any) -> Any:
    """Return the module of the only other file of the folder that has a Model and get_inputs, or None."""
    folder, own = Path(source.__file__).parent, Path(source.__file__).name
    pattern = re.compile(r"^class Model\b.*^def get_inputs\b", re.MULTILINE | re.DOTALL)
    others = [path for path in sorted(folder.glob("*.py")) if path.name != own and pattern.search(path.read_text())]
    return problem.import_problem(others[0]) if len(others) == 1 else None


def _read_name(module: Any) -> str:
    """Return the letters of the name of a problem's file, as 88_MinGPTNewGelu.py."""
    return re.sub(r"[^a-z]", "", Path(getattr(module, "__file__", None) or "").stem.lower())
