"""The source files that decide what a figure says, in four parts, and the hash of the code of each part."""

from __future__ import annotations

import ast
import hashlib
import subprocess
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from .paths import ROOT

PARTS = {
    "operations": ("reference_numpy/*", "spec_tests/operations/*", "spec_tests/inputs/*", "spec_tests/specification/*"),
    "laws": ("spec_tests/test_*.py", "spec_tests/helpers/*", "spec_tests/trials/*"),
    "bounds": ("spec_tests/bounds/*", "spec_tests/calls/*"),
    "causes": ("spec_tests/deviations/*", "spec_tests/diagnosis/*"),
}


def is_of(part: str, name: str) -> bool:
    """Whether a file, by its path in the repository, is a source of the part."""
    return name.endswith(".py") and any(fnmatchcase(name, pattern) for pattern in PARTS[part])


def list_sources() -> Iterator[Path]:
    """Yield the files of all parts: they decide what is drawn, what passes and what is named."""
    for package in ("spec_tests", "reference_numpy"):
        for path in sorted((ROOT / package).rglob("*.py")):
            if any(is_of(part, path.relative_to(ROOT).as_posix()) for part in PARTS):
                yield path


def hash_parts(texts: dict[str, str]) -> dict[str, str]:
    """Return the hash of each part, from the texts of files by their paths in the repository."""
    return {part: _hash_code((name, text) for name, text in sorted(texts.items()) if is_of(part, name)) for part in PARTS}


@cache
def hash_parts_of_today() -> dict[str, str]:
    return hash_parts({path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in list_sources()})


@cache
def hash_parts_of_commit(commit: str) -> dict[str, str]:
    """Return the hash of each part as it was in a commit."""
    names = ask_git("ls-tree", "-r", "--name-only", commit, "--", "spec_tests", "reference_numpy").splitlines()
    wanted = [name for name in names if any(is_of(part, name) for part in PARTS)]
    asked = "".join(f"{commit}:{name}\n" for name in wanted).encode()
    answer = subprocess.run(["git", "cat-file", "--batch"], cwd=ROOT, input=asked, capture_output=True, check=True).stdout
    texts = {}
    for name in wanted:
        header, _, answer = answer.partition(b"\n")
        size = int(header.split()[-1])
        texts[name], answer = answer[:size].decode(), answer[size + 1 :]
    return hash_parts(texts)


def ask_git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def _hash_code(files: Iterable[tuple[str, str]]) -> str:
    """Return a hash of the code of files. Comments, docstrings and the layout are not part of it."""
    together = hashlib.sha256()
    for name, text in files:
        together.update(f"{name}\n{' '.join(_flatten(_leave_out_docstrings(ast.parse(text))))}\n".encode())
    return together.hexdigest()[:12]


def _leave_out_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(node):
            node.body = node.body[1:]
    return tree


def _flatten(value: Any) -> Iterator[str]:
    """Yield what a syntax tree consists of. Empty fields are left out, since each version of Python has others."""
    if isinstance(value, ast.AST):
        yield type(value).__name__
        for name, inner in ast.iter_fields(value):
            if inner not in (None, []):
                yield name
                yield from _flatten(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _flatten(inner)
    else:
        yield repr(value)
