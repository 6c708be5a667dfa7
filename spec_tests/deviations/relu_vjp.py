"""What goes wrong with the gradient of relu."""

from typing import Any

import numpy as np

from reference_numpy._marks import positive

from . import deviation


@deviation("reference", "passes_or_stops")
def passed_everywhere(cotangent: Any, x: Any) -> Any:
    """the cotangent passes everywhere, also where x is negative.

    Shows: negative x. Hides: positive x.
    """
    return (cotangent * np.ones(x.shape),)


@deviation("reference", "passes_or_stops")
def sign_of_the_cotangent(cotangent: Any, x: Any) -> Any:
    """relu is applied to the cotangent, and x is ignored.

    Shows: negative x with a positive cotangent. Hides: a cotangent of zeros.
    """
    return (cotangent * positive(cotangent),)


@deviation("reference", "passes_or_stops")
def leaky(cotangent: Any, x: Any) -> Any:
    """the slope left of 0 is 0.01, as of a leaky rectifier.

    Shows: negative x. Hides: positive x.
    """
    slope = positive(x)
    return (cotangent * (slope + 0.01 * (1 - slope)),)
