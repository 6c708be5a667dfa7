"""Measure which share of machine-made mutants of operations on numbers in few bits the suite catches.

The mutants are those of the NumPy and PyTorch functions for numbers in few bits, made by `benchmarks/mutation.py`.
A mutant counts if an answer of it lies outside the error bound on the exhaustive grid of meta_tests/support/few_bits_grid.py.
Those that only raise there are counted apart. The laws that involve the changed operations are tried on it until one fails.

python -m meta_tests.measure.mutants_of_few_bits [--count 400] [--seed 1] [--effort default] [--workers 2] [--write FILE [--new]]

--write adds each row to FILE as soon as it is computed, and the summary to a text file beside it. --new leaves out mutants that
have a row there.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import random
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch

from benchmarks.mutation import Mutation, list_mutations
from benchmarks.ourselves import find_first_failure
from benchmarks.wrong_implementations import WrongImplementation
from spec_tests.calls.operation import Operation
from spec_tests.calls.result import Result
from spec_tests.calls.violation import NotImplementedVariant, Violation
from spec_tests.helpers.assertions import assert_conforms
from spec_tests.implementation.backend import build_backend
from spec_tests.inputs import effort
from spec_tests.specification.registry import operations, specification
from spec_tests.trials.trial import Trial

from ..support.few_bits_grid import OPERATIONS, list_calls
from ..support.kept_rows import compute_rows
from ..support.paths import ROOT

SOURCES = {"_numpy_formats": "backends.numpy_cpu", "_torch_formats": "backends.torch_cpu"}  # the functions, and their backend
LEAVES, RAISES, INSIDE = "leaves the bound", "raises", "inside the bound"
Row = dict[str, Any]


@cache
def list_mutants() -> dict[str, tuple[str, Mutation]]:
    """Return the mutations of both files by their ids, each with the name of its file."""
    found = ((name, list_mutations(ROOT / "backends" / f"{name}.py", f"backends/{name}.py")) for name in SOURCES)
    return {mutation.id: (name, mutation) for name, mutations in found for mutation in mutations}


@cache
def find_users(name: str) -> dict[str, tuple[str, ...]]:
    """Map each function of a file to the operations that call it, directly or not."""
    tree = ast.parse((ROOT / "backends" / f"{name}.py").read_text(encoding="utf-8"))
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    calls = {
        key: {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and part.id in functions} | {key}
        for key, node in functions.items()
    }
    for _ in functions:  # enough rounds for the longest chain of calls
        calls = {key: set[str]().union(*(calls[called] for called in callees)) for key, callees in calls.items()}
    return {key: tuple(operation for operation in OPERATIONS if key in calls[operation]) for key in functions}


def make_mutant(name: str, mutation: Mutation) -> WrongImplementation:
    """Return the backend of a file in which the changed function replaces the original one, in all operations of the file."""
    right = importlib.import_module(SOURCES[name])

    def source() -> ModuleType:
        path, module = ROOT / "backends" / f"{name}.py", ModuleType(right.__name__)
        module.__dict__.update({key: value for key, value in vars(right).items() if not key.startswith("__")})
        module.__package__, module.__file__ = "backends", mutation.file
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), module.__dict__)
        exec(compile(mutation.changed, mutation.file, "exec"), module.__dict__)
        return module

    dtypes = getattr(right, "dtypes", ("float32", "bfloat16", "float16"))
    return WrongImplementation(mutation.id, "backend", find_users(name)[mutation.function], dtypes, source)


def list_dtypes(operation: str, offered: tuple[str, ...]) -> tuple[str, ...]:
    """Return the dtypes in which an operation is tried on a backend."""
    spec = specification(operation)
    return (spec.dtype,) if spec.dtype else tuple(dtype for dtype in spec.declaration.dtypes if dtype in offered)


@cache
def list_right_answers(name: str, operation: str, dtype: str) -> list[Any]:
    """Return the bits of the correct backend's answers to the calls of the grid."""
    right = Trial(build_backend(importlib.import_module(SOURCES[name]), set(operations())), dtype).operation(operation)
    return [read_bits(right.run(right.call(*given, **keywords))) for given, keywords in list_calls(operation, dtype)]


def read_bits(answer: Any) -> list[tuple[str, tuple[int, ...], bytes]]:
    """Return the dtypes, shapes and bytes of the arrays of an answer."""
    found = []
    for x in answer if isinstance(answer, tuple | list) else (answer,):
        y = x if isinstance(x, np.ndarray) else x.contiguous().view(torch.uint8).numpy()
        found.append((str(x.dtype), tuple(x.shape), y.tobytes()))
    return found


def judge_on_grid(name: str, mutant: WrongImplementation) -> str:
    """Return whether an answer of a mutant leaves the bound on the grid, or it raises there, or neither."""
    backend, raises = mutant.backend(), False
    for operation_name in mutant.operations:
        for dtype in list_dtypes(operation_name, mutant.dtypes):
            operation = Trial(backend, dtype).operation(operation_name)
            answers = list_right_answers(name, operation_name, dtype)
            for (given, keywords), right in zip(list_calls(operation_name, dtype), answers, strict=True):
                try:
                    outcome = judge_call(operation, given, keywords, right)
                except NotImplementedVariant:
                    outcome = RAISES
                if outcome == LEAVES:
                    return LEAVES
                raises |= outcome == RAISES
    return RAISES if raises else INSIDE


def judge_call(operation: Operation, given: tuple[Any, ...], keywords: dict[str, Any], right: Any) -> str:
    """Return what an operation makes of one call. `right` are the bits of a correct answer."""
    call = operation.call(*given, **keywords)
    operation.recorder.calls.clear()
    try:
        answer = operation.run(call)
    except Violation:
        return RAISES
    try:
        if read_bits(answer) == right:
            return INSIDE
    except (AttributeError, KeyError, RuntimeError):
        return LEAVES  # it returned something else than arrays
    try:
        assert_conforms(Result(operation.values(call, answer), call))
    except Violation:
        return LEAVES
    return INSIDE


def examine(job: tuple[str, str, int]) -> Row:
    """Judge a mutant on the grid and, if it leaves the bound there, try the suite on it."""
    key, effort_name, seed = job
    torch.set_num_threads(1)
    name, mutation = list_mutants()[key]
    mutant, start = make_mutant(name, mutation), time.process_time()
    row: Row = {
        "id": key,
        "operations": list(mutant.operations),
        "grid": judge_on_grid(name, mutant),
        "caught": "",
        "examples": 0,
    }
    if row["grid"] == LEAVES:
        row["caught"], row["examples"] = find_first_failure(mutant, effort_name, seed)
    return {**row, "seconds": round(time.process_time() - start, 1)}


def summarize(rows: list[Row]) -> Iterator[str]:
    leaving = [row for row in rows if row["grid"] == LEAVES]
    caught = [row for row in leaving if row["caught"]]
    raising, inside = (sum(row["grid"] == kind for row in rows) for kind in (RAISES, INSIDE))
    yield f"{len(rows)} mutants: {len(leaving)} leave the bound on the grid, {raising} only raise, {inside} stay inside it"
    if leaving:
        yield f"{len(caught)} of {len(leaving)} that leave the bound are caught: {len(caught) / len(leaving):.1%}"
    yield from (f"survives: {row['id']} ({', '.join(row['operations'])})" for row in leaving if not row["caught"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=400, help="of mutants")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--effort", default="default", choices=tuple(effort.EFFORTS))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--write", type=Path, help="a JSON file for the rows")
    parser.add_argument("--new", action="store_true", help="only what has no row in that file")
    parser.add_argument("--again", nargs="*", default=(), help="ids of mutants whose rows are computed again")
    options = parser.parse_args()
    chosen = random.Random(options.seed).sample(list(list_mutants()), min(options.count, len(list_mutants())))
    rows: dict[str, Row] = {}
    if options.write and options.write.exists() and options.new:
        rows = {row["id"]: row for row in json.loads(options.write.read_text(encoding="utf-8"))}
    jobs = {key: (key, options.effort, options.seed) for key in chosen if key not in rows or key in options.again}
    for row in compute_rows(f"mutants_of_few_bits {options.effort}", jobs, examine, options.workers):
        rows[row["id"]] = row
        if options.write:
            text = ",\n".join(json.dumps(row, ensure_ascii=False) for _, row in sorted(rows.items()))
            options.write.write_text(f"[\n{text}\n]\n", encoding="utf-8")
    summary = "\n".join(summarize(list(rows.values())))
    print(summary)
    if options.write:
        options.write.with_suffix(".txt").write_text(summary + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
