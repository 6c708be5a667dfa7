"""What the examples of a trial covered: which variants of the operation were answered, and which were refused.

The facts of an example are small plain values, such as the size of each dimension. They are taken from the call after it was
made, so that they have no effect on what is drawn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from ..calls.call import Call
from ..calls.call_facts import classify_number, describe_call, list_numbers

PLAIN = "required arguments alone"
MAX_TEXTS = 6  # different refusals that a verdict keeps
MAX_VARIANTS = 40  # that a verdict names, of the answered and of the refused ones


@dataclass(frozen=True)
class Example:
    """One example as coverage sees it: what became of it, and the facts of its call."""

    refusal: str  # its kind, "" if the backend was called and did not refuse
    answered: bool
    facts: dict[str, Any]  # sizes, keywords, "batch_dims", "empty"
    options: frozenset[str]  # the optional arguments and values that it uses
    numbers: str = ""  # the sentence that every number of the dtype is among its arguments, "" if not


@dataclass
class Coverage:
    """The examples of a trial until the first one fails, or all of them."""

    examples: list[Example] = field(default_factory=list)
    failed: int = 0
    refusals: Counter[tuple[str, str]] = field(default_factory=Counter)  # by kind and text

    def add(self, calls: list[Call], *, refusal: tuple[str, str] | None = None, failed: bool = False) -> None:
        """Count an example. `calls` are those of the operation that the trial is about; the last one may be refused."""
        answered = refusal is None and any(call.is_answered for call in calls)
        self.failed += failed
        if refusal:
            self.refusals[refusal] += 1
        called = calls[-1:] if refusal else [call for call in calls if call.is_answered] or calls
        facts, options = describe_call(called[0]) if called else ({}, frozenset[str]())
        numbers = list_numbers(called[0]) if called else ""
        self.examples.append(Example(refusal[0] if refusal else "", answered, facts, options, numbers))

    @property
    def drawn(self) -> int:
        return len(self.examples)

    @property
    def answered(self) -> int:
        return sum(example.answered for example in self.examples)

    def refused_variants(self) -> list[frozenset[str]]:
        """Return the smallest combinations of optional arguments that were refused throughout, as few as explain most refusals.

        There are none where an example with the required arguments alone was refused, because then it is not known that the
        optional ones are the reason.
        """
        refused = [example.options for example in self.examples if example.refusal == "backend"]
        answered = [example.options for example in self.examples if example.answered]
        if not answered or frozenset() in refused:
            return []
        found: list[frozenset[str]] = []
        for size in range(1, max(map(len, refused), default=0) + 1):
            subsets = Counter(frozenset(subset) for options in refused for subset in combinations(sorted(options), size))
            for subset, _ in sorted(subsets.items(), key=lambda item: (-item[1], sorted(item[0]))):
                if any(subset <= options for options in refused) and not any(subset <= options for options in answered):
                    found.append(subset)
                    refused = [options for options in refused if not subset <= options]
        return found

    def unexplained(self) -> int:
        """Return how many examples the backend refused, without a stated domain and without a variant that is the reason."""
        variants = self.refused_variants()
        refused = (example.options for example in self.examples if example.refusal == "backend")
        return sum(not any(variant <= options for variant in variants) for options in refused)

    def list_options(self) -> tuple[list[frozenset[str]], set[str]]:
        """Return the combinations of optional arguments that were refused throughout, and those that were answered."""
        return self.refused_variants(), {name for example in self.examples if example.answered for name in example.options}

    def describe_variants(self) -> dict[str, list[str]]:
        """Return the names of the variants that were answered, and of those that were only refused."""
        options = (example.options for example in self.examples if example.answered)
        answered = dict.fromkeys(name for names in options for name in sorted(names) or (PLAIN,))
        missing = [_drop_prefix(text) for kind, text in self.refusals if kind in ("signature", "gradient")]
        refused = dict.fromkeys([*(" with ".join(sorted(variant)) for variant in self.refused_variants()), *missing])
        if any(example.refusal == "backend" and not example.options for example in self.examples):
            refused[PLAIN] = None
        tried = _list_classes(example for example in self.examples if example.answered)
        tried |= {example.numbers for example in self.examples if example.answered and example.numbers}
        turned_down = _list_classes(example for example in self.examples if example.refusal == "backend")
        return {
            "answered": [*answered][:MAX_VARIANTS],
            "refused": [name for name in refused if name not in answered][:MAX_VARIANTS],
            "classes_answered": sorted(tried)[:MAX_VARIANTS],
            "classes_refused": sorted(turned_down - tried)[:MAX_VARIANTS],
        }

    def list_refusals(self) -> list[tuple[str, str, int]]:
        """Return the kind, the text and the count of the most frequent refusals."""
        return [(kind, text, count) for (kind, text), count in self.refusals.most_common(MAX_TEXTS)]


def _drop_prefix(text: str) -> str:
    """Return what a sentence such as "mine's rope takes no layout" says is lacking: "layout"."""
    return text.rpartition(" takes no ")[2].rpartition(" carries no ")[2]


def _list_classes(examples: Iterable[Example]) -> set[str]:
    """Return the classes of the facts: of a size its power of two, of a keyword its value or sign, and the batch's rank."""
    facts = (fact for example in examples for fact in example.facts.items())
    return {f"{name} {_classify(name, value)}".strip() for name, value in facts if value is not None and value is not False}


def _classify(name: str, value: Any) -> str:
    if value is True:
        return ""
    if isinstance(value, str) or name in ("batch_dims", "axis"):
        return f"= {value}"
    if isinstance(value, int) and value > 0:
        low = 1 << (value.bit_length() - 1)
        return f"{low}" if low == 1 else f"{low} to {2 * low - 1}"
    return classify_number(value) if isinstance(value, int | float) else "given"
