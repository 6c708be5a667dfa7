"""How mixture_of_experts is drawn."""

import math
from typing import Any

import numpy as np

from reference_numpy.mixture_of_experts import mixture_of_experts
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.inputs.draw import Draw, single
from spec_tests.operations.gated_activation import draw_gate
from spec_tests.operations.linear import SMALL_TOKEN_BATCHES
from spec_tests.specification.declaration import Declaration

BIASES = ("b_router", "b1", "b2", "b3")

GATE = ("activation", "limit", "alpha", "offset")

(GPT_OSS_ALPHA,) = single(1.702)

EXPERTS = (1, 2, 3, 4, 5, 8, 4, 6, 8)  # every one computes every token in the reference


def draw_k(draw: Draw, experts: int) -> dict[str, Any]:
    """Draw how many experts are chosen: one, a few, about half, or all. Mostly some are left out, as in models."""
    k = draw.keyword("k", (draw.near(1, 2, experts // 2, experts // 2, experts, low=1, high=experts),))
    if k["k"] > experts:
        raise NotImplementedVariant(f"its domain has no k of {experts} experts")
    return k


def draw_inputs(draw: Draw, pool: tuple[int, ...] = EXPERTS) -> tuple[np.ndarray, ...]:
    """Draw x, the router, and the weights of the experts. The router decides clearly, or little."""
    d, h = draw.dims(d=65, h=65)
    experts = draw.size("experts", pool)
    x = draw.vectors((*draw.batch(SMALL_TOKEN_BATCHES), d))
    router = draw.held(draw.weight(experts, d) * draw.one_of((1.0, 4.0, 0.25, 0.25)))
    gate = draw.held(draw_stack(draw, experts, h, d) * draw.one_of((1.0, 4.0)))
    return x, router, gate, draw_stack(draw, experts, d, h), draw_stack(draw, experts, h, d)


def draw_stack(draw: Draw, experts: int, rows: int, columns: int) -> np.ndarray:
    """Draw one weight for each expert."""
    return draw.weight(experts * rows, columns).reshape(experts, rows, columns)


def draw_biases(draw: Draw, names: set[str], experts: int, h: int, d: int) -> dict[str, np.ndarray]:
    """Draw the biases of these names: one of the router, and some for each expert."""
    shapes = {"b_router": (experts,), "b1": (experts, h), "b2": (experts, d), "b3": (experts, h)}
    return {name: draw.gain(math.prod(shape)).reshape(shape) for name, shape in shapes.items() if name in names}


def draw_own_gate(draw: Draw, used: set[str]) -> dict[str, Any]:
    """Draw the keywords of the gate, if one of them is among the arguments used: half of the time those of gpt-oss."""
    if not used.intersection(GATE):
        return {}
    gate, domain = draw_gate(draw), draw.operation.domain
    published = {"activation": "silu", "limit": draw.one_of((7.0, 1.0, 0.5)), "alpha": GPT_OSS_ALPHA, "offset": 1.0}
    published = {name: published[name] for name in gate}
    inside = all(value in domain.get(name, (value,)) for name, value in published.items())
    return published if inside and draw.one_of((True, False)) else gate


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    arrays = draw_inputs(draw)
    keywords = draw_k(draw, len(arrays[1])) | draw.keyword("renormalize", (True, False))
    used = draw.variants(*BIASES, *GATE, seldom=True)
    return arrays, keywords | draw_biases(draw, used, *arrays[2].shape) | draw_own_gate(draw, used)


declaration = Declaration(
    equation=mixture_of_experts,
    arguments=arguments,
    core={"x": 1},
    composed=True,
    cost=4,
    chooses=True,
    choices={"renormalize": (True, False)},
    linear=("w2", "b2"),
)
