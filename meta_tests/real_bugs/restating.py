"""Real bugs as code: each is the correct equation, changed by what its thread states and by nothing else."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from spec_tests.deviations import Deviation
from spec_tests.specification.formats import DTYPES

FOLDER = Path(__file__).parent / "restated"


@dataclass(frozen=True)
class RealBug:
    """One fault, which several threads may state."""

    links: tuple[str, ...]
    deviation: Deviation  # the fault as code. It is in no catalogue, so that no diagnosis knows it by this name
    names: tuple[str, ...] = ()  # of the catalogue's deviations, whose sentence describes the bug
    says: str = ""  # words of another sentence that describes the bug: what is computed, or exactly where it goes wrong

    @property
    def id(self) -> str:
        return f"{self.deviation.operation}/{self.deviation.function.__name__}"

    @property
    def what(self) -> str:
        return self.deviation.what


def restated(
    operation: str,
    *links: str,
    kind: str = "equation",
    dtypes: tuple[str, ...] = DTYPES,
    names: tuple[str, ...] = (),
    says: str = "",
) -> Callable[[Any], Any]:
    """Return the decorator of a function that is the fault of these threads, in the form of a deviation of this kind."""

    def decorate(function: Any) -> Any:
        function.real_bug = RealBug(links, Deviation(operation, function, kind, (), dtypes, links), names, says)
        return function

    return decorate


@cache
def list_real_bugs() -> dict[str, RealBug]:
    """Return the restated bugs by their id. A file in the folder registers its functions."""
    bugs = {}
    for path in sorted(FOLDER.glob("[!_]*.py")):
        module = importlib.import_module(f"{__package__}.restated.{path.stem}")
        found = [value.real_bug for value in vars(module).values() if hasattr(value, "real_bug")]
        bugs.update({bug.id: bug for bug in found})
    return bugs
