"""What goes wrong at a single number, in code that treats each element for itself: in tables, and where formulas meet."""

from typing import Any

import numpy as np

from spec_tests.specification.formats import Format

from . import HALF, deviation

WRONG_ENTRY = (1 + 75 / 128) * 2.0**-13  # a number of both dtypes of 16 bits
END = -2.5 * np.log(2)  # of a step of the range reduction of exp
LOST = 2.0**-12  # of the result, by a polynomial beyond its end


def change_at(x: Any, place: Any, factor: float, result: Any) -> Any:
    """Return the result, or the gradient in a tuple, multiplied by the factor at one number."""
    if isinstance(result, tuple):
        return tuple(change_at(x, place, factor, part) for part in result)
    return np.where(x == place, factor * result, result)


@deviation("every_number", kind="arithmetic", dtypes=HALF, operations=("relu", "sigmoid", "silu", "gelu"))
@deviation("every_number", kind="arithmetic", dtypes=HALF, operations=("relu_vjp", "sigmoid_vjp", "silu_vjp", "gelu_vjp"))
def wrong_entry_of_a_table(*arguments: Any, equation: Any, **keywords: Any) -> Any:
    """a table of all numbers of 16 bits has one wrong entry: at 1.937e-4 the result is twice as large.

    Shows: this number alone. Hides: all others, and so nearly every random input.
    """
    return change_at(arguments[-1], WRONG_ENTRY, 2.0, equation(*arguments, **keywords))


@deviation("every_number", kind="arithmetic", dtypes=("float64", "float32"), operations=("sigmoid", "silu"))
@deviation("every_number", kind="arithmetic", dtypes=("float64", "float32"), operations=("sigmoid_vjp", "silu_vjp"))
def polynomial_beyond_its_end(*arguments: Any, equation: Any, storage: Format, **keywords: Any) -> Any:
    """where e^x goes from one polynomial to the next, at x = −2.5 log 2, the wrong one of the two is used.

    Shows: this number, and not the next. Hides: all others, and so nearly every random input.
    """
    return change_at(arguments[-1], storage.round(END), 1 + LOST, equation(*arguments, **keywords))
