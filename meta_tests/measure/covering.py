"""Print which pairs of kinds the comparison with the oracle meets in a run.

python -m meta_tests.measure.covering OPERATION … [--seeds 20] [--effort default]

A factor is a choice that has a name (spec_tests/inputs/covering.py). The pairs that an operation allows are taken to be all that
--seeds runs meet together. The table says for each factor its kinds, and how many of its pairs one run meets. Below it stand the
least number of examples that could meet all pairs, how many a run has, and after how many seeds all pairs of shapes and options,
and all pairs, were met.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from random import Random

from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.inputs.covering import VALUES, Covering, Item
from spec_tests.inputs.effort import using_effort
from spec_tests.specification.registry import gradients, operations
from spec_tests.trials.random_choices import RandomChoices
from spec_tests.trials.trial import Trial

from ..support.drawn_values import RecordedChoices
from ..support.in_process import backend, trials

Pairs = set[frozenset[Item]]

EVERY_OPERATION = "deviation:softmax_vjp/last-axis"  # a backend with every operation and every gradient


@dataclass
class Met:
    """The pairs that the runs of several seeds meet, one run after the other, and the examples of each run."""

    runs: list[Pairs]
    examples: int

    @property
    def allowed(self) -> Pairs:
        return set().union(*self.runs)

    def seeds_until(self, wanted: Pairs) -> int:
        """Return after how many seeds all these pairs were met."""
        left = set(wanted)
        for count, met in enumerate(self.runs, 1):
            left -= met
            if not left:
                return count
        return len(self.runs)

    @property
    def kinds(self) -> dict[str, set[object]]:
        found: dict[str, set[object]] = defaultdict(set)
        for pair in self.allowed:
            for factor, kind in pair:
                found[factor].add(kind)
        return found


def is_of_shapes_and_options(pair: frozenset[Item]) -> bool:
    return not any(factor.startswith(VALUES) for factor, _ in pair)


def measure(name: str, seeds: int, effort_name: str = "default") -> Met:
    """Draw the examples of the comparison with the oracle, in each dtype, as runs with these seeds would."""
    runs, examples = [], 0
    with using_effort(effort_name):
        tried = [
            trial
            for test, trial in trials(backend(EVERY_OPERATION), about=lambda law: law.compares_with_oracle, names=(name,))
            if trial.operation_name == name
        ]
        for seed in range(seeds):
            met = [draw_examples(trial, Random(f"{seed} {trial.id}"), trial.max_examples).pairs for trial in tried]
            runs.append(set().union(*met))
        examples = sum(trial.max_examples for trial in tried)
    return Met(runs, examples)


def draw_examples(trial: Trial, random: Random, count: int, covering: Covering | None = None) -> Covering:
    """Draw the examples of a trial, and return what they have met."""
    operation, covering = trial.operation(trial.operation_name), covering or Covering(*trial.part)
    for _ in range(count):
        choices = RecordedChoices(RandomChoices(random, operation.name, covering))
        draw = choices.make_draw(choices.draw_integer, operation, choices.draw_shape)
        with suppress(NotImplementedVariant):
            draw.call(any_branch=True)
    return covering


def least_rows(kinds: dict[str, set[object]], *, with_values: bool) -> int:
    """Return how many examples are needed at least: each has one pair of the two factors with most kinds."""
    sizes = sorted(len(found) for factor, found in kinds.items() if with_values or not factor.startswith(VALUES))
    return sizes[-1] * sizes[-2] if len(sizes) > 1 else sum(sizes)


def describe(name: str, found: Met) -> str:
    kinds, first = found.kinds, found.runs[0]
    allowed = found.allowed
    lines = [
        f"{name}: {len(allowed)} pairs of {len(kinds)} factors",
        f"{'factor':<32} {'kinds':>5} {'pairs':>6} {'met in a run':>13}",
    ]
    for factor in sorted(kinds):
        own = [pair for pair in allowed if any(item[0] == factor for item in pair)]
        share = sum(pair in first for pair in own) / len(own)
        lines.append(f"{factor:<32} {len(kinds[factor]):>5} {len(own):>6} {share:>12.0%}")
    plain = {pair for pair in allowed if is_of_shapes_and_options(pair)}
    lines.append(
        f"examples: {found.examples} in a run; at least {least_rows(kinds, with_values=False)} "
        f"for the pairs of shapes and options, {least_rows(kinds, with_values=True)} for all"
    )
    for what, wanted in (("of shapes and options", plain), ("of all factors", allowed)):
        shares = [len(wanted & met) / max(len(wanted), 1) for met in found.runs]
        lines.append(
            f"pairs {what}: {min(shares):.1%} to {max(shares):.1%} met in a run, all after {found.seeds_until(wanted)} of "
            f"{len(found.runs)} seeds"
        )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", metavar="OPERATION")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--effort", default="default")
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in (*operations(), *gradients())]:
        parser.error(f"there is no operation {unknown[0]!r}; `spec-tests list operations` prints them")
    for name in options.names:
        print(describe(name, measure(name, options.seeds, options.effort)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
