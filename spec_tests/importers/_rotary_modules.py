"""Modules of rotary position embedding: made of theta, a width and a largest position.

They are called with x and positions, or with positions, queries and keys, as in vLLM: there the rows of queries and keys are
tokens, and a row has the features of all heads, of which there is one here.
"""

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
    "max_seq_len", "max_position_embeddings", "max_position", "max_len", "context_length", "max_seq_length", "max_positions",
    "seq_len",
)  # fmt: skip
POSITION_NAMES = ("positions", *ARRAYS["positions"], "input_pos", "t", "p", "idx", "indices")
QUERY_NAMES, KEY_NAMES = ("q", *ARRAYS["q"]), ("k", *ARRAYS["k"])
LAYOUT_NAMES: Mapping[str, str] = MappingProxyType(
    {"is_neox_style": "half", "is_neox": "half", "neox_style": "half", "interleaved": "interleaved"}
)  # flags of a constructor, and the layout for which they are true
PROBED_WIDTH = 4
DEFAULT_THETA = 10_000.0
DIGITS = 3  # of a theta that a call shows: more are rounding errors


def bind_rope(found: Any) -> tuple[Callable[..., Any], str, dict[str, Any]]:
    """Return the function of a rotation, the words on it, and the positions that its table has."""
    parameters = list_parameters(found)
    names = [p.name for p in parameters]
    theta_name, length = find_name(names, THETA_NAMES), find_name(names, LENGTH_NAMES)
    widths = [name for name in names if name == find_name(names, WIDTH_NAMES) or name == "rotary_dim"]
    # A choice of the layout that has a default is left alone: a call shows which layout that is.
    choices = {p.name: LAYOUT_NAMES[p.name] for p in parameters if p.name in LAYOUT_NAMES and p.default is p.empty}
    dtype = {p.name for p in parameters if p.name == "dtype" and p.default is p.empty}
    call = _find_call(found)
    if not widths:
        raise NotTaken(say_no_parameter(names, "the number of features", WIDTH_NAMES))

    def turn(x: Any, positions: Any, theta: float | None, layout: str) -> Any:
        if length and positions.numel() and int(positions.min()) < 0:
            raise NotImplementedError("positions count from 0")
        count = int(positions.max()) + 1 if positions.numel() else 1
        size = 1 << (max(count, x.shape[-2]) - 1).bit_length()
        options: dict[str, Any] = dict.fromkeys(widths, x.shape[-1])
        options |= {length: size} if length else {}
        options |= {theta_name: theta} if theta_name else {}
        options |= {name: layout == true_for for name, true_for in choices.items()} | dict.fromkeys(dtype, x.dtype)
        return call(found(**options).eval().to(x.device), x, positions)

    def rope(x: Any, positions: Any, *, theta: float, layout: str) -> Any:
        return turn(x, positions, theta, layout)

    def with_fixed_theta(x: Any, positions: Any, *, layout: str) -> Any:
        return turn(x, positions, None, layout)

    features = _turn_first_features(lambda x, positions: turn(x, positions, DEFAULT_THETA if theta_name else None, "interleaved"))
    layout = "half" if features[0][PROBED_WIDTH // 2].abs() > features[0][1].abs() else "interleaved"
    shown = ", ".join(name for name in names if name in (theta_name, *widths, length, *choices))
    words, domain = f"the class {found.__name__}({shown})", dict[str, Any]()
    if not choices:
        words, domain = f"{words}, layout {layout}", {"layout": (layout,)}
    if not theta_name:
        theta = _find_theta(features[1] if layout == "half" else features[2])
        words, domain = f"{words}, theta {theta:g} as a call shows", domain | {"theta": (theta,)}
    if length:
        domain |= {"max_position": MAX_POSITION, "d_k": TURNED_WIDTHS}
    return rope if theta_name else with_fixed_theta, words, domain


def _find_call(found: Any) -> Callable[[Any, Any, Any], Any]:
    """Return the function that calls a module with x and positions, by the parameters of its forward."""
    parameters = list_parameters(found.forward)[1:]
    names, given = [p.name for p in parameters], [p.name for p in parameters if p.default is p.empty]
    first, second, third = (*names, "", "", "")[:3]
    if first not in QUERY_NAMES and second in POSITION_NAMES and given in (names[:1], names[:2]):
        return lambda module, x, positions: module(x, positions)
    if (first in POSITION_NAMES and second in QUERY_NAMES and third in KEY_NAMES) and given in (names[:2], names[:3]):
        return _turn_rows
    told = f"forward({', '.join(names)})"
    raise NotTaken(f"{told} is not one of an array and positions, or of positions, queries and keys")


def _turn_rows(module: Any, x: Any, positions: Any) -> Any:
    """Return the queries that a module turns, of rows of one head each. The keys are the same rows."""
    rows = x.reshape(-1, x.shape[-1])
    turned = module(positions.expand(x.shape[:-1]).reshape(-1), rows.clone(), rows.clone())
    if not isinstance(turned, tuple | list) or not turned:
        raise NotTaken(f"it answers queries and keys with {_describe(turned)}")
    return turned[0].reshape(x.shape)


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
