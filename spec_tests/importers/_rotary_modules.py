"""Modules of rotary position embedding: made of theta, a width and a largest position, called with x and positions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from ..specification.aliases import KEYWORDS
from ._imported import NotTaken, find_name, import_torch, list_parameters
from ._promises import MAX_POSITION, TURNED_WIDTHS

THETA_NAMES = ("theta", *KEYWORDS["theta"])
WIDTH_NAMES = ("d_k", "dim", "head_dim", "d_head", "head_size", "rotary_dim")
LENGTH_NAMES = (
    "max_seq_len", "max_position_embeddings", "max_len", "context_length", "max_seq_length", "max_positions", "seq_len",
)  # fmt: skip
PROBED_WIDTH = 4


def bind_rope(found: Any) -> tuple[Callable[..., Any], str, dict[str, Any]]:
    """Return the function of a rotation, the words on it, and the positions that its table has."""
    names = [p.name for p in list_parameters(found)]
    theta_name, width = find_name(names, THETA_NAMES), find_name(names, WIDTH_NAMES)
    length = find_name(names, LENGTH_NAMES)
    forward = [p.name for p in list_parameters(found.forward)][1:]
    if not width:
        raise NotTaken(f"its constructor ({', '.join(names)}) has no width that is known by name")
    if len(forward) != 2 or forward[0] in ("q", "query"):
        raise NotTaken(f"forward({', '.join(forward)}) is not one of an array and positions")

    def make(d_k: int, theta: float | None, positions: int) -> Any:
        options = {width: d_k, **({length: positions} if length else {}), **({theta_name: theta} if theta_name else {})}
        return found(**options)

    def turn(x: Any, positions: Any, theta: float | None) -> Any:
        count = int(positions.max()) + 1 if positions.numel() else 1
        if length and positions.numel() and int(positions.min()) < 0:
            raise NotImplementedError("positions count from 0")
        size = 1 << (max(count, x.shape[-2]) - 1).bit_length()
        return make(x.shape[-1], theta, size).eval().to(x.device)(x, positions)

    def rope(x: Any, positions: Any, *, theta: float, layout: str) -> Any:
        return turn(x, positions, theta)

    def with_fixed_theta(x: Any, positions: Any, *, layout: str) -> Any:
        return turn(x, positions, None)

    layout = _find_layout(lambda x, positions: turn(x, positions, 10_000.0 if theta_name else None))
    shown = ", ".join(name for name in names if name in (theta_name, width, length))
    words = f"the class {found.__name__}({shown}), layout {layout}" + ("" if theta_name else ", theta 10000")
    domain = {"layout": (layout,), **({"max_position": MAX_POSITION, "d_k": TURNED_WIDTHS} if length else {})}
    return rope if theta_name else with_fixed_theta, words, domain


def _find_layout(turn: Callable[[Any, Any], Any]) -> str:
    """Return which feature the first one is turned into: its neighbour, or that of the other half."""
    torch = import_torch()
    x = torch.zeros(1, PROBED_WIDTH)
    x[0, 0] = 1
    turned = turn(x, torch.tensor([1])).reshape(-1).abs()
    if tuple(turned.shape) != (PROBED_WIDTH,):
        raise NotTaken(f"it answers an array of {tuple(x.shape)} with one of {tuple(turned.shape)}")
    return "half" if turned[PROBED_WIDTH // 2] > turned[1] else "interleaved"


CLASSES: Mapping[str, tuple[tuple[str, ...], Any]] = MappingProxyType(
    {"rope": (("RoPE", "Rotary", "RotaryEmbedding", "RotaryPositionalEmbedding", "RotaryPositionEmbedding"), bind_rope)}
)
