"""The floating-point mode of the processor in this thread: how it rounds, and whether it keeps subnormal numbers.

Code compiled with -ffast-math, `torch.set_flush_denormal` and `fesetround` of C change it. The equations are computed in the
same thread where a backend is not isolated, so that their values would change, too.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable

# Names, since Python computes an expression of literals once, when it compiles it.
ONE, HALF, TWO = 1.0, 0.5, 2.0
HALF_ULP = sys.float_info.epsilon / 2  # half of the distance from one to the next larger number
SMALLEST_NORMAL = sys.float_info.min
SMALLEST = 5e-324  # the smallest subnormal number

ENVIRONMENT_BYTES = 256  # more than a fenv_t has in any C library


def read_mode() -> str:
    """Return the mode of the calling thread in words.

    Examples
    --------
    >>> read_mode()
    'to nearest'
    """
    if ONE + HALF_ULP > ONE:
        rounding = "upwards"
    elif -ONE - HALF_ULP < -ONE:
        rounding = "downwards"
    elif ONE - HALF_ULP * HALF * HALF < ONE:
        rounding = "towards zero"
    else:
        rounding = "to nearest"
    keeps = SMALLEST_NORMAL * HALF != 0.0 and SMALLEST * TWO != 0.0
    return rounding if keeps else f"{rounding}, without subnormal numbers"


def _find_c_function(name: str) -> Callable[..., int] | None:
    """Return a function of C's fenv.h, or None where it is not among those that are loaded."""
    try:
        return getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError, TypeError):
        return None


def _keep_environment() -> ctypes.Array[ctypes.c_char] | None:
    keep, kept = _find_c_function("fegetenv"), ctypes.create_string_buffer(ENVIRONMENT_BYTES)
    return kept if keep is not None and keep(kept) == 0 else None


INITIAL = _keep_environment()  # before a backend is loaded
SET_ENVIRONMENT = _find_c_function("fesetenv")


def put_back(_: str) -> None:
    """Put back the mode in which this module was imported, where C's functions for it are loaded."""
    if INITIAL is not None and SET_ENVIRONMENT is not None:
        SET_ENVIRONMENT(INITIAL)
