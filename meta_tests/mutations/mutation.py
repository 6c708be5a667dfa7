"""A mutation: one change of one file, and what goes soft by it. `written.toml` and `drawn.json` hold them all."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..support.paths import ROOT

WRITTEN, DRAWN = Path(__file__).with_name("written.toml"), Path(__file__).with_name("drawn.json")


class DoesNotApply(Exception):
    """The text that a mutation replaces is not at exactly one place. The message is one sentence."""


@dataclass(frozen=True)
class Mutation:
    """A change of a file: `old`, a text that stands there at exactly one place, becomes `new`."""

    name: str
    file: str  # from the root of the checkout
    old: str
    new: str
    soft: str  # what goes soft, or the operator that made the change
    equivalent: str = ""  # why it changes no verdict and no record, "" if it does

    def apply(self, text: str) -> str:
        """Return the text of the file with the change."""
        if (count := text.count(self.old)) != 1:
            raise DoesNotApply(f"{self.name}: its text is at {count} places of {self.file}, and must be at one")
        return text.replace(self.old, self.new)

    @property
    def digest(self) -> str:
        """A short hash of the change: the result of another one is not kept."""
        return hashlib.sha256("\0".join((self.file, self.old, self.new)).encode()).hexdigest()[:12]


@cache
def load_mutations() -> dict[str, Mutation]:
    """Return all mutations by their names: those that are written by hand, and those that are drawn."""
    return {mutation.name: mutation for mutation in (*load_written(), *load_drawn())}


def load_written() -> Iterator[Mutation]:
    for name, fields in tomllib.loads(WRITTEN.read_text(encoding="utf-8")).items():
        yield Mutation(name, **fields)


def load_drawn() -> Iterator[Mutation]:
    for fields in json.loads(DRAWN.read_text(encoding="utf-8")) if DRAWN.exists() else ():
        yield Mutation(**fields)


def read_source(file: str) -> str:
    return (ROOT / file).read_text(encoding="utf-8")
