"""How alibi_slopes is drawn."""

from collections.abc import Callable
from typing import Any

import numpy as np

from reference_numpy.alibi_slopes import alibi_slopes
from spec_tests.inputs.draw import Draw
from spec_tests.specification.declaration import Declaration

POWERS_OF_TWO = (1, 2, 4, 8, 16, 32, 64, 128)
HEAD_COUNTS = (*POWERS_OF_TWO, 3, 5, 6, 7, 9, 12, 20, 24, 31, 33, 40, 48, 71, 96, 112, 127, 129)


def bound(wrap: Callable[[Any], Any], *, num_heads: int) -> Any:
    """Evaluate the equation as the paper's code does, by powers of the first slope. Other usual ways have smaller errors."""
    below = 1 << (num_heads.bit_length() - 1)
    slopes = np.power(np.power(wrap(2.0), -8 / below), np.arange(1, below + 1))
    between = np.power(np.power(wrap(2.0), -4 / below), np.arange(1, 2 * below, 2))
    return np.concatenate([slopes, between[: num_heads - below]])


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (), draw.keyword("num_heads", HEAD_COUNTS)


declaration = Declaration(
    equation=alibi_slopes,
    arguments=arguments,
    dtype="float32",
    bound=bound,
    short=True,
)
