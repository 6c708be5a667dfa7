"""What the examples of a trial covered: which variants of the operation were answered, and which were refused.

The facts of an example are small plain values, such as the size of each dimension. They are taken from the call after it was
made, so that they have no effect on what is drawn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np

from ..calls.call import Call
from ..calls.in_domain import batch_ranks, dimension_sizes
from ..implementation.domain import BROADCASTING_ARGUMENTS
from ..specification.registry import Specification

PLAIN = "required arguments alone"
UNEQUAL_BATCHES = "batches that broadcast"
MAX_TEXTS = 6  # different refusals that a verdict keeps
MAX_VARIANTS = 40  # that a verdict names, of the answered and of the refused ones


@dataclass(frozen=True)
class Example:
    """One example as coverage sees it: what became of it, and the facts of its call."""

    refusal: str  # its kind, "" if the backend was called and did not refuse
    answered: bool
    facts: dict[str, Any]  # sizes, keywords, "batch_dims", "empty"
    options: frozenset[str]  # the optional arguments and values that it uses


@dataclass
class Coverage:
    """The examples of a trial until the first one fails, or all of them."""

    examples: list[Example] = field(default_factory=list)
    failed: int = 0
    refusals: Counter[tuple[str, str]] = field(default_factory=Counter)  # by kind and text

    def add(self, calls: list[Call], *, refusal: tuple[str, str] | None = None, failed: bool = False) -> None:
        """Count an example. `calls` are those of the operation that the trial is about; the last one may be refused."""
        answered = refusal is None and any(call.result is not None for call in calls)
        self.failed += failed
        if refusal:
            self.refusals[refusal] += 1
        facts, options = (describe_call(calls[-1 if refusal else 0])) if calls else ({}, frozenset[str]())
        self.examples.append(Example(refusal[0] if refusal else "", answered, facts, options))

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

    def describe_variants(self) -> dict[str, list[str]]:
        """Return the names of the variants that were answered, and of those that were only refused."""
        answered = dict.fromkeys(name for example in self.examples if example.answered for name in example.options or (PLAIN,))
        missing = [_drop_prefix(text) for kind, text in self.refusals if kind in ("signature", "gradient")]
        refused = dict.fromkeys([*(" with ".join(sorted(variant)) for variant in self.refused_variants()), *missing])
        if any(example.refusal == "backend" and not example.options for example in self.examples):
            refused[PLAIN] = None
        tried = _list_classes(example for example in self.examples if example.answered)
        turned_down = _list_classes(example for example in self.examples if example.refusal == "backend")
        return {
            "answered": [*answered][:MAX_VARIANTS],
            "refused": [name for name in refused if name not in answered][:MAX_VARIANTS],
            "classes answered": sorted(tried)[:MAX_VARIANTS],
            "classes refused": sorted(turned_down - tried)[:MAX_VARIANTS],
        }

    def list_refusals(self) -> list[list[Any]]:
        """Return [kind, text, count] of the most frequent refusals."""
        return [[kind, text, count] for (kind, text), count in self.refusals.most_common(MAX_TEXTS)]


def _drop_prefix(text: str) -> str:
    """Return what a sentence such as "mine's rope takes no layout" says is lacking: "layout"."""
    return text.rpartition(" takes no ")[2].rpartition(" carries no ")[2]


def describe_call(call: Call) -> tuple[dict[str, Any], frozenset[str]]:
    """Return the facts of a call, and the optional arguments and values that it uses."""
    spec, named = call.operation.spec, call.named
    facts: dict[str, Any] = dict(dimension_sizes(call))
    options, batches = set(), set()
    for name, value in named.items():
        if name in ("wrt", "cotangent"):
            continue
        shape, is_optional = getattr(value, "shape", None), optional_defaults(spec).get(name, spec) is not spec
        if shape is not None:
            if name in spec.core and name not in BROADCASTING_ARGUMENTS:
                batches.add(shape[: len(shape) - spec.core[name]])
            if name == "positions":
                facts["positions"] = _classify_positions(value)
            if 0 in shape:
                facts["empty"] = True
            if is_optional:
                options.add(name)
        elif not isinstance(value, dict | list):
            facts[name] = value.item() if isinstance(value, np.generic) else value
            if is_optional and value is not None and value != spec.defaults.get(name):
                options |= _name_options(name, value)
    facts.setdefault("empty", False)
    for name in _optional_arrays(spec):
        facts[f"with {name}"] = name in options
    if ranks := batch_ranks(call):
        facts["batch_dims"] = max(ranks)
    if len(batches) > 1:
        options.add(UNEQUAL_BATCHES)
    facts[UNEQUAL_BATCHES] = len(batches) > 1
    return facts, frozenset(options)


def _classify_positions(positions: np.ndarray) -> str:
    """Return the kind of the positions, in the words of a domain."""
    if not np.all(np.diff(positions, axis=-1) == 1):
        return "arbitrary"
    return "offset" if np.any(positions[..., :1]) else "consecutive"


def _name_options(name: str, value: Any) -> set[str]:
    """Return the names of an optional value: that of its argument, and the class of the value."""
    if isinstance(value, bool | str):
        return {f"{name} = {value}"}
    return {name, *(class_name for class_name in [f"{name} {_classify_number(value)}"] if value <= 0)}


def _classify_number(value: float) -> str:
    return "= 0" if value == 0 else "> 0" if value > 0 else "< 0"


@cache
def optional_defaults(spec: Specification) -> dict[str, Any]:
    """Return the defaults of the arguments that have one, keywords and arrays alike."""
    return {name: p.default for name, p in spec.parameters.items() if p.default is not p.empty}


@cache
def _optional_arrays(spec: Specification) -> tuple[str, ...]:
    return tuple(name for name in optional_defaults(spec) if name in spec.positional)


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
    return _classify_number(value) if isinstance(value, int | float) else "given"
