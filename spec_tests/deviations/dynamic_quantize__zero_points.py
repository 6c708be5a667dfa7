"""What goes wrong with the zero points of dynamic_quantize."""

from typing import Any

import numpy as np

from reference_numpy._marks import number, quotient, stored

from . import deviation
from ._with_parts import with_parts


@deviation("reference")
def zero_point_from_the_largest(*arrays: Any, **options: Any) -> Any:
    """the zero point is qmax - rint(hi / scale).

    Shows: blocks in which lo / scale and hi / scale round to opposite sides. Hides: others.
    """

    def from_above(below: Any, above: Any, scale: Any, low: int, high: int) -> Any:
        return stored(quotient(-above, scale, roundings=4), lambda t: np.clip(high + np.rint(t), low, high))

    return with_parts(arrays, options, find_zero_point=from_above)


@deviation("reference")
def range_without_zero(*arrays: Any, **options: Any) -> Any:
    """the range of a block is that of its numbers, and need not have 0 in it.

    Shows: blocks of numbers of one sign. Hides: others.
    """
    return with_parts(arrays, options, with_zero=lambda side: side)


@deviation("reference")
def zero_point_before_rounding(*arrays: Any, **options: Any) -> Any:
    """the zero point is added before the rounding: rint(t + zero_point).

    Shows: ties with an odd zero point. Hides: even zero points, and quotients that are no ties.
    """
    return with_parts(arrays, options, shifted=lambda t, z: stored(t, lambda t: np.rint(t + number(z))))


@deviation("reference", "half_a_step")
def zero_point_subtracted(*arrays: Any, **options: Any) -> Any:
    """the zero point is subtracted from the numbers.

    Shows: zero points that are not 0. Hides: 0.
    """
    return with_parts(arrays, options, shifted=lambda t, z: stored(t, np.rint) - z)


@deviation("reference")
def zero_point_truncated(*arrays: Any, **options: Any) -> Any:
    """lo / scale is truncated to give the zero point.

    Shows: most blocks with numbers of both signs. Hides: lo that is a multiple of the scale.
    """

    def truncated(below: Any, above: Any, scale: Any, low: int, high: int) -> Any:
        return stored(quotient(below, scale, roundings=4), lambda t: np.clip(low + np.trunc(t), low, high))

    return with_parts(arrays, options, find_zero_point=truncated)
