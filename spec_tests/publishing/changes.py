"""What changed between two reports of a library: the operations and dtypes whose verdict is another, with its causes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from ..report.backend_results import BackendResults
from ..report.cell import Cell
from ..report.verdict import RecordedVerdict, StatedCause
from ..specification.formats import DTYPES, RESULT_DTYPES


class Kind(Enum):
    """What became of an operation in a dtype, in the order in which a reader wants to know."""

    NEWLY_WRONG = "newly wrong", "A law fails that held before."
    WRONG_BY_OTHER_LAWS = "wrong, by laws that were not tried before", "No law fails that held before."
    OTHER_CAUSE = (
        "still wrong, by other causes",
        "Laws failed before and fail now, and the causes that are told are not the same.",
    )
    FIXED = "fixed", "Each law that failed before holds now."
    NOT_SHOWN_FIXED = "no longer seen to fail", "Nothing fails now, but some law that failed before was not tried again."
    NEWLY_SUPPORTED = "newly supported", "The library states now that it has the operation in this dtype, and did not before."
    TRIED_NOW = "tried now, not before", "The library had the operation in this dtype before, too."
    NO_LONGER_SUPPORTED = "no longer supported", "The library stated before that it has the operation in this dtype."
    NOT_TRIED = "not tried any more", "The library still states that it has the operation in this dtype."
    OTHER_CLAIM = "nothing fails, but the verdict is another", "Other precision classes, or more or fewer answers."

    @property
    def title(self) -> str:
        return self.value[0]

    @property
    def about(self) -> str:
        return self.value[1]


@dataclass(frozen=True)
class Side:
    """An operation in a dtype, in one of the two reports."""

    cell: Cell
    is_supported: bool  # by what the backend states

    @property
    def wrong(self) -> list[RecordedVerdict]:
        """The verdicts that failed because of the library."""
        return [v for v in self.cell.failed if v.causes]

    @property
    def held(self) -> set[str]:
        """The laws that held."""
        return {v.id for v in self.cell.tried if v.status == "passed"}

    @property
    def causes(self) -> list[StatedCause]:
        """The causes of the failures, each once."""
        found: list[StatedCause] = []
        for cause in (cause for v in self.wrong for cause in v.causes):
            if not any(cause.is_same(other) for other in found):
                found.append(cause)
        return found

    @property
    def words(self) -> str:
        """The verdict in a few words. Nothing is claimed: whether it conforms is for the page of the report to say."""
        cell = self.cell
        if self.wrong:
            return f"{len(self.wrong)} of {len(cell.tried)} laws fail"
        if cell.failed:
            return "ended with an error outside of the library"
        if not cell.tried:
            return "not tried"
        return cell.shortfall or f"holds{f' ({cell.reached})' if cell.reached else ''}"


@dataclass(frozen=True)
class Change:
    """An operation in a dtype whose verdict is another than before."""

    kind: Kind
    operation: str
    dtype: str
    before: Side
    after: Side


@dataclass(frozen=True)
class Share:
    """The largest share of the allowed error that an operation used in a dtype, before and after."""

    operation: str
    dtype: str
    before: Cell
    after: Cell


@dataclass(frozen=True)
class Changes:
    """What is different between two reports of one backend, and what is not."""

    changes: tuple[Change, ...]
    shares: tuple[Share, ...]  # of all that both reports compared with the oracle
    still_wrong: int  # operations and dtypes that fail from the same causes as before
    same: int  # others whose verdict is as before

    @property
    def kinds(self) -> list[tuple[Kind, list[Change]]]:
        """The kinds of changes that there are, each with its changes."""
        found = [(kind, [change for change in self.changes if change.kind is kind]) for kind in Kind]
        return [(kind, own) for kind, own in found if own]


def find_changes(before: BackendResults, after: BackendResults) -> Changes:
    """Compare two reports of a backend, operation by operation and dtype by dtype."""
    pairs = list(_pair(before, after))
    changes = [
        Change(kind, operation, dtype, old, new)
        for operation, dtype, old, new in pairs
        if (kind := _find_kind(old, new)) is not None
    ]
    same = [(old, new) for _, _, old, new in pairs if _find_kind(old, new) is None]
    shares = [
        Share(operation, dtype, old.cell, new.cell)
        for operation, dtype, old, new in pairs
        if old.cell.worst is not None and new.cell.worst is not None
    ]
    still_wrong = sum(bool(new.wrong) for _, new in same)
    return Changes(tuple(changes), tuple(shares), still_wrong, len(same) - still_wrong)


def _pair(before: BackendResults, after: BackendResults) -> Iterator[tuple[str, str, Side, Side]]:
    """Yield the two sides of each operation and dtype of which something was tried."""
    for operation in sorted({*before.operations, *after.operations}):
        for dtype in RESULT_DTYPES:
            old, new = (_build_side(result, operation, dtype) for result in (before, after))
            if old.cell.tried or new.cell.tried:
                yield operation, dtype, old, new


def _build_side(result: BackendResults, operation: str, dtype: str) -> Side:
    stated = result.backend
    has_operation = stated is not None and operation in (*stated.operations, *stated.gradients)
    has_dtype = stated is not None and (dtype in stated.dtypes or dtype not in DTYPES)
    return Side(result.cell(operation, dtype), has_operation and has_dtype)


def _find_kind(old: Side, new: Side) -> Kind | None:
    """Return what became of an operation in a dtype, None if its verdict is as before."""
    if not old.cell.tried:
        return Kind.TRIED_NOW if old.is_supported else Kind.NEWLY_SUPPORTED
    if not new.cell.tried:
        return Kind.NOT_TRIED if new.is_supported else Kind.NO_LONGER_SUPPORTED
    if old.wrong and new.wrong:
        return None if _are_same(old.causes, new.causes) else Kind.OTHER_CAUSE
    if old.wrong:
        return Kind.FIXED if {v.id for v in old.wrong} <= new.held else Kind.NOT_SHOWN_FIXED
    if new.wrong:
        return Kind.NEWLY_WRONG if {v.id for v in new.wrong} & old.held else Kind.WRONG_BY_OTHER_LAWS
    return None if old.words == new.words else Kind.OTHER_CLAIM


def _are_same(causes: Sequence[StatedCause], others: Sequence[StatedCause]) -> bool:
    """Whether each cause is among the others, and each of the others among them."""
    return all(any(cause.is_same(other) for other in others) for cause in causes) and all(
        any(other.is_same(cause) for cause in causes) for other in others
    )
