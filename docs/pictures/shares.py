"""How much of the allowed error each shipped backend uses in one operation, from conformance.json and gradients.json."""

import json
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from palette import CLASSES, DTYPES, MARKERS, ORANGE, limited

MEASURED = Path(__file__).parent.parent / "measured"
Cells = dict[str, dict[str, dict[str, Any]]]  # by backend and dtype


def draw(figure: Figure, operation: str) -> str:
    cells = measured(operation)
    shown = [dtype for dtype in DTYPES if any(own.get(dtype) for own in cells.values())]
    figure.set_size_inches(7.2, 0.75 + 0.17 * len(cells))
    panels = figure.subplots(1, len(shown), sharey=True, squeeze=False)[0]
    for axes, dtype in zip(panels, shown, strict=True):
        limited(axes, dtype, list(cells))
        for row, own in enumerate(cells.values()):
            mark(axes, row, own.get(dtype) or {})
    reached = {cell.get("class") for own in cells.values() for cell in own.values()}
    handles = [
        panels[0].plot([], [], MARKERS[kind], color=CLASSES[kind], label=kind, markersize=5)[0]
        for kind in CLASSES
        if kind in reached
    ]
    figure.legend(handles=handles, loc="outside lower right", ncols=4)
    figure.supxlabel("largest share of the allowed error; 1 is the limit, × is beyond", x=0.02, ha="left", fontsize=9)
    return told(operation, cells)


def measured(operation: str) -> Cells:
    data = "gradients.json" if operation.endswith("_vjp") else "conformance.json"
    entries = json.loads((MEASURED / data).read_text())
    cells = {name: entry.get("cells", {}).get(operation, {}) for name, entry in entries.items()}
    return {name: own for name, own in cells.items() if any(own.values())}


def mark(axes: Any, row: int, cell: dict[str, Any]) -> None:
    if cell.get("broken"):
        axes.plot(1.06, row, "x", color=ORANGE, markersize=5, markeredgewidth=1.5)
    if cell.get("worst") is not None and cell["worst"] <= 1:
        axes.hlines(row, 0, cell["worst"], color=CLASSES[cell["class"]], linewidth=1.5, alpha=0.6)
        axes.plot(cell["worst"], row, MARKERS[cell["class"]], color=CLASSES[cell["class"]], markersize=4.5)


def told(operation: str, cells: Cells) -> str:
    tried = [(name, dtype, cell) for name, own in cells.items() for dtype, cell in own.items() if cell]
    right = [(name, dtype, cell) for name, dtype, cell in tried if not cell["broken"] and cell.get("worst") is not None]
    name, dtype, cell = max(right, key=lambda one: one[2]["worst"])
    failing = sum(bool(one[2]["broken"]) for one in tried)
    return (
        f"{operation}, {len(cells)} backends: among those that conform {name} uses most of the allowed error, {cell['worst']:.2f}"
        f" of it in {dtype}, class {cell['class']}; in {failing} of {len(tried)} dtypes some statement fails."
    )
