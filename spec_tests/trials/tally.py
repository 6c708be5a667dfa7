"""The tally of a trial: how many examples ran, what the backend refused, and how much of the error bound it used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..bounds.bounded import Bounded
from ..calls.call import Call
from ..calls.violation import Lost, Violation
from ..specification.pytree import leaves
from ..specification.work import Budget, IsOver, never
from .coverage import Coverage
from .shares import STRICTNESS, Shares, compare_parts
from .skill import Skill

if TYPE_CHECKING:
    from ..calls.result import Result
    from .cause import Cause
    from .failure import Failure
    from .written_script import WrittenScript


def summarize_example(result: Result, share: np.ndarray, precision: str) -> dict[str, Any]:
    """Describe the element of a result that uses the largest share of the error bound, for the report."""
    call, expectation = result.call, result.call.expectation(precision)
    at = np.unravel_index(int(np.argmax(share)), share.shape)
    return {
        "share": float(share[at]),
        "arguments": {
            f"{name}{path}": _describe_argument(x)
            for name, value in call.named.items()
            if name != "wrt"
            for path, x in leaves(value)
        },
        "at": call.operation.place(call, at),
        "expected": float(expectation.value[at]),
        "got": float(result.value[at]),
        "bound": float(expectation.radius[at]),
    }


def _describe_argument(x: Any) -> Any:
    """Return a plain value, or the shape of an array and the range of its magnitudes."""
    x = x.value if isinstance(x, Bounded) else x
    if not isinstance(x, np.ndarray):
        return x.item() if isinstance(x, np.generic) else x
    summary: dict[str, Any] = {"shape": list(x.shape)}
    if x.dtype.kind == "f":
        sizes = np.abs(x[np.isfinite(x) & (x != 0)])
        summary |= {"least": float(sizes.min()), "largest": float(sizes.max())} if sizes.size else {}
        summary |= {"not finite": int(np.sum(~np.isfinite(x)))} if not np.all(np.isfinite(x)) else {}
    return summary


REFUSED_PREFIX = "not implemented in any variant tried: "

RESULTS_PER_SHARE = 8  # the report's shares come from the first result, one in so many after it, and those near their bounds

NOT_CALLED = "no example that was drawn calls the backend"


@dataclass
class Finding:
    """A cause that made examples of a trial fail."""

    cause: Cause
    failure: Failure  # the first of these examples; shrunk if the cause is new
    is_new: bool  # whether it was found in this trial
    examples: int = 1  # how many examples failed
    is_tolerated: bool = False  # whether a file of known failures lists its explanation


@dataclass
class Tally:
    """What the examples showed; reported whether or not they passed."""

    examples: int = 0  # in which the backend answered
    refusals: list[str] = field(default_factory=list)  # reasons why other examples could not be tried
    coverage: Coverage = field(default_factory=Coverage)  # what the examples were, until one fails
    planned: int = 0  # examples, of which fewer are drawn if one ends the process or takes too long
    skill: Skill = field(default_factory=Skill)  # in comparisons with the oracle, if the run measures it
    shares: Shares = field(default_factory=Shares)  # of the error bound, in each comparison
    results: dict[str, Shares] = field(default_factory=dict)  # those of each array, where an answer has several
    worst: dict[str, Any] = field(default_factory=dict)  # where the largest of all shares was used
    comparisons: int = 0  # of results with the oracle
    elements: int = 0  # of the results whose whole bound was derived
    conventions: dict[str, Counter[str]] = field(default_factory=dict)  # by name: how many answers fit which value
    unclaimed: int = 0  # elements among them about which the bound claims nothing
    failing: set[str] = field(default_factory=set)  # the recorder's `states` in the failing example and its failing variants
    shrinking: bool = False  # whether the examples are variants of a failing one
    shrunk_cause: Cause | None = None  # whose example these are variants of, if it is known
    surveys: bool = False  # whether examples are drawn without a call of the backend, to see how large they are
    least_severity: int = 0  # of the violations among these variants that count as failures
    is_spent: IsOver = never  # whether no more of these variants may be tried
    failure: Failure | None = None  # the last failing example
    findings: list[Finding] = field(default_factory=list)  # one for each cause that made examples fail
    losses: dict[str, Lost] = field(default_factory=dict)  # by the recorder's state: raised again instead of a second call
    recorded_count: int = 0  # how many calls of this trial the backend's records keep
    scripts: list[WrittenScript] = field(default_factory=list)  # that were written for its failures
    cut: str = ""  # what kept the examples from being tried to their end, "" if they were
    level_lost: str = ""  # what was violated, if the invariant is of a level that the run does not demand
    tolerated: Violation | None = None  # a violation that the file of known failures lists
    known: str = ""  # how that file lists it: "failing" or "flaky"
    stale: str = ""  # the place of an entry that lists the invariant as failing, if it holds now

    @property
    def findings_in_order(self) -> list[Finding]:
        """Return the findings, that which the trial fails with first: a new cause, or else a known one."""
        return sorted(self.findings, key=lambda finding: (finding.is_tolerated, not finding.is_new))

    @property
    def reported(self) -> Finding | None:
        """Return the finding that the trial fails with."""
        return self.findings_in_order[0] if self.findings else None

    @property
    def failing_example(self) -> Failure | None:
        """Return the example that the failure message shows, None if the trial does not fail."""
        return self.reported.failure if self.reported else self.failure

    @property
    def calls(self) -> list[Call]:
        """The calls of the failing example."""
        return self.failing_example.calls if self.failing_example else []

    @property
    def choices(self) -> tuple[int, ...]:
        """The numbers that make the failing example."""
        return self.failing_example.choices if self.failing_example else ()

    @property
    def repeats(self) -> bool:
        """Whether the violation came again on the same inputs."""
        return self.failing_example is None or self.failing_example.repeats

    @contextmanager
    def shrink(self, budget: Budget, cause: Cause | None, severity: int) -> Iterator[None]:
        """In this block the examples are variants of a failing one. They have a budget, and do not count for coverage.

        Only variants that fail of the same cause, and whose error matters as much, count as failures.
        """
        self.shrinking, self.is_spent = True, budget.is_spent
        self.shrunk_cause, self.least_severity = cause, severity
        try:
            yield
        finally:
            self.shrinking, self.is_spent = False, never

    @property
    def not_tried_reason(self) -> str:
        """Return why there was no example, "" if there was one."""
        if self.examples:
            return ""
        return f"{REFUSED_PREFIX}{self.refusals[0]}" if self.refusals else NOT_CALLED

    def wants_share(self, precision: str) -> bool:
        """Count a result that meets this class. Return whether its whole bound is derived, also if it is right in any case."""
        self.comparisons += 1
        return self.comparisons % RESULTS_PER_SHARE == 1 or self.shares.is_looser(precision)

    def add_comparison(self, precision: str, share: np.ndarray, claimed: np.ndarray, result: Result) -> None:
        """Count a comparison with the oracle. See `Recorder.add_comparison`."""
        if self.shares.add(precision, share):
            self.worst = summarize_example(result, share, precision)
        reached = min((one.reached for one in self.results.values()), key=STRICTNESS.index, default="")
        for name, compared in compare_parts(result, reached).items():
            self.results.setdefault(name, Shares()).add(*compared)
        self.elements += share.size
        self.unclaimed += int(share.size - np.sum(claimed))
