"""In what two runs differ besides the library: a difference between their verdicts may come from there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ..report import to_json_value
from ..report.backend_results import BackendResults

NONE = "not recorded"
DRAWN_ANEW = "drawn anew"

CIRCUMSTANCES: Mapping[str, Callable[[BackendResults], str]] = MappingProxyType(
    {
        "suite": lambda result: result.report.header.suite,
        "spec": lambda result: result.report.header.spec,
        "commit of the suite": lambda result: result.report.header.commit or NONE,
        "effort": lambda result: result.report.header.effort,
        "seed": lambda result: result.report.header.seed or DRAWN_ANEW,
        "seeds": lambda result: _join(result.report.header.seeds or ()) or "one",
        "shapes": lambda result: str(result.report.header.shapes or "no limit"),
        "dtypes": lambda result: _join(result.report.header.dtypes) or "all",
        "selection": lambda result: json.dumps(to_json_value(result.report.header.selection), sort_keys=True),
        "precision": lambda result: result.report.header.precision or "none",
        "isolation": lambda result: "one process" if result.name in result.report.shared else "a process of its own",
        "ranks": lambda result: str(result.report.header.world_size or "none given"),
        "device": lambda result: result.backend.device if result.backend else NONE,
        "machine": lambda result: f"{result.report.header.machine}, {result.report.header.platform}",
        "Python": lambda result: result.report.header.python,
        "libraries": lambda result: _join(f"{name} {version}" for name, version in result.report.header.libraries.items()),
        "ending": lambda result: "whole" if result.report.complete else result.report.ending,
    }
)


@dataclass(frozen=True)
class Circumstance:
    """Something that is not the same in both runs."""

    name: str
    before: str
    after: str


def find_circumstances(before: BackendResults, after: BackendResults) -> list[Circumstance]:
    """Return in what two runs differ. Two runs that draw their examples anew differ in them, too."""
    found = [Circumstance(name, describe(before), describe(after)) for name, describe in CIRCUMSTANCES.items()]
    return [each for each in found if each.before != each.after or (each.name, each.after) == ("seed", DRAWN_ANEW)]


def _join(values: Iterable[object]) -> str:
    return ", ".join(map(str, values))
