"""JSON files of flashinfer-bench and SOL-ExecBench: a definition of a kernel, and a solution with its source.

The solution's Python or Triton source is written into a folder of its own and imported. Languages that need a compiler are
refused. A definition alone is tried with its own `reference`, also where it lies in a folder.
"""

from __future__ import annotations

import importlib
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from ._flashinfer_attention import WITH_LSE
from ._flashinfer_definition import Definition
from ._flashinfer_examples import find_form
from ._flashinfer_operations import OPERATIONS
from ._imported import CannotRun, Imported, NotTaken, import_torch

KIND = "a definition and a solution of flashinfer-bench"
ORDER = 0
LANGUAGES = ("python", "triton", "pytorch")
LINES = "def OPERATION(x):  # in a file of your own, with the operation's name and arrays\n    return run(x)"
LOOSEST = "eager"  # the precision class that admits steps which are rounded
KEYS = frozenset({"sources", "axes"})  # a solution has the first, a definition the second


def opens(path: Path) -> bool:
    """Whether the path is the JSON file of a solution or a definition, or a folder with a definition.json."""
    if path.is_dir():
        return (path / "definition.json").is_file()
    return path.suffix == ".json" and path.is_file() and bool(KEYS & _read(path).keys())


def open_path(path: Path, import_file: Callable[[Path], Any]) -> Imported:
    """Return the backend of a solution, or of a definition's own reference."""
    solution, definition = _read_pair(path)
    stated = Definition(definition)
    if stated.unknown_dtypes:
        kinds = " and ".join(stated.unknown_dtypes)
        raise CannotRun(f"{stated.name} is stated for {kinds}, which the suite does not have: it is judged in no other dtype")
    spec = solution.get("spec", {})
    languages = spec.get("languages") or [spec.get("language", "python")]
    if other := [str(language) for language in languages if str(language).lower() not in LANGUAGES]:
        raise CannotRun(f"{solution['name']} is written in {other[0]}, which has to be compiled; Python and Triton solutions run")
    if "triton" in map(str.lower, languages) and not _triton_can_run():
        raise CannotRun(
            f"{solution['name']} is written in Triton, which finds no GPU here; with TRITON_INTERPRET=1 in the environment "
            "its interpreter runs the kernels on the CPU"
        )
    folder = tempfile.TemporaryDirectory(prefix="spec_tests-solution-")
    try:
        imported = _import_solution(solution, stated, Path(folder.name), import_file)
    except BaseException:
        folder.cleanup()
        raise
    imported.__dict__.update(folder=folder)  # the sources go when the backend goes
    return imported


def _import_solution(solution: dict[str, Any], stated: Definition, folder: Path, import_file: Callable[[Path], Any]) -> Imported:
    """Return the backend of a solution whose sources are written into the folder."""
    spec = solution.get("spec", {})
    entry_point = str(spec.get("entry_point", "main.py::run"))
    module = import_file(_write_sources(folder, str(solution["name"]), _list_sources(solution), entry_point))
    entry = getattr(module, entry_point.rpartition("::")[2])
    imported = Imported(module, KIND, dtypes=stated.dtypes)
    imported.__dict__.update(name=str(solution["name"]))
    passes_destinations = bool(spec.get("destination_passing_style", True))
    call = _pass_destinations(entry, stated) if passes_destinations else _take_results(entry, stated)
    style = "results are written into its last arguments" if passes_destinations else "results are returned"
    reasons = []
    for operation, bind in OPERATIONS:
        try:
            function, words, domain = bind(stated, call)
            reference, _, _ = bind(stated, _take_results(stated.load_reference(), stated))
            form = find_form(stated, operation, reference)
        except NotTaken as reason:
            reasons.append(str(reason))
            continue
        function.conventions = form.conventions  # type: ignore[attr-defined]
        words = ", ".join([words, *(f"{name} {value}" for name, value in form.options.items())])
        domain |= {name: (value,) for name, value in form.options.items()}
        if form.rounds_steps:
            imported.admitted_precision[operation] = LOOSEST
            words += ", whose steps may be rounded, as in its reference"
        imported.add(operation, function, f"{stated.name}, {words}; {style}", domain)
        _add_lse(imported, stated, operation, call, style)
        return imported
    names = f"{', '.join(stated.inputs)} -> {', '.join(stated.outputs)}"
    why = next((reason for reason in reasons if reason), "no operation has these arrays")
    raise NotTaken(f"it defines {stated.name} ({names}), which is not taken: {why}; write\n{LINES}")


def _add_lse(imported: Imported, stated: Definition, operation: str, call: Callable[..., dict[str, Any]], style: str) -> None:
    """Add the attention that also returns the second result, or say that this result is not tested."""
    if len(stated.outputs) == 1 or operation not in WITH_LSE:
        return
    try:
        bind = WITH_LSE[operation]
        function, words, domain = bind(stated, call)
        reference, _, _ = bind(stated, _take_results(stated.load_reference(), stated))
        function.conventions = find_form(stated, "attention_with_lse", reference).conventions  # type: ignore[attr-defined]
    except NotTaken as reason:
        _, *others = stated.outputs
        why = f": {reason}" if str(reason) else ""
        imported.absence_hints["attention_with_lse"] = f"also returns {', '.join(others)}, which is not tested{why}"
    else:
        imported.add("attention_with_lse", function, f"{stated.name}, {words}; {style}", domain)


def _triton_can_run() -> bool:
    """Whether Triton finds a device, or is told to interpret. If it is not installed, the import of the solution says so."""
    if os.environ.get("TRITON_INTERPRET") == "1":
        return True
    try:
        return bool(importlib.import_module("triton").runtime.driver.active)
    except ImportError:
        return True
    except RuntimeError:  # no active driver
        return False


def _read_pair(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the solution and the definition that it solves."""
    if path.is_dir():
        solutions = sorted(file for file in path.glob("*.json") if "sources" in _read(file))
        if len(solutions) > 1:
            names = ", ".join(file.name for file in solutions)
            raise NotTaken(f"the folder has {len(solutions)} solutions ({names}); name one of them")
        path = solutions[0] if solutions else path / "definition.json"
    found = _read(path)
    if "sources" not in found:
        if not {"axes", "inputs", "outputs", "reference"} <= found.keys():
            raise NotTaken("it has neither the sources of a solution nor the axes, inputs, outputs and reference of a definition")
        spec = {"language": "python", "entry_point": "main.py::run", "destination_passing_style": False}
        source = [{"path": "main.py", "content": found["reference"]}]
        return {"name": f"{found['name']}-reference", "definition": found["name"], "spec": spec, "sources": source}, found
    return found, _find_definition(path, str(found["definition"]))


def _find_definition(path: Path, name: str) -> dict[str, Any]:
    """Return the definition of this name: beside the solution, or in the folder `definitions` of a data set."""
    beside = [path.parent / "definition.json", path.parent / f"{name}.json"]
    in_data_set = (file for parent in path.resolve().parents[1:5] for file in (parent / "definitions").rglob(f"{name}.json"))
    for file in (*beside, *in_data_set):
        if file.is_file() and (found := _read(file)).get("name") == name:
            return found
    raise NotTaken(f"there is no definition {name!r}: put it beside the solution as definition.json")


def _read(path: Path) -> dict[str, Any]:
    """Return the object in the file, {} if there is none."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _list_sources(solution: dict[str, Any]) -> dict[str, str]:
    return {str(source["path"]): str(source["content"]) for source in solution["sources"]}


def _write_sources(folder: Path, name: str, sources: dict[str, str], entry_point: str) -> Path:
    """Write the sources into the folder, and return the file of the entry point."""
    entry = entry_point.rpartition("::")[0]
    for what, path in (*(("a source", path) for path in sources), ("the entry point", entry)):
        if PureWindowsPath(path).anchor or PurePosixPath(path).is_absolute() or ".." in PureWindowsPath(path).parts:
            raise NotTaken(f"{name} has {what} {path!r}, which lies outside of its folder")
    if PurePosixPath(entry) not in map(PurePosixPath, sources):
        raise NotTaken(f"{name} has no source for its entry point {entry_point!r}")
    for path, content in sources.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)
    return folder / entry


def _pass_destinations(entry: Callable[..., Any], stated: Definition) -> Callable[..., dict[str, Any]]:
    """Return what calls the entry point with its inputs by name, and with arrays into which it writes its outputs."""

    def call(shapes: dict[str, int], **inputs: Any) -> dict[str, Any]:
        torch = import_torch()
        device = next(x.device for x in inputs.values() if hasattr(x, "device"))
        outputs = {
            name: torch.empty([shapes[axis] for axis in spec["shape"]], dtype=getattr(torch, spec["dtype"]), device=device)
            for name, spec in stated.outputs.items()
        }
        entry(*(inputs[name] for name in stated.inputs), *outputs.values())
        return outputs

    return call


def _take_results(entry: Callable[..., Any], stated: Definition) -> Callable[..., dict[str, Any]]:
    """Return what calls the entry point with its inputs, and gives its results their names."""

    def call(shapes: dict[str, int], **inputs: Any) -> dict[str, Any]:
        answer = entry(*(inputs[name] for name in stated.inputs))
        if isinstance(answer, dict):
            return answer
        return dict(zip(stated.outputs, answer if isinstance(answer, tuple | list) else (answer,), strict=False))

    return call
