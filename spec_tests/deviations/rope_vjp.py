"""What goes wrong with the gradient of rope: the direction and the pairs."""

from collections.abc import Callable
from typing import Any

import numpy as np

from reference_numpy.rope import rope
from reference_numpy.rope_vjp import rope_vjp

from . import deviation
from .rope import with_frequencies
from .rope import with_options as with_forward_options


def with_options(equation: Callable[..., Any]) -> Callable[..., Any]:
    """Return the equation of a deviation, applied to the first rotary_dim features and scaled by attention_factor."""

    def evaluate(cotangent: Any, x: Any, positions: Any, inverse_frequencies: Any = None, **options: Any) -> Any:
        def pull_back(c: Any, positions: Any, inverse_frequencies: Any = None, **plain: Any) -> Any:
            given = {} if inverse_frequencies is None else {"inverse_frequencies": inverse_frequencies}
            return equation(c, x[..., : c.shape[-1]], positions, **given, **plain)[0]

        return with_forward_options(pull_back)(cotangent, positions, inverse_frequencies, **options), None, None

    return evaluate


@deviation("reference", "turns_back")
@with_frequencies
def turned_forward(cotangent: Any, x: Any, positions: Any, frequencies: Any, *, layout: str = "interleaved") -> Any:
    """the cotangent is turned by the same angle once more, not back.

    Shows: every position but 0. Hides: position 0.
    """
    return rope(cotangent, positions, frequencies, layout=layout), None, None


@deviation("reference", "turns_back")
@with_frequencies
def other_pairs(cotangent: Any, x: Any, positions: Any, frequencies: Any, *, layout: str = "interleaved") -> Any:
    """the pairs are those of the other layout, on the way back alone.

    Shows: four features or more. Hides: d_k = 2, position 0.
    """
    other = "half" if layout == "interleaved" else "interleaved"
    return rope_vjp(cotangent, x, positions, frequencies, layout=other)


@deviation("reference", "turns_back")
@with_frequencies
def not_turned(cotangent: Any, x: Any, positions: Any, frequencies: Any, *, layout: str = "interleaved") -> Any:
    """the cotangent is returned as it is.

    Shows: every position but 0. Hides: position 0.
    """
    return cotangent * np.ones(x.shape), None, None


@deviation("reference", "turns_back")
def base_of_its_own(
    cotangent: Any,
    x: Any,
    positions: Any,
    inverse_frequencies: Any = None,
    *,
    theta: float = 10000.0,
    layout: str = "interleaved",
) -> Any:
    """the base is 10000 on the way back, whatever is given.

    Shows: another theta. Hides: theta = 10000.
    """
    return rope_vjp(cotangent, x, positions, inverse_frequencies, layout=layout)


@deviation("reference", "turns_back", "isometry", "ignores_x")
@with_frequencies
def argument_for_the_cotangent(cotangent: Any, x: Any, positions: Any, frequencies: Any, *, layout: str = "interleaved") -> Any:
    """the saved x is turned back, not the cotangent.

    Shows: any cotangent but x. Hides: a loss of half the squared length, whose cotangent is the result.
    """
    return rope_vjp(x, x, positions, frequencies, layout=layout)


@deviation("reference", "turns_back_by_sections")
def turned_back_by_time_alone(
    cotangent: Any,
    x: Any,
    positions: Any,
    inverse_frequencies: Any = None,
    *,
    sections: Any = None,
    section_layout: str = "chunked",
    **options: Any,
) -> Any:
    """with sections every pair turns back by the position of time.

    Shows: images, whose tokens differ in height and width. Hides: text, whose three positions are equal.
    """
    return rope_vjp(cotangent, x, positions if sections is None else positions[0], inverse_frequencies, **options)
