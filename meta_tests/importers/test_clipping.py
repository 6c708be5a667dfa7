"""The epsilon of a course's clipping is seen from calls: beside the norm, where any small one is right, or in the root."""

from types import SimpleNamespace
from typing import Any

import pytest

from spec_tests.importers._cs336_training import clip_gradients, find_domain

torch = pytest.importorskip("torch")

EPSILONS = (1e-5, 1e-6, 1e-8, 1e-12)


def make(norm_of: Any) -> SimpleNamespace:
    def run_gradient_clipping(parameters: Any, max_l2_norm: float) -> None:
        gradients = [p.grad for p in parameters if p.grad is not None]
        norm = norm_of(sum(g.square().sum() for g in gradients))
        for g in gradients if norm > max_l2_norm else ():
            g.mul_(max_l2_norm / norm)

    return SimpleNamespace(run_gradient_clipping=run_gradient_clipping)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_an_epsilon_beside_the_norm_or_in_the_root_is_the_one_that_is_judged(epsilon: float) -> None:
    for norm_of in (lambda total: total.sqrt() + epsilon, lambda total: (total + epsilon).sqrt()):
        (found,) = find_domain(make(norm_of))["gradient_clipping"]["eps"]
        assert found == pytest.approx(epsilon, rel=2e-2)


def test_an_epsilon_that_is_not_small_is_left_to_the_default_unless_it_is_in_the_root() -> None:
    assert "gradient_clipping" not in find_domain(make(lambda total: total.sqrt() + 1e-4))
    (found,) = find_domain(make(lambda total: (total + 1e-4).sqrt()))["gradient_clipping"]["eps"]
    assert found == pytest.approx(1e-4, rel=2e-2)


def test_no_epsilon_is_none() -> None:
    assert find_domain(make(lambda total: total.sqrt()))["gradient_clipping"]["eps"] == (0.0,)


def test_a_gradient_without_a_dimension_is_passed_as_a_vector_of_one() -> None:
    """Code may multiply in place with a factor of shape (1,), which no array without a dimension can hold."""
    gradients = [torch.tensor([3.0, 0.0]), torch.tensor(4.0)]
    module = make(lambda total: torch.zeros(1) + total.sqrt())
    clipped = clip_gradients(module, gradients, max_norm=1.0)
    assert [g.shape for g in clipped] == [g.shape for g in gradients]
    assert [g.tolist() for g in clipped] == [pytest.approx([0.6, 0.0]), pytest.approx(0.8)]
    assert gradients[1] == 4
