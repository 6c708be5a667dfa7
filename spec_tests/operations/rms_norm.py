"""How rms_norm is drawn."""

from typing import Any

from reference_numpy.rms_norm import rms_norm
from spec_tests.inputs.draw import EPS, MANY_ROWS, WRITTEN_EPS, Draw
from spec_tests.specification.declaration import Declaration


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    (d,) = draw.dims(d=5000)
    batch = draw.batch(MANY_ROWS)
    eps = draw.keyword("eps", (*EPS, *WRITTEN_EPS, 0.0))
    return (draw.rows((*batch, d)), draw.gain(d)), eps


declaration = Declaration(
    equation=rms_norm,
    arguments=arguments,
    core={"x": 1},
    precision="fused",
    mixed_dtypes=True,
    linear=("weight",),
)
