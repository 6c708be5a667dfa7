"""What goes wrong with cosine_schedule: where each part starts and ends."""

from typing import Any

import numpy as np

from reference_numpy.cosine_schedule import cosine_schedule

from . import deviation


def _decay(share: Any, rates: dict[str, Any]) -> Any:
    """Return the rate at this share of the decay."""
    return rates["min_learning_rate"] + 0.5 * (1 + np.cos(np.pi * share)) * _range(rates)


def _range(rates: dict[str, Any]) -> Any:
    return rates["max_learning_rate"] - rates["min_learning_rate"]


def _length(rates: dict[str, Any]) -> int:
    return rates["cosine_steps"] - rates["warmup_steps"]


def _decays(step: int, rates: dict[str, Any]) -> bool:
    return rates["warmup_steps"] <= step <= rates["cosine_steps"]


@deviation("reference", "ends")
def cosine_steps_as_length(*, step: int, **rates: Any) -> Any:
    """cosine_steps is used as the length of the decay, which then ends warmup_steps too late.

    Shows: a warm-up. Hides: none.
    """
    return cosine_schedule(step=step, **{**rates, "cosine_steps": rates["warmup_steps"] + rates["cosine_steps"]})


@deviation("reference", "ends")
def warmup_not_subtracted(*, step: int, **rates: Any) -> Any:
    """the decay counts its steps from 0: cos(π step / cosine_steps).

    Shows: a warm-up. Hides: none.
    """
    return _decay(step / rates["cosine_steps"], rates) if _decays(step, rates) else cosine_schedule(step=step, **rates)


@deviation("reference", "warmup_is_proportional")
def warmup_counted_from_one(*, step: int, **rates: Any) -> Any:
    """the warm-up's steps are counted from 1: (step + 1) / warmup.

    Shows: a warm-up. Hides: none.
    """
    warms = step < rates["warmup_steps"]
    return rates["max_learning_rate"] * ((step + 1) / rates["warmup_steps"]) if warms else cosine_schedule(step=step, **rates)


@deviation("reference", "warmup_is_proportional")
def warmup_from_the_smallest_rate(*, step: int, **rates: Any) -> Any:
    """the warm-up rises from the smallest rate, not from 0.

    Shows: a warm-up with a smallest rate above 0. Hides: either alone.
    """
    if step >= rates["warmup_steps"]:
        return cosine_schedule(step=step, **rates)
    return rates["min_learning_rate"] + _range(rates) * (step / rates["warmup_steps"])


@deviation("reference", "ends")
def cosine_goes_on(*, step: int, **rates: Any) -> Any:
    """after its end the cosine rises again.

    Shows: steps beyond cosine_steps. Hides: the others.
    """
    beyond = step > rates["cosine_steps"]
    return _decay((step - rates["warmup_steps"]) / _length(rates), rates) if beyond else cosine_schedule(step=step, **rates)


@deviation("reference", "ends")
def zero_after_the_end(*, step: int, **rates: Any) -> Any:
    """after the decay the rate is 0.

    Shows: steps beyond cosine_steps and a smallest rate above 0. Hides: the others.
    """
    return 0.0 * rates["min_learning_rate"] if step > rates["cosine_steps"] else cosine_schedule(step=step, **rates)


@deviation("reference", "ends")
def smallest_rate_added(*, step: int, **rates: Any) -> Any:
    """the smallest rate is added to a cosine that falls from the largest rate to 0.

    Shows: a smallest rate above 0. Hides: one of 0.
    """
    y = cosine_schedule(step=step, **rates)
    if not _decays(step, rates):
        return y
    share = 0.5 * (1 + np.cos(np.pi * ((step - rates["warmup_steps"]) / _length(rates))))
    return y + share * rates["min_learning_rate"]


@deviation("reference", "mirrored_steps")
def a_quarter_turn(*, step: int, **rates: Any) -> Any:
    """the decay is cos from 0 to π/2, which falls faster and faster.

    Shows: steps between both ends. Hides: the ends.
    """
    if not _decays(step, rates):
        return cosine_schedule(step=step, **rates)
    turn = np.pi / 2 * ((step - rates["warmup_steps"]) / _length(rates))
    return rates["min_learning_rate"] + np.cos(turn) * _range(rates)


@deviation("reference", "ends")
def one_step_more(*, step: int, **rates: Any) -> Any:
    """the decay ends one step after cosine_steps.

    Shows: the step cosine_steps. Hides: the start.
    """
    longer = {**rates, "cosine_steps": rates["cosine_steps"] + 1}
    return cosine_schedule(step=step, **(longer if _decays(step, rates) else rates))
