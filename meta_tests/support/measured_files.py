"""The table of docs/measured/README.md: which command writes each file, what the file rests on, and where it is shown."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from .paths import DOCS
from .sources import PARTS

TABLE = DOCS / "measured" / "README.md"


@dataclass(frozen=True)
class Row:
    """A measured file, as the table describes it."""

    file: str
    command: str
    rests_on: str
    time: str
    page: str
    test: str

    @property
    def stem(self) -> str:
        return Path(self.file).stem

    @property
    def command_line(self) -> str:
        """The command itself, without what the table says about it."""
        return re.findall(r"`(python -m [^`]+)`", self.command)[0]

    @property
    def module(self) -> str:
        return self.command_line.split()[2]

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the sources on which the figures rest."""
        return tuple(part for part in PARTS if part in re.findall(r"\w+", self.rests_on))

    @property
    def made_of(self) -> tuple[str, ...]:
        """The measured files of which this one is made. It has no provenance of its own."""
        return tuple(re.findall(r"`([^`]+)`", self.rests_on))

    @property
    def by_entry(self) -> bool:
        """Whether each entry of the file is measured by itself."""
        return self.rests_on.endswith("each entry apart")

    @property
    def needs_device(self) -> bool:
        return "CUDA device" in self.command


def read_table() -> dict[str, Row]:
    """Return the rows by their files."""
    lines = [line for line in TABLE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    cells = [re.split(r" *\| *", line.strip("| \n")) for line in lines]
    return {file.strip("`"): Row(file.strip("`"), *others) for file, *others in cells}
