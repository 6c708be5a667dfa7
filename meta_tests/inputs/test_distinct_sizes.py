"""Test that dimensions mostly have different sizes: equal ones hide dimensions that are mistaken for one another."""

from collections import Counter
from itertools import combinations
from random import Random

import pytest

from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.inputs.draw import Draw
from spec_tests.inputs.effort import using_effort
from spec_tests.specification.registry import operations
from spec_tests.trials.random_choices import RandomChoices
from spec_tests.trials.trial import Trial

from ..support.in_process import backend

DRAWS = 96
LEAST_OF_A_PAIR, LEAST_ON_AVERAGE = 0.3, 0.75  # causality, windows and heads of their own ask for equal sizes


@pytest.mark.parametrize("name", operations())
def test_most_sizes_differ(name: str) -> None:
    operation = Trial(backend("deviation:softmax_vjp/last-axis"), "float32").operation(name)
    random, drawn, differing = Random(0), Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    with using_effort("default"):
        for _ in range(DRAWS):
            choices = RandomChoices(random, name)
            draw = Draw(choices.draw_integer, operation, choices.draw_shape)
            try:
                draw.call()
            except NotImplementedVariant:
                continue
            sizes = draw.drawn_sizes
            pairs = list(combinations(sorted(sizes), 2))
            drawn.update(pairs)
            differing.update((a, b) for a, b in pairs if sizes[a] != sizes[b])
    shares = {pair: differing[pair] / drawn[pair] for pair in drawn}
    assert all(share >= LEAST_OF_A_PAIR for share in shares.values()), shares
    assert not shares or sum(shares.values()) / len(shares) >= LEAST_ON_AVERAGE, shares
