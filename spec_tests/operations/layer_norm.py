"""How layer_norm is drawn: as rms_norm is, with a bias."""

from typing import Any

from spec_tests.inputs.draw import Draw
from spec_tests.operations import rms_norm

precision = rms_norm.precision
core = rms_norm.core
mixed_dtypes = rms_norm.mixed_dtypes


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    (x, weight), eps = rms_norm.arguments(draw)
    return (x, weight, draw.gain(len(weight))), eps
