"""Numbers that saturate at the largest number of a format before they are divided by their scale, and not after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from reference_numpy._marks import float64
from reference_numpy._narrow import FLOATS, INTEGERS
from reference_numpy.quantize import quantize

from ...calls.call import Call
from ...deviations.quantize import overflow_to_nan
from ...specification.registry import Specification
from .alternative import Alternative, Named, call_equation

COST = 0.5
ROUNDED = MappingProxyType({"quantize": ("dtype", ("x",)), "kv_cache_append": ("cache_dtype", ("k", "v"))})


def list_saturated_inputs(call: Call) -> Iterator[Alternative]:
    """Yield the right answer to the call whose numbers are limited to those of the format that they are rounded to."""
    name = call.operation.name
    if name in ROUNDED and call.named.get(ROUNDED[name][0]) is not None:
        arrays = ROUNDED[name][1]
        subject = f"{' and '.join(arrays)} {'are' if len(arrays) > 1 else 'is'}"
        said = f"{subject} limited to the range of the format before the scale divides"
        yield Alternative(name, said, partial(_compute, equation=call.operation.spec.reference), COST)
        if name == "quantize":
            for words, equation in (("", overflow_to_nan), (" of every format but float8_e4m3fn", _overflow_of_casts)):
                more = f"{said}, and quotients beyond the range{words} become NaN or infinite"
                yield Alternative(name, more, partial(_compute, equation=equation), COST + 0.25)


def _overflow_of_casts(*arrays: Any, dtype: str, **options: Any) -> Any:
    """Return what the casts of PyTorch 2.13 give, of which that to float8_e4m3fn saturates."""
    return (quantize if dtype == "float8_e4m3fn" else overflow_to_nan)(*arrays, dtype=dtype, **options)


def _compute(spec: Specification, named: Named, equation: Callable[..., Any]) -> Any:
    option, arrays = ROUNDED[spec.name]
    if (dtype := named.get(option)) is None:
        return call_equation(equation, spec, named)
    low, high = INTEGERS[dtype] if dtype in INTEGERS else (-FLOATS[dtype][2], FLOATS[dtype][2])
    limited = {name: np.minimum(np.maximum(float64(named[name]), float(low)), float(high)) for name in arrays}
    return call_equation(equation, spec, {**named, **limited})
