"""What must hold of cosine_schedule."""

from typing import Any

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_within, exactly
from .inputs.draw import Draw
from .operations.cosine_schedule import draw_rates
from .trials.invariant import invariant

EQUATION = "CS336 assignment 1, section 4.4"


@invariant("B", source=EQUATION)
def test_ends(cosine_schedule: Operation, draw: Draw) -> None:
    """The step warmup_steps has the largest rate, and the step cosine_steps and every later one the smallest."""
    rates = draw_rates(draw)
    warmup, end = rates["warmup_steps"], rates["cosine_steps"]
    assert_equal(cosine_schedule(step=warmup, **rates), exactly(rates["max_learning_rate"]))
    for step in (end, end + 1, end + draw.integer(1, 1000), 10 * end):
        assert_equal(cosine_schedule(step=step, **rates), exactly(rates["min_learning_rate"]))


@invariant("B", source=EQUATION)
def test_warmup_is_proportional(cosine_schedule: Operation, draw: Draw) -> None:
    """During the warm-up the rate is the step's share of the largest rate."""
    rates = draw_rates(draw)
    step = draw.integer(0, rates["warmup_steps"])
    expected = exactly(rates["max_learning_rate"]) * exactly(float(step))
    assert_equal(
        cosine_schedule(step=step, **rates) * float(rates["warmup_steps"]), expected if step else exactly(0.0) * expected
    )


@invariant("B", source=EQUATION)
def test_mirrored_steps(cosine_schedule: Operation, draw: Draw) -> None:
    """Two steps as far from the decay's start and from its end add up to the sum of both rates."""
    rates = draw_rates(draw)
    warmup, end = rates["warmup_steps"], rates["cosine_steps"]
    s = draw.integer(0, end - warmup)
    total = exactly(rates["max_learning_rate"]) + exactly(rates["min_learning_rate"])
    assert_equal(cosine_schedule(step=warmup + s, **rates) + cosine_schedule(step=end - s, **rates), total)


@invariant("B", source=EQUATION)
def test_decay_falls(cosine_schedule: Operation, draw: Draw) -> None:
    """The decay never rises, and stays between the two rates."""
    rates = draw_rates(draw)
    warmup, end = rates["warmup_steps"], rates["cosine_steps"]
    step = draw.integer(warmup, end - 1)
    here, after = cosine_schedule(step=step, **rates), cosine_schedule(step=step + 1, **rates)
    assert_within(after, exactly(rates["min_learning_rate"]), here)
    assert_within(here, after, exactly(rates["max_learning_rate"]))


@invariant("B", source=EQUATION)
def test_linear_in_the_rates(cosine_schedule: Operation, draw: Draw) -> None:
    """Both rates twice as large give twice the rate, and equal rates are the rate of every step of the decay."""
    rates = draw_rates(draw)
    step = draw.integer(0, 2 * rates["cosine_steps"])
    double: dict[str, Any] = {**rates, **{name: 2 * rates[name] for name in ("max_learning_rate", "min_learning_rate")}}
    assert_equal(cosine_schedule(step=step, **double), 2.0 * cosine_schedule(step=step, **rates))
    level = {**rates, "min_learning_rate": rates["max_learning_rate"]}
    late = max(step, rates["warmup_steps"])
    assert_equal(cosine_schedule(step=late, **level), exactly(rates["max_learning_rate"]))
