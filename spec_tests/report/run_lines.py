"""What a report says of a run besides its verdicts: its header, the backends, errors that are none of a law, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from .cut import Cut
from .form import LEFT_OUT, Count, Name, OneOf, Pattern, Range, Sha256

SCHEMA = 1  # version of report.jsonl, described in schema.json; raised when a reader of the old version would go wrong
STATUSES = ("passed", "failed", "skipped", "not held", "error")


@dataclass(frozen=True, kw_only=True)
class Header:
    """The options of a run, the versions, and the machine."""

    schema: Annotated[int, OneOf(SCHEMA)]
    suite: Annotated[str, "version of spec_tests"]
    spec: Annotated[str, "version of the equations and invariants"]
    commit: Annotated[str, "of the suite; a plus behind it says that the checkout had other changes; absent if none is known"] = (
        field(default="", metadata=LEFT_OUT)
    )
    started: Annotated[str, Pattern(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$")]
    command: tuple[str, ...]
    backends: Annotated[tuple[str, ...], "as --backend names them"]
    dtypes: Annotated[tuple[str, ...], "as --dtype restricts them; all if empty"]
    precision: str | None
    effort: Annotated[str, OneOf("smoke", "default", "thorough")]
    shapes: Annotated[Annotated[int, Range(1)] | None, "of each operation, at most; null: no limit"] = None
    required: tuple[str, ...]
    required_levels: tuple[str, ...]
    isolate: Annotated[bool, "each backend ran in a process of its own"] = False
    world_size: Annotated[int | None, "the number of ranks that --world-size gives"] = None
    known: Annotated[dict[str, Any], "the files of what is known to be failing, or flaky"] = field(default_factory=dict)
    selection: Annotated[dict[str, Any], "-k, -m and the like: what was left out on purpose"]
    seed: Annotated[str | None, "null: drawn anew"]
    seeds: Annotated[tuple[Count, Count] | None, "the first and the last of --seeds; null: the seed alone"] = None
    items: Annotated[
        Annotated[int, Range(1)] | None, "how many reports of a campaign this report adds up; absent if a run wrote it"
    ] = field(default=None, metadata=LEFT_OUT)
    python: str
    platform: str
    machine: str
    libraries: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class Framework:
    """The framework of a backend."""

    name: str
    version: str


@dataclass(frozen=True, kw_only=True)
class StatedBackend:
    """What a backend is made of, and what it states."""

    name: str
    text: Annotated[str, "what --backend= was given"]
    version: str
    file: Annotated[str | None, "the file that defines it"]
    sha256: Sha256 | None
    imports: Annotated[dict[str, Sha256] | None, "the files of its project that its file imports, each with its SHA-256"] = field(
        default=None, metadata=LEFT_OUT
    )
    framework: Framework
    device: str
    device_facts: Annotated[
        tuple[str, ...], "what the device is, and which settings of the framework decide how precisely it computes"
    ] = field(default=(), metadata=LEFT_OUT)
    isolated: Annotated[bool, "it ran in a process of its own, as servers and ranks do without --isolate too"] = field(
        default=False, metadata=LEFT_OUT
    )
    confinement: Annotated[
        str, "with --isolate=strict: what keeps its process from others, and what the system does not allow"
    ] = field(default="", metadata=LEFT_OUT)
    dtypes: tuple[str, ...]
    operations: tuple[str, ...]
    gradients: tuple[str, ...]
    domain: Annotated[dict[str, str], "restrictions by operation, in words"]
    conventions: Annotated[
        dict[str, str], "the conventions that the backend states; values that differ between operations are listed with them"
    ]


@dataclass(frozen=True, kw_only=True)
class RunError:
    """No verdict: a worker that died, a test that could not be collected, a defect of the suite."""

    node: str
    when: str
    message: str


@dataclass(frozen=True, kw_only=True)
class Totals:
    """How many verdicts there are of each status, and how many errors."""

    passed: Count
    failed: Count
    skipped: Count
    not_held: Annotated[int, Range(0), Name("not held")]
    error: Count

    @classmethod
    def of(cls, counts: Mapping[str, int]) -> Totals:
        """Return the totals of verdicts and errors that are counted by their status."""
        passed, failed, skipped, not_held, error = (counts.get(name, 0) for name in STATUSES)
        return cls(passed=passed, failed=failed, skipped=skipped, not_held=not_held, error=error)


@dataclass(frozen=True, kw_only=True)
class Footer:
    """How the run ended: the last line of its report."""

    cuts: Annotated[dict[str, Cut] | None, "by backend: how a run was cut that did not try all of its laws"] = field(
        default=None, metadata=LEFT_OUT
    )
    complete: Annotated[bool, "every selected law was tried, or declined by the suite; else the report claims no conformance"]
    reason: Annotated[
        str,
        OneOf("finished", "stopped", "a worker died", "interrupted", "internal error", "items are missing"),
        "the last one: of a merged report whose campaign is not finished",
    ]
    exit_status: Count
    selected: Count
    totals: Totals
    stale: Annotated[int, Range(0), "entries of known failures that hold now; their verdicts are among those that passed"] = 0
    examples: Count
    seconds: float
    cpu_seconds: Annotated[
        float | None,
        "of a merged report: of all processes of all tries of its items; absent if they were not measured",
    ] = field(default=None, metadata=LEFT_OUT)
    retries: Annotated[tuple[str, ...], "of a merged report: the items that were tried more than once, and why"] = field(
        default=(), metadata=LEFT_OUT
    )
    sha256: Annotated[str, "of all bytes before the footer"] = field(default="", metadata=LEFT_OUT)
