"""Modules of rotary position embedding: made of theta, a width and a largest position, called with x and positions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from ..specification.aliases import ARRAYS, KEYWORDS
from ._imported import NotTaken, find_name, import_torch, list_parameters, say_no_parameter
from ._promises import MAX_POSITION, TURNED_WIDTHS

THETA_NAMES = ("theta", *KEYWORDS["theta"])
WIDTH_NAMES = ("d_k", "dim", "head_dim", "d_head", "head_size", "rotary_dim", "d", "d_model")
LENGTH_NAMES = (
    "max_seq_len", "max_position_embeddings", "max_len", "context_length", "max_seq_length", "max_positions", "seq_len",
)  # fmt: skip
POSITION_NAMES = ("positions", *ARRAYS["positions"], "input_pos", "t", "p", "idx", "indices")
PROBED_WIDTH = 4
DEFAULT_THETA = 10_000.0
DIGITS = 3  # of a theta that a call shows: more are rounding errors


def bind_rope(found: Any) -> tuple[Callable[..., Any], str, dict[str, Any]]:
    """Return the function of a rotation, the words on it, and the positions that its table has."""
    names = [p.name for p in list_parameters(found)]
    theta_name, width = find_name(names, THETA_NAMES), find_name(names, WIDTH_NAMES)
    length = find_name(names, LENGTH_NAMES)
    forward = [p.name for p in list_parameters(found.forward)][1:]
    if len(forward) != 2 or forward[0] in ("q", "query") or forward[1] not in POSITION_NAMES:
        raise NotTaken(f"forward({', '.join(forward)}) is not one of an array and positions")
    if not width:
        raise NotTaken(say_no_parameter(names, "the number of features", WIDTH_NAMES))

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

    features = _turn_first_features(lambda x, positions: turn(x, positions, DEFAULT_THETA if theta_name else None))
    layout = "half" if features[0][PROBED_WIDTH // 2].abs() > features[0][1].abs() else "interleaved"
    shown = ", ".join(name for name in names if name in (theta_name, width, length))
    words, domain = f"the class {found.__name__}({shown}), layout {layout}", dict[str, Any](layout=(layout,))
    if not theta_name:
        theta = _find_theta(features[1] if layout == "half" else features[2])
        words, domain = f"{words}, theta {theta:g} as a call shows", domain | {"theta": (theta,)}
    if length:
        domain |= {"max_position": MAX_POSITION, "d_k": TURNED_WIDTHS}
    return rope if theta_name else with_fixed_theta, words, domain


def _turn_first_features(turn: Callable[[Any, Any], Any]) -> list[Any]:
    """Return what each of the first features becomes at position 1."""
    torch = import_torch()
    turned = []
    for feature in range(PROBED_WIDTH - 1):
        x = torch.zeros(1, PROBED_WIDTH)
        x[0, feature] = 1
        answer = turn(x, torch.tensor([1]))
        if tuple(getattr(answer, "shape", ())) != (1, PROBED_WIDTH):
            raise NotTaken(f"it answers an array of {tuple(x.shape)} with {_describe(answer)}")
        turned.append(answer[0].detach())
    return turned


def _describe(answer: Any) -> str:
    return f"one of {tuple(answer.shape)}" if hasattr(answer, "shape") else f"a {type(answer).__name__}"


def _find_theta(turned: Any) -> float:
    """Return the theta of the second pair, whose angle at position 1 is 1 / √θ. 10000 if it was not turned by such an angle."""
    *_, sine, cosine = sorted(map(float, turned.abs()))
    angle = math.atan2(sine, cosine)
    return float(f"{angle**-2:.{DIGITS - 1}e}") if 0 < angle < 1 else DEFAULT_THETA


CLASSES: Mapping[str, tuple[tuple[str, ...], Any]] = MappingProxyType(
    {"rope": (("RoPE", "Rotary", "RotaryEmbedding", "RotaryPositionalEmbedding", "RotaryPositionEmbedding"), bind_rope)}
)
