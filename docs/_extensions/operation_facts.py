"""What the code and the measured files say of an operation: its laws, its deviations, which law catches which, who conforms."""

from __future__ import annotations

import inspect
import json
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from spec_tests.deviations import Deviation, deviations_of
from spec_tests.specification.registry import gradients, specification
from spec_tests.trials.collection import invariants
from spec_tests.trials.invariant import Invariant, laws_about

MEASURED = Path(__file__).parent.parent / "measured"
MATRIX = MEASURED / "kill_matrix.json"
SHARED_FAULTS = "every_operation"  # how the names of the files with faults of every operation begin

Kills = dict[str, list[str]]  # invariant: the deviations that it catches


@cache
def list_laws(operation: str) -> tuple[Invariant, ...]:
    """Return the invariants of the operation's own file, then those of every operation."""
    laws = laws_about(operation, (test.invariant for test in invariants()))
    return tuple(sorted(laws, key=lambda law: law.is_general))


def list_general_laws(module: str) -> list[Invariant]:
    """Return the invariants of every operation, or of every gradient, that stand in a file."""
    return [law for test in invariants() if (law := test.invariant).is_general and law.module == module]


@cache
def split_deviations(operation: str) -> tuple[tuple[Deviation, ...], tuple[Deviation, ...]]:
    """Return the operation's own deviations, and the faults that it shares with every operation."""
    found = deviations_of(operation)
    shared = tuple(bug for bug in found if bug.function.__module__.rpartition(".")[2].startswith(SHARED_FAULTS))
    return tuple(bug for bug in found if bug not in shared), shared


def find_most_reported(operation: str) -> Deviation | None:
    """Return the deviation with the most public threads about it, an own one before a shared one; None if no thread is known."""
    special, shared = split_deviations(operation)
    return max((bug for bug in (*special, *shared) if bug.seen), key=lambda bug: len(bug.seen), default=None)


def first_sentence(operation: str) -> str:
    """Return the first line of the reference's docstring as a sentence, without the part that introduces the equation."""
    first = inspect.cleandoc(specification(operation).reference.__doc__ or "").partition("\n")[0]
    return first if first.endswith(".") else f"{first.partition(':')[0]}."


# --- the measured files -----------------------------------------------------------------------------------------------


@cache
def read_matrix() -> dict[str, dict[str, int]]:
    """Return, for each deviation, the invariants that caught it and the examples they needed in the dtype that needs most."""
    if not MATRIX.exists():
        return {}
    rows = json.loads(MATRIX.read_text())
    return {
        row["id"]: {law: max(by_dtype.values()) for law, by_dtype in (row["caught"] | row.get("levels", {})).items()}
        for row in rows
    }


def list_catchers(deviation: Deviation) -> list[str]:
    """Return the invariants that catch a deviation: those measured, and those that it names."""
    return sorted({*read_matrix().get(deviation.id, ()), *deviation.caught_by})


def list_kills(operation: str) -> Kills:
    """Return the deviations that each invariant catches."""
    found: Kills = defaultdict(list)
    for deviation in deviations_of(operation):
        for law in list_catchers(deviation):
            found[law].append(deviation.id)
    return found


@dataclass(frozen=True)
class Reached:
    """What the backends that ship reached with an operation, with the versions that were measured."""

    conforming: dict[str, list[str]]  # backend: the dtypes that conform, of those that deviate in none
    deviating: dict[str, dict[str, list[str]]]  # backend: the broken invariants by dtype
    without: list[str]  # the backends that do not have the operation


def read_reached(operation: str) -> Reached:
    """Return what the measured results say of an operation."""
    conforming: dict[str, list[str]] = {}
    deviating: dict[str, dict[str, list[str]]] = {}
    without: list[str] = []
    for backend, entry in sorted(_read_results(operation in gradients()).items()):
        cells = {dtype: cell for dtype, cell in entry.get("cells", {}).get(operation, {}).items() if cell}
        if broken := {dtype: cell["broken"] for dtype, cell in cells.items() if cell["broken"]}:
            deviating[backend] = broken
        elif claimed := [dtype for dtype, cell in cells.items() if cell["class"]]:
            conforming[backend] = claimed
        else:
            without.append(backend)
    return Reached(conforming, deviating, without)


@cache
def _read_results(of_gradients: bool) -> dict[str, Any]:
    text = (MEASURED / ("gradients.json" if of_gradients else "conformance.json")).read_text(encoding="utf-8")
    return {name: entry for name, entry in json.loads(text).items() if "cells" in entry}
