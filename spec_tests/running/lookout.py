"""When a run looks for what a backend has replaced in this process: after which laws.

A look compares tens of thousands of names, which takes longer than many laws do. What is replaced stays replaced until the next
look, so that a look after several laws finds it as well, and the run fails as it does when each law is followed by a look.
"""

from __future__ import annotations

from dataclasses import dataclass, field

EXAMPLES_BETWEEN_LOOKS = 64  # after so many examples the run looks again, whatever they showed


@dataclass
class Lookout:
    """What has happened since the last look.

    A look is due after a failure, after the first law of an operation, after the last of the suite's laws, and after so many
    examples. Once something was found, one is due after each law.

    Fixtures and plugins of another project may run before each law. What they replace is looked for before the first law, and
    before each law once they have replaced something. If they have not, a later find may be theirs or the backend's.
    """

    next_is_law: bool = False  # whether the test that follows is one of this suite's; if not, code of others may run next
    others_run: bool = False  # whether another project's fixtures or hooks run before the tests
    others_replace: bool = False  # whether these were found to replace something
    has_begun: bool = False  # whether a law was judged
    looked_before: bool = False  # whether there was a look right before the law that is judged
    examples: int = 0
    laws: int = 0  # judged since the last look
    has_found: bool = False
    seen: set[tuple[str, str]] = field(default_factory=set)  # backends and operations

    def begin_law(self) -> bool:
        """Return whether a look at what fixtures and plugins have replaced is due now, before a law."""
        self.looked_before = self.others_run and (not self.has_begun or self.others_replace or self.has_found)
        self.has_begun = True
        return self.looked_before

    @property
    def suspects(self) -> str:
        """Who may have replaced what the look after a law has found, as a sentence begins."""
        return "the backend" if self.looked_before or not self.others_run else "the backend, a fixture or a plugin"

    def note(self, backend: str, operation: str, examples: int, *, failed: bool) -> bool:
        """Note a law that was judged. Return whether a look is due now."""
        is_new = examples > 0 and (backend, operation) not in self.seen  # an operation that the backend lacks has no examples
        if is_new:
            self.seen.add((backend, operation))
        self.examples += examples
        self.laws += 1
        is_due = failed or is_new or self.has_found or not self.next_is_law or self.examples >= EXAMPLES_BETWEEN_LOOKS
        return is_due or self.others_replace

    def finish_look(self, found: list[str]) -> int:
        """Begin anew after a look that found this. Return how many laws before the last one were judged since the look before."""
        unseen, self.examples, self.laws = max(0, self.laws - 1), 0, 0
        self.has_found |= bool(found)
        return unseen
