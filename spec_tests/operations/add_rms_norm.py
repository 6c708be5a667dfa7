"""How add_rms_norm is drawn."""

from types import MappingProxyType
from typing import Any

import numpy as np

from reference_numpy.add_rms_norm import add_rms_norm
from spec_tests.inputs import regimes
from spec_tests.inputs.draw import EPS, MANY_ROWS, WRITTEN_EPS, Draw
from spec_tests.specification.declaration import Declaration

SUMMANDS = MappingProxyType({name: fill for name, fill in regimes.ROWS.items() if name not in ("large", "zeros", "constant")})


def draw_summands(draw: Draw, longest: int = 5000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw x, the residual and the weight. The residual is about as large as x, much larger, or much smaller."""
    (d,) = draw.dims(d=longest)
    shape = (*draw.batch(MANY_ROWS), d)
    scale, largest = draw.one_of((1.0, 1.0, 64.0, 2.0**-6)), draw.format.max / 4  # so that no sum overflows
    x, residual = (np.clip(draw.array(shape, SUMMANDS) * s, -largest, largest) for s in (1.0, scale))
    return x, draw.held(residual), draw.gain(d)


def draw_rounded_sums(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw sums that 16 bits do not hold, in rows long enough to show whether they were rounded before the norm."""
    d = draw.size("d", (64, 65, 128, 300, 1025))
    shape = (*draw.batch(), d)
    x, residual = draw.held(draw.rng.standard_normal(shape)), draw.held(draw.rng.standard_normal(shape))
    return (x, residual, draw.gain(d)), draw.keyword("eps", EPS)


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return draw_summands(draw), draw.keyword("eps", (*EPS, *WRITTEN_EPS))


declaration = Declaration(
    equation=add_rms_norm,
    arguments=arguments,
    core={"x": 1, "residual": 1},
    precision="fused",
    results={"y": "", "residual": ""},
    open_questions={"residual_rounding": draw_rounded_sums},
    linear=("weight",),
)
