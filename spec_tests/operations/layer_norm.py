"""How layer_norm is drawn: as rms_norm is, with a bias."""

from typing import Any

from reference_numpy.layer_norm import layer_norm
from spec_tests.inputs.draw import Draw
from spec_tests.operations import rms_norm
from spec_tests.specification.declaration import Declaration


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    (x, weight), eps = rms_norm.arguments(draw)
    return (x, weight, draw.gain(len(weight))), eps


declaration = Declaration(
    equation=layer_norm,
    arguments=arguments,
    core={"x": 1},
    precision="fused",
    mixed_dtypes=True,
    linear=("weight", "bias"),
)
