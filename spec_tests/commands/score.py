"""Print a score between 0 and 1 for one operation of a backend: `spec-tests score my_backend.py rms_norm`.

The backend runs in a process of its own (--isolate). A seed decides the examples. The score is computed from the report.
A backend that answers every example in the strictest precision class scores 1. A backend that fails a law scores at most 1/4.
The domain that the backend states is ignored. --domain states what the task asks for.
"""

from __future__ import annotations

import json
import os
import secrets
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from ..processes.confinement import hidden_from_others
from ..report import Report, ReportError, read_data
from ..report.score import Score, compute_score
from ..running.fresh_run import run_fresh
from ..running.names import validate_choices
from ..specification.registry import gradients, operations
from . import USAGE_ERROR
from ._parser import Parser


def score(
    backend: str,
    operation: str,
    *,
    domain: dict[str, Any] | None = None,
    dtype: Sequence[str] = (),
    effort: str = "default",
    seed: int | None = None,
    time_limit: float | None = None,
    causes: bool = True,
) -> Score:
    """Return the score of one operation of a backend. It runs in a process of its own.

    `backend` is a text that --backend takes. `domain` is what the task asks of the operation, such as {"d": [64, 128]}; without
    it everything is drawn, whatever the backend states. `dtype` names the dtypes of the task. A dtype that the backend lacks
    counts as unanswered. If `seed` is None, a seed is drawn. The same seed gives the same score. `time_limit` is the seconds
    that one call may take. If `causes` is false, the causes of failures are not looked for, which takes less time; the value is
    the same. Raise ValueError if the suite cannot run with these arguments.
    """
    seed = secrets.randbits(64) if seed is None else seed
    options = [
        *(f"--spec-dtype={name}" for name in dtype),
        *([] if time_limit is None else [f"--spec-time-limit={time_limit}"]),
        *([] if causes else ["--spec-no-causes"]),
    ]
    try:
        report, status = judge([backend], operation, domain or {}, effort, seed, *options)
    except ReportError as error:
        return Score(reason=f"the run left no report: {error}", operation=operation, effort=effort, seed=seed)
    found = compute_score(report, operation, dtype, seed, status)
    return found if causes else replace(found, causes=None)


def judge(
    backends: Sequence[str], operation: str, domain: dict[str, Any], effort: str, seed: int, *options: str
) -> tuple[Report, int]:
    """Return the report of a run that grades backends, each in a process of its own, and the exit status of the run."""
    try:
        validate_choices("operation", [operation], (*operations(), *gradients()))
    except pytest.UsageError as error:
        raise ValueError(str(error).removeprefix("--")) from None
    asked = {operation.removesuffix("_vjp"): domain} if domain else {}  # a gradient has its operation's
    with hidden_from_others(), open_unnamed_file() as file:
        ended = run_fresh(
            *(f"--spec-backend={backend}" for backend in backends),
            *(f"--spec-operation={operation}", f"--spec-require={operation}", f"--spec-effort={effort}"),
            *("--spec-isolate=strict", "--spec-skill", f"--spec-domain={json.dumps(asked)}"),
            *options,
            *("--hypothesis-seed", str(seed)),
            report=file,
        )
        if ended.returncode == USAGE_ERROR:
            errors = [line for line in ended.stderr.splitlines() if line.startswith("ERROR: ")]
            raise ValueError(errors[-1].removeprefix("ERROR: ") if errors else ended.stderr.strip()[-500:])
        file.seek(0)
        return read_data(file.read(), Path("report")), ended.returncode


def open_unnamed_file() -> BinaryIO:
    """Return a file that has no name, for a run to write its report into."""
    if hasattr(os, "memfd_create"):
        return open(os.memfd_create("report"), "w+b")
    return tempfile.TemporaryFile()


def main(argv: list[str]) -> int:
    """Print the score, and return the exit status: 0, or 4 if the suite cannot run with these options."""
    parser = Parser("score", __doc__)
    parser.add_argument(
        "backend", metavar="BACKEND", help="a name, module or .py file, with or without :attribute; or process:COMMAND"
    )
    parser.add_argument("operation", metavar="OPERATION", help="an operation, or a gradient such as softmax_vjp")
    parser.add_argument("--domain", metavar="JSON", help='what the task asks for, such as {"d": [64, 128]} (default: everything)')
    parser.add_argument("--dtype", action="append", default=[], metavar="DTYPE", help="a dtype of the task; may be repeated")
    parser.add_argument("--effort", default="default", metavar="EFFORT", help="smoke, default or thorough (default: default)")
    parser.add_argument("--seed", type=int, metavar="N", help="the seed of the examples (default: a random one)")
    parser.add_argument("--time-limit", type=float, metavar="SECONDS", help="the seconds that one call may take")
    parser.add_argument(
        "--no-causes", dest="causes", action="store_false", help="do not look for the causes of failures; the value is the same"
    )
    parser.add_argument("--json", action="store_true", help="print the score and its parts as JSON")
    options = parser.parse_args(argv)
    try:
        domain = None if options.domain is None else json.loads(options.domain)
    except ValueError as error:
        parser.error(f"--domain={options.domain} is no JSON: {error}")
    try:
        found = score(
            options.backend,
            options.operation,
            domain=domain,
            dtype=options.dtype,
            effort=options.effort,
            seed=options.seed,
            time_limit=options.time_limit,
            causes=options.causes,
        )
    except ValueError as error:
        parser.error(str(error))
    print(json.dumps(found.as_dict(), indent=2) if options.json else format_score(found))
    return 0


def format_score(found: Score) -> str:
    """Return the score and its parts as lines of text."""
    parts = {"skill": found.skill, "laws": found.laws, "coverage": found.coverage, "precision": found.precision}
    shares = ", ".join(f"{name} {share:.3f}" for name, share in parts.items())
    lines = [
        f"{found.value:.3f}  {found.operation}",
        f"  {shares}, causes {'not looked for' if found.causes is None else len(found.causes)}",
        *(f"  {number}. {cause}" for number, cause in enumerate(found.causes or [], 1)),
        *([f"  0 because {found.reason}"] if found.reason else []),
        *([f"  the kernel's process had: {found.confinement}"] if found.confinement else []),
        f"  effort {found.effort}, seed {found.seed}",
    ]
    return "\n".join(lines)
