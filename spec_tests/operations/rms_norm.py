"""How rms_norm is drawn."""

from typing import Any

from spec_tests.inputs.draw import EPS, MANY_ROWS, WRITTEN_EPS, Draw

precision = "fused"
core = {"x": 1}
mixed_dtypes = True


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    (d,) = draw.dims(d=5000)
    batch = draw.batch(MANY_ROWS)
    eps = draw.keyword("eps", (*EPS, *WRITTEN_EPS, 0.0))
    return (draw.rows((*batch, d)), draw.gain(d)), eps
