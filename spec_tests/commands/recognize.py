"""Count what is recognized in a folder of other people's kernels: `spec-tests recognize DIR`.

Each file of a known format is loaded in a process of its own, as a run would load it, and nothing is judged. The table has a row
for each format: how many files there are, how many are taken, how many say that they are an operation and cannot run here, how
many say so and are not recognized, and how many are neither. Python that cannot be parsed is counted apart. `--each` prints what
became of each file as soon as it is known.
"""

from __future__ import annotations

import ast
import json
import multiprocessing
import os
import sys
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ..importers import CannotRun, find_opener, list_claims
from ..importers.cs336 import ADAPTERS, Adapters
from ..importers.cs336 import KIND as ADAPTERS_KIND
from ..specification.registry import operations
from ..specification.source_text import parse_file
from . import USAGE_ERROR
from ._parser import Parser

SECONDS = 60.0  # for which one file may be loaded; the safety net of a command that meets code of many authors
NEVER_LOADED = frozenset({".git", ".venv", "node_modules", "site-packages", "__pycache__"})  # folders
PRELOADED = ("torch", "spec_tests.implementation.lookup")  # once, where processes can be copied
CONTEXT: Any = multiprocessing.get_context("forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn")
UNPARSED = "Python that cannot be parsed"
TAKEN, REFUSED, NOT_TAKEN, OTHER = "taken", "refused", "not taken", "other"  # OTHER: it says that it is no operation, or nothing


@dataclass(frozen=True)
class Found:
    """What became of one file."""

    path: str
    kind: str  # the format, as a run names it
    operations: tuple[str, ...]  # that it is taken for
    claims: tuple[str, ...]  # operations that it says it is
    reason: str  # why something of it is not taken, "" if all is
    cannot_run: bool = False  # whether it needs what is missing here, such as a compiler or a package

    @property
    def verdict(self) -> str:
        if self.operations:
            return TAKEN
        return (REFUSED if self.cannot_run else NOT_TAKEN) if self.claims else OTHER


def main(argv: list[str]) -> int:
    """Print the table, and return 0, or 4 if there is no such folder."""
    parser = Parser("recognize", __doc__)
    parser.add_argument("folder", type=Path, metavar="DIR", help="a folder of files; those below it are found, too")
    parser.add_argument("--each", action="store_true", help="print a line for each file as well")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), metavar="N", help="how many files to load at once")
    options = parser.parse_args(argv)
    if not options.folder.is_dir():
        print(f"ERROR: spec-tests recognize: there is no folder {options.folder}", file=sys.stderr)
        return USAGE_ERROR
    if CONTEXT.get_start_method() == "forkserver":
        CONTEXT.set_forkserver_preload(list(PRELOADED))
    with ThreadPoolExecutor(options.workers) as pool:
        found = []
        for one in pool.map(_examine, _list_files(options.folder)):
            if one.kind:
                found.append(one)
            if one.kind and options.each:
                print(_describe(one), flush=True)
    print(_format_table(found))
    return 0


def _list_files(folder: Path) -> Iterator[Path]:
    """Yield the files and folders that may be of a known format, without importing any."""
    for path in sorted(folder.iterdir()):
        if path.is_symlink() or path.name in NEVER_LOADED:
            continue
        if path.is_dir() and find_opener(path) is None:
            yield from _list_files(path)
        elif path.is_dir() or find_opener(path) is not None or _may_have_kernels(path):
            yield path


def _may_have_kernels(path: Path) -> bool:
    """Whether a Python file defines a torch.nn module, or functions as an adapters file of CS336 has, or cannot be parsed."""
    if path.suffix != ".py":
        return False
    try:
        tree = parse_file(path)
    except (OSError, SyntaxError, ValueError, RecursionError):
        return True
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and any("Module" in ast.unparse(base) for base in node.bases):
            return True
        if isinstance(node, ast.FunctionDef) and node.name in ADAPTERS:
            return True
    return False


def _examine(path: Path) -> Found:
    """Load the file in a process of its own. Python that cannot be parsed is not loaded."""
    if path.suffix == ".py":
        try:
            parse_file(path)
        except SyntaxError as error:
            return Found(str(path), UNPARSED, (), (), f"{error.msg} in line {error.lineno}")
        except (OSError, ValueError, RecursionError) as error:
            return Found(str(path), UNPARSED, (), (), str(error))
    return _load_apart(path)


def _load_apart(path: Path) -> Found:
    """Load the file in a process of its own, which ends with it."""
    receiver, sender = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=_load_and_send, args=(path, sender), daemon=True)
    process.start()
    sender.close()
    reason = f"loading it took more than {SECONDS:g} s"
    try:
        if receiver.poll(SECONDS):
            given: dict[str, Any] = json.loads(receiver.recv_bytes())
            return Found(**given | {name: tuple(value) for name, value in given.items() if isinstance(value, list)})
    except (EOFError, OSError):
        reason = "its process ended"
    finally:
        process.kill()
        process.join()
    return Found(str(path), "no answer", (), list_claims(path), reason)


def _load_and_send(path: Path, sender: Connection) -> None:
    """Load the file without letting it print, and send what became of it."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    sender.send_bytes(json.dumps(asdict(_load(path))).encode())


def _load(path: Path) -> Found:
    """Return what a run would take the file for."""
    from ..implementation.lookup import BackendError, identify, resolve

    claims, text = list_claims(path), str(path)
    opener = find_opener(path)
    kind = opener.KIND if opener else ""
    try:
        source, _, _ = identify(resolve(text, Path.cwd()), text)
    except BackendError as error:
        cannot_run = isinstance(error.__cause__, CannotRun | ModuleNotFoundError)
        return Found(text, kind or "Python that is not imported", (), claims, str(error).partition(": ")[2], cannot_run)
    hints = (hint.partition("; write")[0] for hint in getattr(source, "absence_hints", {}).values())
    taken = getattr(source, "renamed_operations", ())
    if isinstance(source, Adapters):
        kind, taken = ADAPTERS_KIND, [name for name in operations() if callable(getattr(source, name, None))]
    return Found(text, getattr(source, "import_kind", kind), tuple(taken), claims, "; ".join(hints))


def _describe(found: Found) -> str:
    what = ", ".join(found.operations) or " ".join(found.reason.split())
    return f"{found.verdict:<10} {found.path}: {what}"


def _format_table(found: list[Found]) -> str:
    """Return the counts of each format. What says that it is an operation is recognized if it is taken."""
    by_kind = defaultdict[str, list[Found]](list)
    for one in found:
        by_kind[one.kind.partition(" (")[0]].append(one)
    width = max(map(len, [*by_kind, "format"]), default=0)
    columns = (TAKEN, REFUSED, NOT_TAKEN, OTHER)
    lines = [f"{'format':<{width}} {'files':>6} " + " ".join(f"{name:>10}" for name in columns)]
    for kind, files in sorted(by_kind.items()):
        counts = [sum(one.verdict == name for one in files) for name in columns]
        lines.append(f"{kind:<{width}} {len(files):>6} " + " ".join(f"{count:>10}" for count in counts))
    lines += [
        "",
        f"{TAKEN}: recognized as an operation; {REFUSED}: named like one, and it cannot run here; "
        f"{NOT_TAKEN}: named like one, and not recognized; {OTHER}: neither",
    ]
    return "\n".join(lines)
