"""How sliding_window_mask is drawn."""

from typing import Any

from reference_numpy.sliding_window_mask import sliding_window_mask
from spec_tests.inputs.draw import Draw
from spec_tests.specification.declaration import Declaration

WINDOWS = (1, 0, 0, 2, 3, 7, 16, 64, 128, 4096)


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    n, m = draw.dims(n=513, m=513)
    keywords = {"n": n, **draw.columns(m, n * n)}
    widest = max(n, m) - 1
    windows = (*WINDOWS, widest // 3, widest // 2, max(widest - 1, 0), widest, widest + 1, 2**31 - 1, 2**40)
    return (), keywords | draw.keyword("window", windows) | draw.keyword("is_causal", (True, False))


declaration = Declaration(
    equation=sliding_window_mask,
    arguments=arguments,
    precision="exact",
    dtype="bool",
)
