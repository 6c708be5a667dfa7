"""Simulate Windows or macOS on Linux: the suite finds what Python has there, and its libraries find what is here.

What a system lacks is read from the stubs of the standard library that mypy ships, so that no list of names has to be kept.
A process simulates the system if `sitecustomize.py` is SITE, with the system's `sys.platform` in SYSTEM_VARIABLE.
"""

from __future__ import annotations

import ast
import builtins
import importlib.util
import json
import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import FrameType, ModuleType, SimpleNamespace
from typing import Any

SYSTEMS = ("win32", "darwin")
SYSTEM_VARIABLE, MISSING_VARIABLE = "SIMULATED_SYSTEM", "SIMULATED_MISSING"
SITE = "from meta_tests.support.other_systems import simulate\n\nsimulate()\n"
SUITE = ("spec_tests", "reference_numpy")  # whose code sees the simulated system
VALUES = {"win32": {"sys": {"platform": "win32"}, "os": {"name": "nt"}}, "darwin": {"sys": {"platform": "darwin"}}}
FOLDERS = ("/proc", "/sys")  # of Linux alone


# --- what a system lacks, from the stubs ------------------------------------------------------------------------------------


@cache
def find_missing(system: str) -> dict[str, list[str]]:
    """Return the names that modules of the standard library lack on a system and have on Linux. A module without names has []."""
    import mypy

    stubs = Path(mypy.__file__).parent / "typeshed" / "stdlib"
    missing = {}
    for path in [*stubs.glob("*.pyi"), *stubs.glob("*/__init__.pyi")]:
        module, text = path.parent.name if path.stem == "__init__" else path.stem, path.read_text(encoding="utf-8")
        if module[0] == "_" or "sys.platform" not in text or importlib.util.find_spec(module) is None:
            continue
        body = ast.parse(text).body
        here, there = ({name for name in list_names(body, where) if name[0] != "_"} for where in ("linux", system))
        if here - there:
            missing[module] = sorted(here - there) if there else []
    return missing


def list_names(body: list[ast.stmt], system: str) -> Iterator[str]:
    """Yield the names that the statements of a stub define on a system."""
    for node in body:
        if isinstance(node, ast.If):
            facts = SimpleNamespace(platform=system, version_info=sys.version_info)
            holds = eval(compile(ast.Expression(node.test), "stub", "eval"), {"sys": facts})
            yield from list_names(node.body if holds else node.orelse, system)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.ImportFrom | ast.Import):
            yield from (alias.name for alias in node.names if alias.asname == alias.name)  # what a stub passes on


def variables(system: str) -> dict[str, str]:
    """Return the variables of the environment of a process that simulates the system."""
    return {SYSTEM_VARIABLE: system, MISSING_VARIABLE: json.dumps(find_missing(system))}


# --- in the process that simulates it ---------------------------------------------------------------------------------------


def simulate() -> None:
    """Let the code of the suite in this process find what the system of the environment has."""
    system, missing = os.environ[SYSTEM_VARIABLE], json.loads(os.environ[MISSING_VARIABLE])
    absent = {name for name, names in missing.items() if not names}
    hide_modules(absent)
    for name in {*missing, *VALUES[system]} - absent:
        module = sys.modules.get(name) or importlib.import_module(name)
        restrict(module, frozenset(missing.get(name, ())), VALUES[system].get(name, {}))
    hide_files()
    import multiprocessing

    multiprocessing.set_start_method("spawn")


def is_of_the_suite(frame: FrameType | None) -> bool:
    """Whether the code that runs is the suite's own, which its __name__ says."""
    return frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in SUITE


def restrict(module: ModuleType, hidden: frozenset[str], values: dict[str, Any]) -> None:
    """Hide names of a module from the suite, and show it other values."""
    frame_of, kind = sys._getframe, type(module)

    class Restricted(kind):  # type: ignore[misc, valid-type]
        def __getattribute__(self, name: str) -> Any:
            concerns = self is module and (name in hidden or name in values)  # importlib makes modules of the class of sys
            if concerns and is_of_the_suite(frame_of(1)):
                if name in hidden:
                    raise AttributeError(f"module {super().__getattribute__('__name__')!r} has no attribute {name!r}")
                return values[name]
            return super().__getattribute__(name)

    module.__class__ = Restricted


def hide_modules(absent: set[str]) -> None:
    """Keep the suite from importing and from finding modules."""
    do_import, do_find, frame_of = builtins.__import__, importlib.util.find_spec, sys._getframe

    def import_here(name: str, *args: Any, **options: Any) -> Any:
        if name in absent and is_of_the_suite(frame_of(1)):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return do_import(name, *args, **options)

    def find_here(name: str, *args: Any, **options: Any) -> Any:
        return None if name in absent and is_of_the_suite(frame_of(1)) else do_find(name, *args, **options)

    builtins.__import__, importlib.util.find_spec = import_here, find_here


def hide_files() -> None:
    """Let this process find none of the files that Linux alone has."""
    do_stat = os.stat

    def is_hidden(path: Any) -> bool:
        return isinstance(path, str | bytes | os.PathLike) and os.fsdecode(path).startswith(FOLDERS)

    def refuse(event: str, args: tuple[Any, ...]) -> None:
        if event in ("open", "os.listdir", "os.scandir") and is_hidden(args[0]):
            raise FileNotFoundError(2, "No such file or directory", os.fsdecode(args[0]))

    def stat(path: Any, *args: Any, **options: Any) -> os.stat_result:
        if is_hidden(path):
            raise FileNotFoundError(2, "No such file or directory", os.fsdecode(path))
        return do_stat(path, *args, **options)

    os.stat = stat
    sys.addaudithook(refuse)
