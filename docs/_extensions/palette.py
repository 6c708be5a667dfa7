"""Colours and markers of the pictures. The colours are visible on white and on black, and are never the only difference."""

from __future__ import annotations

from typing import Any

BLUE, ORANGE, GREEN, PURPLE, GREY = "#3b8fd4", "#d9772b", "#2a9d63", "#b45bb0", "#868686"
CLASSES = {"exact": GREY, "fused": GREEN, "mixed": BLUE, "eager": PURPLE}  # as in a report
MARKERS = {"exact": "D", "fused": "o", "mixed": "s", "eager": "^"}
DTYPES = {"float64": GREEN, "float32": BLUE, "bfloat16": ORANGE, "float16": PURPLE}
SHAPES = {"float64": "D", "float32": "o", "bfloat16": "s", "float16": "^"}


def draw_share_axes(axes: Any, title: str, rows: list[str]) -> None:
    """Set up axes with a row for each name, the share of the allowed error along x, and a line at the limit, 1."""
    axes.set_title(title, fontsize=8)
    axes.set(xlim=(-0.04, 1.14), xticks=(0, 0.5, 1), ylim=(len(rows) - 0.4, -0.6))
    axes.axvline(1, color=GREY, linewidth=1, linestyle="--")
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", color=GREY, alpha=0.3, linewidth=0.5)
