"""How arguments of operations on numbers in few bits are drawn: formats, blocks, scales, and what is hard to round."""

from typing import Any

import numpy as np

from reference_numpy._narrow import count_blocks
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.inputs.draw import Draw, within_domain
from spec_tests.specification.narrow_formats import NARROW_FORMATS, NarrowFormat

BLOCKS = (
    *((None, None), (1, None), (1, 32), (1, 16), (1, 128), (128, 128)),
    *((None, 1), (1, 1), (2, 3), (4, 64), (64, None), (3, 1), (7, 5)),
)
MAX_SIDE = 2000  # of a matrix, where the domain asks for a number of blocks
LARGE_BLOCK = 64  # rows or columns
LARGEST_EXPONENT, LARGEST_FLOAT16_EXPONENT = 20, 3  # of drawn scales that are powers of two


def choose(draw: Draw, name: str, *values: Any) -> dict[str, Any]:
    """Draw one of the values of a keyword that the domain allows, and return it as {name: value}."""
    stated, accepts = draw.operation.domain.get(name), draw.operation.accepts(name)
    allowed = values if accepts else (draw.operation.spec.defaults.get(name),)
    fitting = tuple(value for value in values if value in (allowed if stated is None else stated))
    if not fitting:
        raise NotImplementedVariant(f"its domain has no {name} = {' or '.join(map(str, dict.fromkeys(values)))}")
    value = draw.one_of(draw.planned(name, fitting, str))
    return {name: value} if accepts or (stated is not None and len(stated) == 1) else {}


def draw_block(draw: Draw) -> dict[str, Any]:
    """Draw a block, of those that the domain states if it does, and of which it allows as many as there will be."""
    domain = draw.operation.domain
    blocks = domain.get("block", BLOCKS)
    limits = [(axis, min(domain[name])) for axis, name in enumerate("RC") if name in domain and 1 not in domain[name]]
    fitting = [b for b in blocks if all((b[axis] or MAX_SIDE) * count < MAX_SIDE for axis, count in limits)]
    return choose(draw, "block", *(fitting or blocks))


def draw_sides(draw: Draw, f: NarrowFormat, block: Any, *, rows: int = 70, columns: int = 300) -> tuple[int, int]:
    """Draw the sizes of a matrix. Where several codes share a byte or a word, the rows fill theirs."""
    m, k = (
        _fit_blocks(draw, name, length, size)
        for name, length, size in zip("RC", draw.dims(M=rows, K=columns), block, strict=True)
    )
    per_entry = draw.operation.backend.carrier(f).per_entry
    return m, -(-k // per_entry) * per_entry


def draw_uneven_sides(draw: Draw, f: NarrowFormat, block: Any) -> tuple[int, int]:
    """Draw the sizes of a matrix that has two or three blocks in a direction, of which the last one is mostly shorter."""
    lengths = [
        draw.integer(1, 4) if size is None else size * draw.one_of((1, 2) if size < LARGE_BLOCK else (1,)) + draw.integer(1, size)
        for size in block
    ]
    per_entry = draw.operation.backend.carrier(f).per_entry
    m, k = lengths[0], -(-lengths[1] // per_entry) * per_entry
    r, c = shape_of_scales((m, k), block)
    within_domain(draw, M=m, K=k, R=r, C=c)
    return m, k


def _fit_blocks(draw: Draw, name: str, length: int, size: int | None) -> int:
    """Return a length of an axis that has a number of blocks which the domain allows."""
    allowed = draw.operation.domain.get(name)
    if allowed is None or count_blocks(length, size) in allowed or size is None:
        return length
    return min(allowed) * size


def shape_of_scales(shape: tuple[int, ...], block: Any) -> tuple[int, ...]:
    """Return the shape of the scales of an array of this shape."""
    return (*shape[:-2], *(count_blocks(n, size) for n, size in zip(shape[-2:], block, strict=True)))


def draw_powers(draw: Draw, shape: tuple[int, ...], low: int | None = None, high: int | None = None) -> np.ndarray:
    """Draw scales that are powers of two, near to 1 where x is float16."""
    most = LARGEST_FLOAT16_EXPONENT if draw.operation.dtype == "float16" else LARGEST_EXPONENT
    return np.asarray(2.0 ** draw.rng.integers(-most if low is None else low, (most if high is None else high) + 1, shape))


def draw_near_one(draw: Draw, shape: tuple[int, ...], scale_dtype: str) -> np.ndarray:
    """Draw scales near to 1, which every format of scales has: powers of two, or others where they are float32."""
    scale = draw_powers(draw, shape, -3, 0)
    if scale_dtype != "float32" or draw.one_of((True, False)):
        return scale
    return np.asarray((scale * draw.rng.uniform(1, 2, shape)).astype(np.float32), dtype=np.float64)


def draw_scales(draw: Draw, shape: tuple[int, ...], scale_dtype: str, *, exact: bool) -> np.ndarray:
    """Draw positive scales in their format. exact: powers of two alone, between which quotients are exact."""
    if scale_dtype == "float8_e8m0fnu":
        wide = draw.operation.dtype != "float16" and not exact and draw.one_of((False, False, True))
        if wide:
            return np.where(draw.rng.random(shape) < 0.2, 2.0**-127, draw_powers(draw, shape, -127, 126))
        return draw_powers(draw, shape)
    if scale_dtype == "float8_e4m3fn":
        numbers = NARROW_FORMATS[scale_dtype].numbers
        positive = numbers[numbers > 0]
        return draw_powers(draw, shape, -6, 3) if exact else draw.rng.choice(positive, shape)
    if exact:
        return draw_powers(draw, shape)
    most = LARGEST_FLOAT16_EXPONENT if draw.operation.dtype == "float16" else draw.one_of((3, 20, 60))
    return (2.0 ** draw.rng.uniform(-most, most, shape)).astype(np.float32).astype(np.float64)


def list_midpoints(f: NarrowFormat) -> np.ndarray:
    """Return the midpoints between neighbouring numbers of a format, and the two beyond which a wider one would round on."""
    finite = np.unique(f.numbers[np.isfinite(f.numbers)])
    last = finite[-1] - finite[-2]
    return np.concatenate([(finite[1:] + finite[:-1]) / 2, finite[[0, -1]] + np.array([-last, last]) / 2])


def draw_quotients(draw: Draw, f: NarrowFormat, shape: tuple[int, ...]) -> np.ndarray:
    """Draw numbers that are hard to round to a format: midpoints, their neighbours in x's dtype, numbers of it, large ones."""
    rng, points, finite = draw.rng, list_midpoints(f), f.numbers[np.isfinite(f.numbers)]
    t = rng.choice(points, shape)
    near = t * (1 + rng.choice((-1, 1), shape) * 2.0 ** (2 - rng.choice((draw.format.precision, 12), shape)))
    beyond = rng.choice((-1.0, 1.0), shape) * f.max * 2.0 ** rng.uniform(0, 4, shape)
    kinds = [t, near, rng.choice(finite, shape), beyond, rng.normal(0, f.max / 3, shape), np.zeros(shape)]
    return np.choose(rng.choice(len(kinds), shape, p=(0.4, 0.15, 0.2, 0.1, 0.12, 0.03)), kinds)


def draw_spread(draw: Draw, f: NarrowFormat, shape: tuple[int, ...]) -> np.ndarray:
    """Draw numbers of every size that a format has, and of sizes beyond it on both sides."""
    if f.is_integer:
        return draw.rng.uniform(f.least - 3, f.max + 3, shape) * draw.rng.choice((1.0, 1.0, 0.1, 3.0), shape)
    exponents = draw.rng.uniform(np.log2(f.quantum) - 3, np.log2(f.max) + 2, shape)
    return draw.rng.choice((-1.0, 1.0), shape) * 2.0**exponents


def draw_zero_points(draw: Draw, f: NarrowFormat, shape: tuple[int, ...]) -> np.ndarray:
    """Draw zero points: any, odd ones, or the least and the largest."""
    low, high = int(f.least), int(f.max)
    kind = draw.one_of(("any", "odd", "ends"))
    if kind == "ends":
        return np.asarray(draw.rng.choice((low, high), shape), dtype=np.int64)
    any_ = draw.rng.integers(low, high + 1, shape)
    return np.asarray(any_ | 1 if kind == "odd" else any_)
