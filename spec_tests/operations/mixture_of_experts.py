"""How mixture_of_experts is drawn."""

from typing import Any

import numpy as np

from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.inputs.draw import Draw
from spec_tests.operations.linear import SMALL_TOKEN_BATCHES

composed = True
cost = 4
core = {"x": 1}
chooses = True
choices = {"renormalize": (True, False)}

EXPERTS = (1, 2, 3, 4, 5, 8)  # every one computes every token in the reference


def draw_k(draw: Draw, experts: int) -> dict[str, Any]:
    """Draw how many experts are chosen: one, all, all but one, or about half."""
    k = draw.keyword("k", (draw.near(1, 2, experts // 2, experts, low=1, high=experts),))
    if k["k"] > experts:
        raise NotImplementedVariant(f"its domain has no k of {experts} experts")
    return k


def draw_inputs(draw: Draw, pool: tuple[int, ...] = EXPERTS) -> tuple[np.ndarray, ...]:
    """Draw x, the router, and the weights of the experts. The router decides clearly, or little."""
    d, h = draw.dims(d=65, h=65)
    experts = draw.size("experts", pool)
    x = draw.vectors((*draw.batch(SMALL_TOKEN_BATCHES), d))
    router = draw.held(draw.weight(experts, d) * draw.one_of((1.0, 4.0, 0.25)))
    gate = draw.held(draw_stack(draw, experts, h, d) * draw.one_of((1.0, 4.0)))
    return x, router, gate, draw_stack(draw, experts, d, h), draw_stack(draw, experts, h, d)


def draw_stack(draw: Draw, experts: int, rows: int, columns: int) -> np.ndarray:
    """Draw one weight for each expert."""
    return draw.weight(experts * rows, columns).reshape(experts, rows, columns)


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    arrays = draw_inputs(draw)
    return arrays, draw_k(draw, len(arrays[1])) | draw.keyword("renormalize", (True, False))
