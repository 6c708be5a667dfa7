"""How cosine_schedule is drawn."""

from collections.abc import Callable
from typing import Any

import numpy as np

from reference_numpy.cosine_schedule import cosine_schedule
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.inputs.draw import Draw
from spec_tests.specification.declaration import Declaration

WARMUPS = (0, 1, 2, 3, 7, 100, 2000)
LENGTHS = (1, 2, 3, 4, 7, 100, 9999)
RATES = (1.0, 3e-4, 6e-3, 0.1, 2.0**-20)


def bound(
    wrap: Callable[[Any], Any], *, step: int, max_learning_rate: Any, min_learning_rate: Any, warmup_steps: int, cosine_steps: int
) -> Any:
    """Evaluate the equation with the errors of the angle and of its cosine, which depend on no real argument."""
    if step < warmup_steps:
        return max_learning_rate * (wrap(float(step)) / float(warmup_steps))
    if step > cosine_steps:
        return min_learning_rate
    turn = wrap(np.pi) * (wrap(float(step - warmup_steps)) / float(cosine_steps - warmup_steps))
    return min_learning_rate + 0.5 * (1 + np.cos(turn)) * (max_learning_rate - min_learning_rate)


def draw_rates(draw: Draw) -> dict[str, Any]:
    """Draw both rates and the steps at which the warm-up and the decay end."""
    rates = draw.keyword("max_learning_rate", RATES)
    top = rates["max_learning_rate"]
    warmup, end = draw_ends(draw)
    return {**rates, **draw.keyword("min_learning_rate", (top / 10, 0.0, top)), "warmup_steps": warmup, "cosine_steps": end}


def draw_ends(draw: Draw) -> tuple[int, int]:
    """Draw the steps at which the warm-up and the decay end. The domain may state either."""
    ends = draw.operation.domain.get("cosine_steps")
    warmups = tuple(w for w in draw.operation.domain.get("warmup_steps", WARMUPS) if ends is None or w < max(ends))
    if not warmups:
        raise NotImplementedVariant("its domain has no decay that ends after the warm-up")
    warmup = draw.one_of(warmups)
    return warmup, warmup + draw.one_of(LENGTHS) if ends is None else draw.one_of(tuple(e for e in ends if e > warmup))


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    rates = draw_rates(draw)
    warmup, end = rates["warmup_steps"], rates["cosine_steps"]
    near = {0, 1, warmup - 1, warmup, warmup + 1, (warmup + end) // 2, end - 1, end, end + 1, 2 * end}
    step = draw.one_of((*sorted(s for s in near if s >= 0), draw.integer(0, 2 * end)))
    return (), draw.keyword("step", (step,)) | rates


declaration = Declaration(
    equation=cosine_schedule,
    arguments=arguments,
    dtype="float64",
    changeable=("max_learning_rate", "min_learning_rate"),
    bound=bound,
    short=True,
)
