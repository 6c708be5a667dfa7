"""What goes wrong with the gradient of sigmoid."""

from typing import Any

from reference_numpy.sigmoid import sigmoid

from . import deviation


@deviation("reference", "quarter_at_zero")
def argument_taken_for_the_result(cotangent: Any, x: Any) -> Any:
    """x was saved in place of the result: c x (1 − x).

    Shows: nearly every x. Hides: the two points where σ(x) = x or 1 − x.
    """
    return (cotangent * x * (1 - x),)


@deviation("reference", "even", "quarter_at_zero")
def second_factor_missing(cotangent: Any, x: Any) -> Any:
    """the factor 1 − y is missing: c y.

    Shows: every x but far to the left. Hides: the lower tail.
    """
    return (cotangent * sigmoid(x),)
