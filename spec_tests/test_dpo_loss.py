"""What must hold of dpo_loss."""

from typing import Any

import numpy as np

from .bounds.bounded import Bounded
from .bounds.expectation import Expectation
from .calls.operation import Operation
from .calls.result import WIDE
from .calls.violation import NotImplementedVariant
from .helpers.assertions import assert_equal, assert_finite, assert_within, exactly
from .inputs.draw import Draw
from .operations.dpo_loss import SMOOTHINGS, beta_of, draw_inputs, draw_options, draw_pairs
from .specification.formats import Arithmetic
from .trials.invariant import invariant

DPO = "Rafailov et al. 2023, arXiv:2305.18290, eq. (7)"
SMOOTHED = "Mitchell 2023, A note on DPO with noisy preferences"
NONE = ("keyword:reduction",)


def margin(pairs: tuple[np.ndarray, ...]) -> Any:
    """Return the margin of each pair, and the error of computing it in float64."""
    chosen, rejected, reference_chosen, reference_rejected = map(exactly, pairs)
    return (chosen - rejected) - (reference_chosen - reference_rejected)


def average(x: Any, keywords: dict[str, Any]) -> Any:
    """Return the mean over the pairs, or x itself if the call has no mean."""
    return np.mean(x, axis=0) if keywords.get("reduction", "mean") == "mean" else x


def draw_smoothing(draw: Draw) -> float:
    """Draw a smoothing e for a law that needs 1 − e as well."""
    allowed = draw.operation.domain.get("label_smoothing", SMOOTHINGS)
    both = tuple(e for e in allowed if 1 - e in allowed or "label_smoothing" not in draw.operation.domain)
    if not both:
        raise NotImplementedVariant("its domain has no label_smoothing e with 1 − e")
    return float(draw.one_of(both))


@invariant("B", source=DPO)
def test_no_margin(dpo_loss: Operation, draw: Draw) -> None:
    """A policy that prefers the chosen answers as much as the reference does has the loss ln 2, with any beta and smoothing."""
    (_, _, chosen, rejected), given = draw_inputs(draw, "label_smoothing", "reduction")
    moved = draw.one_of((False, True))
    policy = (chosen + 0.0, rejected + 0.0) if not moved else (rejected + 0.0, rejected + 0.0)
    reference = (chosen, rejected) if not moved else (chosen, chosen)
    assert_equal(dpo_loss(*policy, *reference, **given), np.log(exactly(2.0)))


@invariant("B", source=DPO)
def test_margin_alone(dpo_loss: Operation, draw: Draw) -> None:
    """The loss sees the policy and the reference only by their ratio: one number added to an answer in both changes nothing."""
    (chosen, rejected, of_chosen, of_rejected), given = draw_inputs(draw, "label_smoothing", "reduction")
    a, b = draw.grid(chosen.shape, largest=400), draw.grid(chosen.shape, largest=400)
    moved = [exactly(x) + shift for x, shift in ((chosen, a), (rejected, b), (of_chosen, a), (of_rejected, b))]
    assert_equal(dpo_loss(*moved, **given), dpo_loss(chosen, rejected, of_chosen, of_rejected, **given))


@invariant("B", source=DPO)
def test_opposite_margins(dpo_loss: Operation, draw: Draw) -> None:
    """Exchanging the chosen and the rejected answers turns the margin d into −d: the losses differ by −beta d."""
    (chosen, rejected, *reference), given = draw_inputs(draw, "reduction")
    one = dpo_loss(chosen, rejected, *reference, **given)
    other = dpo_loss(rejected, chosen, *reference[::-1], **given)
    beta_d = margin((chosen, rejected, *reference)) * beta_of(draw, given)
    assert_equal(one - other, -average(beta_d, given))


@invariant("B", source=DPO)
def test_policy_against_reference(dpo_loss: Operation, draw: Draw) -> None:
    """The margin is the same if the policy and the reference are exchanged together with the chosen and the rejected answers."""
    (chosen, rejected, of_chosen, of_rejected), given = draw_inputs(draw, "label_smoothing", "reduction")
    exchanged = dpo_loss(of_rejected, of_chosen, rejected, chosen, **given)
    assert_equal(exchanged, dpo_loss(chosen, rejected, of_chosen, of_rejected, **given))


@invariant("B", source=DPO, needs=("keyword:beta",))
def test_beta_scales_the_margin(dpo_loss: Operation, draw: Draw) -> None:
    """Half of beta with twice the four logarithms is the same loss."""
    keywords = draw_options(draw, "label_smoothing", "reduction")
    allowed = draw.operation.domain.get("beta")
    both = tuple(b for b in allowed if b / 2 in allowed) if allowed is not None else (0.1, 0.5, 1.0, 2.0)
    if not both:
        raise NotImplementedVariant("its domain has no beta together with its half")
    beta = draw.one_of(both)
    pairs = draw_pairs(draw, beta)
    doubled = dpo_loss(*(2 * x for x in pairs), beta=beta / 2, **keywords)
    assert_equal(doubled, dpo_loss(*pairs, beta=beta, **keywords))


@invariant("B", source=SMOOTHED, needs=("keyword:label_smoothing",))
def test_smoothing_exchanges_the_answers(dpo_loss: Operation, draw: Draw) -> None:
    """A share e of wrong labels is the same as a share 1 − e with the chosen and the rejected answers exchanged."""
    (chosen, rejected, *reference), given = draw_inputs(draw, "reduction")
    e = draw_smoothing(draw)
    exchanged = dpo_loss(rejected, chosen, *reference[::-1], **given, label_smoothing=1 - e)
    assert_equal(dpo_loss(chosen, rejected, *reference, **given, label_smoothing=e), exchanged)


@invariant("B", source=SMOOTHED, needs=("keyword:label_smoothing",))
def test_smoothing_adds_the_margin(dpo_loss: Operation, draw: Draw) -> None:
    """Smoothing by e adds e beta d to the loss, d being the margin."""
    pairs, given = draw_inputs(draw, "reduction")
    e = draw.one_of(draw.operation.domain.get("label_smoothing", SMOOTHINGS))
    smoothed = dpo_loss(*pairs, **given, label_smoothing=e)
    beta_d = average(margin(pairs) * beta_of(draw, given), given)
    assert_equal(smoothed - dpo_loss(*pairs, **given), beta_d * e)


@invariant("B", source=SMOOTHED)
def test_at_least_the_entropy_of_the_labels(dpo_loss: Operation, draw: Draw) -> None:
    """No margin gives less than −e ln e − (1 − e) ln(1 − e), which is 0 without smoothing."""
    pairs, given = draw_inputs(draw, "label_smoothing", "reduction")
    shares = [p for e in (given.get("label_smoothing", 0.0),) for p in (e, 1 - e) if p > 0]
    assert_within(dpo_loss(*pairs, **given), sum(-np.log(exactly(p)) * p for p in shares), np.inf)


@invariant("B", source=DPO, needs=NONE)
def test_mean_is_over_pairs(dpo_loss: Operation, draw: Draw) -> None:
    """The mean, times the number of pairs, is the sum of the losses of the pairs."""
    pairs, given = draw_inputs(draw, "label_smoothing")
    rows, mean = (dpo_loss(*pairs, **given, reduction=how) for how in ("none", "mean"))
    assert_equal(mean * float(len(pairs[0])), np.sum(rows, axis=0))  # type: ignore[call-overload]


@invariant("B", source=DPO)
def test_parts_of_the_batch(dpo_loss: Operation, draw: Draw) -> None:
    """The losses of two parts of a batch, each weighted by its pairs, give that of the whole, whatever the other part holds."""
    pairs, given = draw_inputs(draw, "label_smoothing", "reduction")
    b = len(pairs[0])
    cut = min(1 + draw.integer(0, 99) * (b - 1) // 100, b - 1)
    parts = [part for part in (slice(0, cut), slice(cut, b)) if part.stop > part.start]
    losses = [dpo_loss(*(x[part] for x in pairs), **given) for part in parts]
    whole = dpo_loss(*pairs, **given)
    if given.get("reduction", "mean") == "none":
        for part, loss in zip(parts, losses, strict=True):
            assert_equal(whole[part], loss)
    else:
        total = sum(loss * float(part.stop - part.start) for part, loss in zip(parts, losses, strict=True))
        assert_equal(whole * float(b), total)


@invariant("F", source=DPO)
def test_no_overflow(dpo_loss: Operation, draw: Draw) -> None:
    """The loss is finite also where beta times the margin is ten thousand, on either side."""
    pairs, given = draw_inputs(draw, "label_smoothing", "reduction", scores=(100.0, 1000.0, 10_000.0))
    assert_finite(dpo_loss(*pairs, **given))


@invariant("B", level="relative-tails", source=DPO, needs=NONE)
def test_relative_tail(dpo_loss: Operation, draw: Draw) -> None:
    """A large margin leaves a loss of e^−x, x = beta d, whose error is relative: 16 roundings of it, beside that of x."""
    pairs, given = draw_inputs(draw, scores=(4.0, 20.0, 60.0))
    chosen, rejected, *reference = (np.asarray(x) for x in pairs)
    beta, u = beta_of(draw, given), Arithmetic.of(dpo_loss.dtype).compute.u
    y = dpo_loss(chosen, rejected, *reference, **given, reduction="none")
    x = beta * ((chosen - rejected) - (reference[0] - reference[1]))
    truth, of_x = np.logaddexp(0.0, -x), 4 * beta * u * sum(np.abs(p) for p in pairs)
    error = 16 * u * truth + truth * np.expm1(of_x) + Arithmetic.of(dpo_loss.dtype).compute.tiny
    assert_equal(y.value, Bounded(truth, Expectation(truth, error, draw.format).radius, WIDE))
