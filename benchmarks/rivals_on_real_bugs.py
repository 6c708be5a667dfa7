"""Compare this suite with other test suites on the sample of real bugs, and on correct code in other styles.

python -m benchmarks.rivals_on_real_bugs [--only kernelbench …] [--styles 20] [--write DIR]
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial, wraps
from pathlib import Path
from typing import Any

import numpy as np

from meta_tests.measure.false_alarms import CORRECT_FILES, FALSE_ALARMS_JSON, list_styles
from meta_tests.real_bugs.restating import list_real_bugs
from meta_tests.support.in_process import backend
from spec_tests.deviations import OracleBackend
from spec_tests.implementation.backend import Backend, build_backend
from spec_tests.specification.pytree import tree_map
from spec_tests.specification.registry import operations

from . import rivals
from .against_rivals import EFFORTS, find_installed
from .cpu_time import format_table, publish, use_one_core
from .ourselves import find_first_failure
from .wrong_implementations import WrongImplementation

HEADERS = ("judge", "bugs that\nit can see", "detected", "of all", "CPU s", "correct styles\nit calls", "false alarms")


@dataclass(frozen=True)
class Row:
    """What one judge made of the bugs and of the correct code."""

    judge: str
    applicable: int
    detected: int
    bugs: int
    cpu_seconds: float
    styles: int
    alarms: int

    def format(self) -> list[Any]:
        share = f"{self.detected / self.bugs:.0%}"
        return [self.judge, self.applicable, self.detected, share, f"{self.cpu_seconds:.1f}", self.styles, self.alarms]


def list_wrong() -> list[WrongImplementation]:
    """Return the restated bugs of the sample, each in an otherwise correct backend."""
    deviations = {bug.id: bug.deviation for bug in list_real_bugs().values()}
    return [
        WrongImplementation(name, "thread", (deviation.operation,), deviation.dtypes, partial(OracleBackend, deviation))
        for name, deviation in deviations.items()
    ]


class NumpyFront:
    """A correct style of any framework, called with NumPy arrays as the rivals' cases call."""

    framework = "numpy"

    def __init__(self, style: Backend):
        self.style, self.name, self.dtypes, self.domain = style, style.name, style.dtypes, style.domain
        for name in operations():
            if style.function(name) is not None:
                setattr(self, name, self._make(name))

    def _make(self, name: str) -> Callable[..., Any]:
        framework, function = self.style.framework, self.style.function(name)

        @wraps(function)  # whose signature says which options it takes
        def call(*arguments: Any, **keywords: Any) -> Any:
            if not takes(function, arguments, keywords):
                raise NotImplementedError(f"{name} has no such option")
            dtypes = [x.dtype for x in arguments if isinstance(x, np.ndarray) and x.dtype.name in self.dtypes]

            def convert(x: Any) -> Any:
                return framework.native(x, x.dtype.name) if isinstance(x, np.ndarray) else x

            answer = function(*tree_map(convert, list(arguments)), **tree_map(convert, keywords))
            return framework.numpy(answer).astype(dtypes[0] if dtypes else np.float64)

        return call


def takes(function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> bool:
    """Whether the function's signature has a place for each of the arguments."""
    try:
        inspect.signature(function).bind(*arguments, **keywords)
    except TypeError:
        return False
    return True


def judge_styles(passes: Callable[[Backend, str], bool], names: set[str], count: int) -> tuple[int, int]:
    """Return how many correct styles the judge calls, and how many of them it rejects."""
    styles = [style for path in CORRECT_FILES for style in list_styles(path)]
    called = alarms = 0
    for text in styles[:: max(1, len(styles) // count)]:
        front = build_backend(NumpyFront(backend(text)), set(operations()))
        own = [name for name in names if front.function(name) is not None]
        called += bool(own)
        alarms += not all(passes(front, name) for name in own)
    return called, alarms


def try_rival(name: str, count: int) -> Row:
    module: Any = importlib.import_module(f"benchmarks.rivals.{name}")
    judge, wrongs = rivals.load_rival(name).build_judge(), list_wrong()
    start, applicable, detected = time.process_time(), 0, 0
    for wrong in wrongs:
        if called := judge.select_operations(wrong.operations, wrong.dtypes):
            applicable += 1
            detected += not all(judge.passes(wrong.backend(), operation) for operation in called)
    seconds = time.process_time() - start
    styles, alarms = judge_styles(judge.passes, set(judge.calls), count)
    return Row(module.TITLE, applicable, detected, len(wrongs), round(seconds, 1), styles, alarms)


def try_ourselves(effort: str) -> Row:
    """Return the row of this suite. `meta_tests.measure.false_alarms` has counted its false alarms, on all styles."""
    start, wrongs = time.process_time(), list_wrong()
    detected = sum(bool(find_first_failure(wrong, effort)[0]) for wrong in wrongs)
    styles = sum(len(list_styles(path)) for path in CORRECT_FILES)
    seconds = round(time.process_time() - start, 1)
    counted = json.loads(FALSE_ALARMS_JSON.read_text())
    alarms = sum(operation["alarms"] for run in counted.values() for operation in run.values())
    return Row(f"this suite, {effort} effort", len(wrongs), detected, len(wrongs), seconds, styles, alarms)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=rivals.list_rivals(), choices=rivals.list_rivals())
    parser.add_argument("--styles", type=int, default=20, help="about so many correct styles for each rival")
    parser.add_argument("--write", type=Path, help="a folder for the table and its data")
    options = parser.parse_args(argv)
    use_one_core()
    rows = [try_ourselves(effort) for effort in EFFORTS]
    rows += [try_rival(name, options.styles) for name in find_installed(options.only)]
    title = f"{len(list_wrong())} real bugs that others wrote down, and correct code in other styles"
    text = format_table(title, HEADERS, (row.format() for row in rows), disable_numparse=True)
    publish("rivals_on_real_bugs", text, {"judges": list(map(asdict, rows))}, options.write)


if __name__ == "__main__":
    main()
