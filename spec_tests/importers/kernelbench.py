"""Files of KernelBench: `ModelNew`, or `Model` alone, with the `get_inputs` and `get_init_inputs` of the problem.

Which operation the problem is, is seen from what its own `Model` computes on a few small inputs: that of the candidates whose
values are nearest. The suite then compares with the operation, and never with `Model`.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

from . import _kernelbench_problem as problem
from ._imported import Imported, import_torch, is_torch_module
from ._kernelbench_candidates import CANDIDATES, Candidate

KIND = "a KernelBench file"
ORDER = 1
LINES = (
    "def OPERATION(x):  # or its other arrays\n"
    "    return ModelNew(*get_init_inputs())(x)"
)  # fmt: skip


def take(source: Any) -> Imported | None:
    """Return the backend of the file's kernel, None if it has neither ModelNew nor a Model with inputs."""
    if not inspect.ismodule(source):
        return None
    new, old = getattr(source, "ModelNew", None), getattr(source, "Model", None)
    if not is_torch_module(new) and not (is_torch_module(old) and hasattr(source, "get_inputs")):
        return None
    kernel: Any = new if is_torch_module(new) else old
    imported = Imported(source, KIND)
    asked = source if hasattr(source, "get_inputs") else _find_problem(source)
    if asked is None:
        imported.absence_hints["KernelBench"] = (
            "has ModelNew and no get_inputs: put the problem's file, with Model and get_inputs, into the same folder"
        )
        return imported
    try:
        small = problem.shrink(asked)
        found = _recognize(small, getattr(asked, "Model", None) or kernel)
    except Exception as error:  # of the file's own code, on the few numbers on which it is tried
        imported.absence_hints["KernelBench"] = (
            f"cannot be tried on small inputs ({type(error).__name__}: {error}); write\n{LINES}"
        )
        return imported
    if isinstance(found, str):
        imported.absence_hints["KernelBench"] = f"{found}; write\n{LINES}"
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


def _recognize(small: problem.SmallProblem, model: Any) -> Candidate | str:
    """Return the candidate whose values are nearest to those of the model on the small inputs, or the reason for none."""
    torch = import_torch()
    inputs = small.draw(torch.float64)
    with torch.no_grad():
        values = model(*small.init).double().eval()(*inputs)
    if not hasattr(values, "shape"):
        return f"returns {type(values).__name__}, where one array is needed"
    distances = {}
    for candidate in CANDIDATES:
        try:
            expected = candidate.evaluate(inputs, small)
        except (TypeError, IndexError, RuntimeError, ValueError):
            continue  # its arrays have other numbers of dimensions
        if expected is not None and expected.shape == values.shape:
            distances[candidate] = float((expected - values).norm())
    if not distances:
        return f"takes {small.describe()}, which is none of the problems that are recognized"
    nearest = min(distances, key=lambda candidate: distances[candidate])
    if not distances[nearest] < float(values.norm()) / 2:  # as far away as any other function of these arrays
        return f"computes none of the operations; the nearest is {nearest.operation}"
    if small.is_square and nearest.operation == "linear":
        return "multiplies square matrices alone, which is no size that the suite can restrict itself to"
    return nearest
