"""A candidate: an equation that differs from the reference by one edit or a few."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ....specification.registry import specification
from ...result_parts import map_parts, say_part
from .changed_parts import write_change, write_line
from .edit import Edit, changed_lines, compile_edits
from .mode import Mode
from .source import Site, Source, source_of

COST_OF_A_SETTING = 0.5  # of a mode
COST_OF_A_PART = 0.5  # to be true of one result alone


@dataclass(eq=False)
class Candidate:
    """A changed equation, as the catalogue's deviations are: `diagnosis/fit.py` judges both."""

    source: Source
    edits: tuple[Edit, ...]
    kind: str = "equation"
    mode: Mode | None = None  # the conditions under which the edits hold; None if they hold everywhere
    only_in: str = ""  # the one of several results, or gradients, in which the edits hold; "" for all

    @property
    def operation(self) -> str:
        return self.source.operation

    @property
    def part(self) -> str:
        """The operation whose lines are changed, or call a helper whose lines are: the operation itself, or a part of it."""
        deepest = max((edit.site for edit in self.edits), key=lambda site: site.depth)
        callers = [site for site, _ in self.source.find_callers(deepest)]
        return max(callers, key=lambda site: site.depth).operation if callers else self.operation

    @property
    def callers(self) -> list[str]:
        """A line for each helper whose lines are changed: the first one of an equation that calls it, with the call marked."""
        helpers = dict.fromkeys(edit.site for edit in self.edits if not edit.site.is_equation)
        return [line for helper in helpers for line in self._first_line_that_calls(helper)]

    def _first_line_that_calls(self, helper: Site) -> list[str]:
        nearest_first = sorted(self.source.find_callers(helper), key=lambda found: -found[0].depth)
        return [write_line(*found) for _, found in nearest_first if found][:1]

    @cached_property
    def id(self) -> str:
        before, after = self.lines
        where = f"{self.place}{f' {self.mode.words}' if self.mode else ''}"
        return f"{self.operation}: {'; '.join(after) or 'nothing'} for {'; '.join(before) or 'nothing'}{where}"

    @property
    def place(self) -> str:
        """The words for the result in which alone the edits hold."""
        return f", in {say_part(specification(self.operation), self.only_in)} alone" if self.only_in else ""

    @cached_property
    def lines(self) -> tuple[list[str], list[str]]:
        """The lines that are changed, before and after."""
        return changed_lines(self.edits)

    @cached_property
    def written(self) -> tuple[str, str]:
        """What is changed and what stands in its place, in the notation of the operation's page."""
        return write_change(self.edits)

    @cached_property
    def function(self) -> Callable[..., Any]:
        functions = compile_edits(self.edits)
        assert functions is not None
        changed, mode = self.source.with_functions(functions), self.mode
        if self.only_in:
            changed = self._in_one_part(changed)
        if mode is None:
            return changed

        def in_one_mode(*arguments: Any, **keywords: Any) -> Any:
            return (changed if mode.read(self.operation, arguments, keywords) else self.source)(*arguments, **keywords)

        return in_one_mode

    def _in_one_part(self, changed: Callable[..., Any]) -> Callable[..., Any]:
        """Return the equation that gives one of the results as the changed one does, and the others as they should be."""
        spec = specification(self.operation)

        def choose(name: str, other: Any, own: Any) -> Any:
            return other if name == self.only_in else own

        def in_one_part(*arguments: Any, **keywords: Any) -> Any:
            return map_parts(choose, spec, changed(*arguments, **keywords), self.source(*arguments, **keywords))

        return in_one_part

    def in_mode(self, mode: Mode | None) -> Candidate:
        """Return the same change in another mode."""
        return replace(self, mode=mode)

    def inside(self, operation: str) -> Candidate | None:
        """Return the same change in another operation, None if that does not evaluate the changed function."""
        if self.only_in and operation != self.operation:
            return None
        other = source_of(operation)
        sites = {id(site.tree): site for site in other.sites}
        if not all(id(edit.site.tree) in sites for edit in self.edits):
            return None
        options = [setting.option for setting in self.mode.settings] if self.mode else []
        if not specification(operation).parameters.keys() >= set(options):
            return None
        edits = tuple(replace(edit, site=sites[id(edit.site.tree)]) for edit in self.edits)
        return Candidate(other, edits, mode=self.mode, only_in=self.only_in)

    @property
    def cost(self) -> float:
        """How far the equation is from the reference: the costs of its edits, and a little for long lines."""
        after = self.lines[1]
        return (
            COST_OF_A_SETTING * len(self.mode.settings if self.mode else ())
            + (COST_OF_A_PART if self.only_in else 0.0)
            + sum(edit.cost for edit in self.edits)
            + sum(map(len, after)) / 1000
            + len(after) / 1000
        )

    def shows_in(self, dtype: str) -> bool:
        return True
