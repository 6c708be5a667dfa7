"""What must hold of the gradient of dpo_loss."""

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_identical, assert_within, exactly
from .inputs.draw import Draw
from .operations.dpo_loss import beta_of, draw_inputs
from .trials.invariant import invariant

EQUATION = "Rafailov et al. 2023, arXiv:2305.18290, the gradient after eq. (7)"
OPTIONS = ("label_smoothing", "reduction")


def draw_cotangent(draw: Draw, pairs: tuple[np.ndarray, ...], reduction: str) -> np.ndarray:
    """Draw a cotangent of the result: one number, or one of each pair without a reduction."""
    return draw.grid(pairs[0].shape if reduction == "none" else ())


@invariant("E", source=EQUATION, cost=2)
def test_chosen_and_rejected_are_opposite(dpo_loss_vjp: Operation, draw: Draw) -> None:
    """The gradient of the rejected answer is minus that of the chosen one, bit for bit."""
    pairs, given = draw_inputs(draw, *OPTIONS)
    c = draw_cotangent(draw, pairs, given.get("reduction", "mean"))
    chosen, rejected = (dpo_loss_vjp(c, *pairs, **given, wrt=name) for name in ("policy_chosen", "policy_rejected"))
    assert_identical(rejected, -chosen.value)


@invariant("B", source=EQUATION, cost=2)
def test_no_margin(dpo_loss_vjp: Operation, draw: Draw) -> None:
    """Without a margin the gradient of the chosen answer is −c beta (½ − e); the mean has c over the number of pairs."""
    (_, _, *reference), given = draw_inputs(draw, *OPTIONS)
    c = draw_cotangent(draw, tuple(reference), given.get("reduction", "mean"))
    share = exactly(c) if given.get("reduction", "mean") == "none" else exactly(c) / float(len(reference[0]))
    dz = dpo_loss_vjp(c, *(x + 0.0 for x in reference), *reference, **given, wrt="policy_chosen")
    expected = share * (-beta_of(draw, given) * (0.5 - given.get("label_smoothing", 0.0)))
    assert_equal(dz, expected * np.ones(reference[0].shape))


@invariant("B", source=EQUATION, cost=2)
def test_opposite_margins(dpo_loss_vjp: Operation, draw: Draw) -> None:
    """The gradients at the margins d and −d have the sum −c beta (1 − 2e), since σ(x) + σ(−x) = 1."""
    (chosen, rejected, *reference), given = draw_inputs(draw, *OPTIONS)
    c = draw_cotangent(draw, (chosen,), given.get("reduction", "mean"))
    share = exactly(c) if given.get("reduction", "mean") == "none" else exactly(c) / float(len(chosen))
    one = dpo_loss_vjp(c, chosen, rejected, *reference, **given, wrt="policy_chosen")
    other = dpo_loss_vjp(c, rejected, chosen, *reference[::-1], **given, wrt="policy_chosen")
    expected = share * (-beta_of(draw, given) * (1 - 2 * given.get("label_smoothing", 0.0)))
    assert_equal(one + other, expected * np.ones(chosen.shape))


@invariant("B", source=EQUATION, cost=2, needs=("keyword:reduction",))
def test_between_its_limits(dpo_loss_vjp: Operation, draw: Draw) -> None:
    """With a cotangent of 1 for each pair it lies between −beta (1 − e) and beta e."""
    pairs, given = draw_inputs(draw, "label_smoothing")
    dz = dpo_loss_vjp(np.ones(pairs[0].shape), *pairs, **given, reduction="none", wrt="policy_chosen")
    beta, e = exactly(beta_of(draw, given)), given.get("label_smoothing", 0.0)
    assert_within(dz, -beta * (1 - e), beta * e)


@invariant("B", source=EQUATION, cost=2, needs=("keyword:reduction",))
def test_mean_and_none(dpo_loss_vjp: Operation, draw: Draw) -> None:
    """The mean's gradient is that of the single losses over the number of pairs."""
    pairs, given = draw_inputs(draw, "label_smoothing")
    c = draw.grid(())
    mean = dpo_loss_vjp(c, *pairs, **given, reduction="mean", wrt="policy_chosen")
    single = dpo_loss_vjp(np.full(pairs[0].shape, c), *pairs, **given, reduction="none", wrt="policy_chosen")
    assert_equal(mean * float(len(pairs[0])), single)
