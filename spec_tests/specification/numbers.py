"""All numbers of a format of 16 bits. Of a wider one all exponents with chosen significands, and what surrounds switch points."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from .formats import Format, at_least_float32

CHOSEN_NUMBERS = 2**16  # of a format that has more
SIMPLE_SIGNIFICANDS = (0.0, 0.25, 0.5, 0.75)  # and those next to them, after the implicit bit
NEIGHBOURS = 4  # of each switch point, on either side

# Where code that computes exp, tanh or erf changes its formula: half the steps of the range reduction of exp, the ends of the
# polynomials of tanh and erf, where each saturates, and plain numbers. erf is also asked for x/√2, and tanh for x/2.
_HALF_STEPS = tuple(k * math.log(2) / 2 for k in range(1, 308))
_ENDS = (0.3465, 0.55, 0.625, 0.84375, 0.921875, 1.25, 2.857, 3.92, 4.97, 5.92, 7.90531, 8.66434, 9.01, 13.3, 17.33, 18.02, 22.0)
SWITCH_POINTS = (
    *_HALF_STEPS,
    *(factor * end for end in _ENDS for factor in (1.0, math.sqrt(2), 2.0)),
    *(k / 2 for k in range(1, 257)),
    *(bound * math.log(2) for bound in (87.5, 88.0, 103.97, 126.0, 127.0, 128.0, 149.0, 150.0)),
    *(math.log(2) * f for f in (14.0, 15.0, 16.0, 24.0, 25.0, 1022.0, 1024.0, 1074.0)),
)


@cache
def all_numbers(f: Format) -> np.ndarray:
    """Return every finite number of the format in ascending order, with both zeros."""
    normal = 2 ** (f.precision - 1)  # significands of an exponent
    sizes = np.concatenate([
        np.arange(normal) * f.quantum,
        *((normal + np.arange(normal)) * (f.quantum * 2.0 ** (e - f.emin)) for e in range(f.emin, f.emax + 1)),
    ])  # fmt: skip
    return np.concatenate([-sizes[::-1], sizes])


def choose_numbers(f: Format, rng: np.random.Generator) -> np.ndarray:
    """Return both zeros, numbers of every exponent and those around each switch point, with both signs, in ascending order."""
    half = CHOSEN_NUMBERS // 2
    step = 2 * f.u  # of the significand
    simple = np.concatenate([np.asarray(SIMPLE_SIGNIFICANDS) + k * step for k in (-1, 0, 1)])
    exponents = np.arange(f.emin, f.emax + 1)
    around = np.asarray(SWITCH_POINTS)
    around = f.round(around) + np.arange(-NEIGHBOURS, NEIGHBOURS + 1)[:, None] * 2 * f.u * 2.0 ** np.floor(np.log2(around))
    count = (half - around.size - len(exponents) * len(simple)) // len(exponents)
    significands = np.concatenate([
        np.broadcast_to(1 + simple, (len(exponents), len(simple))), 1 + rng.random((len(exponents), max(count, 0)))
    ], axis=1)  # fmt: skip
    subnormal = 2.0 ** np.arange(f.precision) * f.quantum
    sizes = f.round(np.concatenate([np.ldexp(significands, exponents[:, None]).ravel(), around.ravel(), subnormal, [0.0, f.max]]))
    sizes = np.unique(sizes[np.isfinite(sizes)])
    return np.concatenate([-sizes[::-1], sizes])


def numbers_to_try(f: Format, rng: np.random.Generator, *, is_gradient: bool) -> np.ndarray:
    """Return the numbers of the format on which an elementwise operation, or its gradient, is tried: all, if it has 16 bits."""
    if f.bytes == 2:
        return required_numbers(f, is_gradient=is_gradient)
    numbers = choose_numbers(f, rng)
    return numbers[_keeps_its_cube(numbers, f)] if is_gradient else numbers


@cache
def required_numbers(f: Format, *, is_gradient: bool) -> np.ndarray:
    """Return all finite numbers of the format; for a gradient those whose cube is no matter of overflow or underflow."""
    numbers = all_numbers(f)
    return numbers[_keeps_its_cube(numbers, f)] if is_gradient else numbers


def describe_numbers(x: np.ndarray, f: Format, *, is_gradient: bool) -> str:
    """Return the sentence that x has all numbers of a format of 16 bits, "" if it lacks one."""
    required = required_numbers(f, is_gradient=is_gradient) if f.bytes == 2 else np.empty(0)
    if not required.size or x.size < required.size:
        return ""
    bits, expected = x.reshape(-1).view(np.int64), required.view(np.int64)
    if not (np.array_equal(bits[: len(expected)], expected) or np.all(np.isin(expected, bits))):
        return ""
    is_whole = len(required) == len(all_numbers(f))
    return f"every finite {f.name} number" if is_whole else f"every {f.name} number whose cube float32 holds"


def _keeps_its_cube(x: np.ndarray, f: Format) -> np.ndarray:
    """Whether the format in which x is computed holds its cube as a normal number, or x is 0.

    Elsewhere a usual form of some derivative overflows or underflows, whatever the equation's own form does.
    """
    compute = at_least_float32(f)
    size = np.abs(x)
    return (x == 0) | (size >= 2.0 ** (compute.emin // 3 + 1)) & (size <= 2.0 ** (compute.emax // 3 - 1))
