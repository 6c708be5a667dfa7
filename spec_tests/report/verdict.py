"""The verdict on a law, its causes, and the messages of its failures: what the parts of a run hand each other, and its report.

`records.py` turns them into records and back. schema.json is made of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from ..specification.tiers import EQUATION, TIERS
from .form import LEFT_OUT, Count, Name, OneOf, Pattern, Range, Real, Subscriptable

NAMED_KINDS = ("deviation", "near miss")  # of explanations whose ids say something to a reader
EXPLAINED_KINDS = ("deviation", "near miss", "equation", "region")  # of causes


@dataclass(frozen=True, kw_only=True)
class StatedExplanation(Subscriptable):
    """What explains the wrong answers of a failure, in words."""

    id: str
    what: str
    kind: Annotated[str, "as of a cause"] = ""

    @property
    def sentence(self) -> str:
        """The explanation as it is printed, with its name if it has one."""
        return self.what + (f" ({self.name})" if self.name else "")

    @property
    def name(self) -> str:
        """The id of a known bug or near miss, "" of others, whose ids say nothing more to a reader."""
        return self.id if self.kind in NAMED_KINDS else ""


def join_explanations(explanations: tuple[StatedExplanation, ...]) -> str:
    """Return the sentences of explanations that are equally good as one text, to be printed."""
    return " or ".join(explanation.sentence for explanation in explanations)


@dataclass(frozen=True, kw_only=True)
class StatedCause(Subscriptable):
    """What a verdict says of a cause."""

    key: Annotated[str, "the ids as one text, which is the same in every run and every process"]
    ids: Annotated[
        tuple[str, ...],
        "of the explanations, or of the symptom, the same in every run and every process; verdicts with one id in common have one"
        " cause; absent from reports of earlier versions, which have the key alone",
    ] = ()
    kind: Annotated[
        str,
        OneOf("deviation", "near miss", "equation", "region", "exception", "symptom", "unexplained"),
        "a known bug, a near miss of the right equation, an equation found by search, a region of wrong answers, an exception,"
        " another symptom without wrong answers, or wrong answers that nothing explains",
    ]
    operation: Annotated[str, "the operation to mend, which may be a part of the one that failed"]
    what: Annotated[str, "the cause in one sentence"]
    explanations: Annotated[
        tuple[StatedExplanation, ...], "those that are equally good; empty if there is none, and in reports of earlier versions"
    ] = ()
    wrong: Annotated[int, Range(0), "wrong answers that it was tested on when it was found; an explanation explains all of them"]
    right: Annotated[int, Range(0), "right answers that it was tested on; none contradicts an explanation"]
    ended_after: Annotated[
        float | None, "the seconds after which the safety net ended the search for the cause; without it, nothing did"
    ] = field(default=None, metadata=LEFT_OUT)
    failing: Annotated[int, Range(1), "examples of this verdict that it made fail"]

    @property
    def names(self) -> frozenset[str]:
        """What tells causes apart: those with a name in common are one."""
        return frozenset(self.ids or [self.key])

    @property
    def candidates(self) -> tuple[StatedExplanation, ...]:
        """The explanations, also of a report of an earlier version, which has them as one text."""
        if self.explanations or self.kind not in EXPLAINED_KINDS:
            return self.explanations
        return (StatedExplanation(id="", what=self.what, kind=self.kind),)

    def is_same(self, other: StatedCause) -> bool:
        """Whether two causes are one."""
        return not self.names.isdisjoint(other.names)


@dataclass(frozen=True, kw_only=True)
class ToldCause:
    """A cause that a failed test is the first to tell, with its messages."""

    cause: StatedCause
    backend: str
    text: str  # the whole message
    short: str
    again: str  # the command that shows it again


@dataclass(frozen=True, kw_only=True)
class Message:
    """The parts of the message of a failure."""

    broken: str
    statement: str
    circumstances: str
    inputs: Annotated[str, "the smallest that still fail; if the cause was known already, those that were drawn"]
    what: str
    facts: Annotated[tuple[tuple[str, str], ...], "labels, each with its text"]
    diagnosis: Annotated[tuple[StatedExplanation, ...], "known deviations, or a looser precision class, that explain the answers"]
    explains: Annotated[str, "the answers that the diagnosis was tested on; empty if there is none"] = ""
    first: Annotated[str, "the verdict that found the cause, if it was known already"] = ""
    script: Annotated[
        str, "shows it without this suite; empty where the inputs are too large, or where the cause was told before"
    ]
    again: Annotated[str, "the command that tries it alone"]


@dataclass(frozen=True, kw_only=True)
class ForeignMessage:
    """The message of anything else than a violation."""

    message: Annotated[str, "what pytest says"]


@dataclass(frozen=True, kw_only=True)
class ArrayFacts:
    """An array argument of the hardest example: its shape, and the least and the largest magnitude in it."""

    shape: tuple[Count, ...]
    least: Real | None = field(default=None, metadata=LEFT_OUT)
    largest: Real | None = field(default=None, metadata=LEFT_OUT)
    not_finite: Annotated[int, Range(0), Name("not finite")] = field(default=0, metadata=LEFT_OUT)


@dataclass(frozen=True, kw_only=True)
class Hardest:
    """The example that used most of the allowed error."""

    share: Real
    arguments: Annotated[
        dict[str, ArrayFacts | tuple[Any, ...] | str | bool | int | Real | None],
        "of an array its shape, and the least and the largest magnitude in it",
    ]
    at: str
    expected: Real
    got: Real
    bound: Real


@dataclass(frozen=True, kw_only=True)
class StatedShares:
    """The precision class that one array of the results reached, and the shares of the allowed error that it used."""

    precision: Annotated[str, Name("class")]
    worst: Real | None
    median: Real | None


@dataclass(frozen=True, kw_only=True)
class StatedShapes:
    """The calls that a law and the search for its causes made, where first calls of shapes are dear or --shapes limits them."""

    calls: Count
    new: Annotated[Count, "of them, those that were the first with arrays of their shapes"]
    seconds: Annotated[float, Range(0), "that these first calls took"]


@dataclass(frozen=True, kw_only=True)
class StatedSkill:
    """What a comparison with the oracle has earned."""

    earned: Annotated[float, Range(0)]
    possible: Annotated[float, Range(0)]
    drawn: Count
    planned: Count


@dataclass(frozen=True, kw_only=True)
class Variants:
    """Optional variants, and classes of sizes, values and ranks: those that were answered, and those that were only refused."""

    answered: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    classes_answered: Annotated[tuple[str, ...], Name("classes answered")] = ()
    classes_refused: Annotated[tuple[str, ...], Name("classes refused")] = ()


@dataclass(frozen=True, kw_only=True)
class StatedConventions:
    """The conventions of an operation: what the backend states, and what its answers show of the others."""

    stated: Annotated[dict[str, str], "the conventions that the backend states for the operation"]
    answers: Annotated[
        dict[str, dict[str, Annotated[int, Range(1)]]],
        "of each other convention, how many answers fit which value, are unknown, or were refused",
    ]


Refusal = tuple[
    Annotated[str, OneOf("domain", "signature", "gradient", "framework", "suite", "backend")], str, Annotated[int, Range(1)]
]


@dataclass(frozen=True, kw_only=True)
class TrialIdentity(Subscriptable):
    """Which trial it is. The entries of a file of known failures have the same fields."""

    id: Annotated[str, Pattern(r"^[a-z_0-9]+\.[a-z_0-9]+$")]
    backend: str
    dtype: str
    device: str

    @property
    def subject(self) -> str:
        """The operation that the id begins with."""
        return self.id.partition(".")[0]

    @property
    def law(self) -> str:
        """The name of the law, without the operation."""
        return self.id.partition(".")[2]


@dataclass(frozen=True, kw_only=True)
class Verdict(TrialIdentity):
    """The verdict on one law of one backend in one dtype."""

    operation: str
    version: str
    names: Annotated[str, "under which other names the backend has the operation and its arguments"]
    beyond: Annotated[str, "what the backend's file has that is about no operation of the suite"] = field(
        default="", metadata=LEFT_OUT
    )
    domain: str
    kind: Annotated[str, OneOf("E", "B", "S", "F"), "exact, within the derived bound, statistical, finite"]
    level: Annotated[str | None, "null: an invariant, which fails a run"]
    tier: Annotated[str, OneOf(*TIERS), "who asks for the law: absent, everyone"] = field(default=EQUATION, metadata=LEFT_OUT)
    status: Annotated[str, OneOf("passed", "failed", "skipped", "not held")]
    reason: Annotated[str, "of a skip; of a failure the diagnosis, or what was seen"]
    cut: Annotated[str, "of a skip: what kept the law from being tried to its end, as a lost device; absent elsewhere"] = field(
        default="", metadata=LEFT_OUT
    )
    precision: Annotated[str, Name("class"), "the precision class reached, where the oracle was compared with"]
    examples: Count
    refused: Annotated[
        int, Range(0), "examples that the backend refused with NotImplementedError, or that lie outside its domain"
    ]
    shapes: Annotated[
        StatedShapes | None, "how many shapes were called, where first calls of shapes are dear or --shapes limits them"
    ] = field(default=None, metadata=LEFT_OUT)
    skill: Annotated[
        StatedSkill | None,
        "of a comparison with the oracle in a run that measures it: what the answers are above trivial ones, what they could be,"
        " and of how many examples",
    ] = field(default=None, metadata=LEFT_OUT)
    drawn: Annotated[int, Range(0), "examples drawn; those of shrinking are not counted"]
    answered: Annotated[int, Range(0), "examples among them in which the backend answered a call"]
    unexplained: Annotated[
        int,
        Range(0),
        "examples among them that the backend refused though they lie in its domain and use no optional variant that it refuses"
        " throughout",
    ]
    refusals: Annotated[tuple[Refusal, ...], "the most frequent refusals, each with its kind, its text and how often it came"]
    variants: Variants
    region: Annotated[tuple[str, str] | None, "the region that the backend refuses in words, and the line that states it"]
    dtypes_stated: Annotated[bool, "whether the backend states its dtypes; otherwise they are those of its framework"]
    conventions: StatedConventions
    worst: Annotated[Real | None, "the largest part of the allowed error that an example used; 1 is the limit"]
    median: Real | None
    results: Annotated[
        dict[str, StatedShares],
        "class, worst and median of each array, where an operation has several results or gradients; {} where it has one",
    ]
    unclaimed: Annotated[float, Range(0, 1), "the part of all elements for which no bound is known"]
    seconds: float
    example: Annotated[
        Annotated[str, Pattern(r"^\d*(\.\d+)*$")] | None,
        "of a failure: the row of choices that makes its example, as --example takes it",
    ]
    known: Annotated[str, OneOf("", "failing", "flaky"), "the failure is tolerated, because a file says that it is known"]
    stale: Annotated[str, "the place of an entry that lists the invariant as failing, although it holds now; else empty"]
    repeats: Annotated[bool, "of a failure: it was seen again on the same inputs"]
    oracle: Annotated[bool, "the backend has imported the suite's own equations: what conforms may be these"]
    causes: Annotated[
        tuple[StatedCause, ...], "what made examples fail; first the cause that the failure is about; empty: none of the backend"
    ]

    @property
    def is_comparison(self) -> bool:
        """Whether it is on a comparison with the oracle."""
        return self.law == "reference"

    @property
    def explanation_ids(self) -> frozenset[str]:
        """The ids of the explanations of the cause that the failure is about, such as those of deviations."""
        return frozenset(explanation.id for cause in self.causes[:1] for explanation in cause.explanations)


@dataclass(frozen=True, kw_only=True)
class RecordedVerdict(Verdict):
    """A verdict in a report, with the details that only a report has."""

    statement: str
    source: str
    hardest: Annotated[Hardest | None, "the example that used most of the allowed error"]
    failure: Message | ForeignMessage | None
    other_failures: Annotated[tuple[Message | ForeignMessage, ...], "of the other causes, in the order of `causes`"]
    node: Annotated[str, "pytest's own name of the test"]
