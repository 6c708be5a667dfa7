"""One cell of the tables of a report: an operation in a dtype. page.html uses its attributes by their names."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from .verdict import RecordedVerdict


@dataclass
class Cell:
    """The verdicts on one operation in one dtype, without those on levels."""

    verdicts: list[RecordedVerdict]
    shortfall: str = ""  # how little of the comparison with the oracle was answered, "" if enough was
    is_open: bool = False  # whether a law that fails in another dtype was not tried in this one
    is_cut: bool = False  # whether the run was cut, so that nothing conforms

    @cached_property
    def tried(self) -> list[RecordedVerdict]:
        return [v for v in self.verdicts if v.status in ("passed", "failed")]

    @cached_property
    def failed(self) -> list[RecordedVerdict]:
        return [v for v in self.tried if v.status == "failed"]

    @cached_property
    def comparison(self) -> RecordedVerdict | None:
        """The verdict of the comparison with the oracle, None if there was none."""
        return next((v for v in self.tried if v.is_comparison and v.worst is not None), None)

    @property
    def state(self) -> str:
        """The class that the cell has in page.css."""
        if self.failed:
            return "deviates"
        if self.shortfall or self.is_open:
            return "little"
        return "conforms" if self.comparison and not self.is_cut else "held" if self.tried else "absent" if self.verdicts else ""

    @property
    def reached(self) -> str:
        """The precision class that the operation reached, or ""."""
        return self.comparison.precision if self.comparison else ""

    @property
    def worst(self) -> float | None:
        """The largest share of the allowed error that an example used."""
        return self.comparison.worst if self.comparison else None

    @property
    def median(self) -> float | None:
        """The median share of the allowed error that the examples used."""
        return self.comparison.median if self.comparison else None
