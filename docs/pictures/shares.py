"""Draw how much of the allowed error each shipped backend uses in one operation.

The data are docs/measured/conformance.json and gradients.json.
"""

import json
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from palette import CLASSES, DTYPES, MARKERS, ORANGE, draw_share_axes

MEASURED = Path(__file__).parent.parent / "measured"
Cells = dict[str, dict[str, dict[str, Any]]]  # by backend and dtype


def draw(figure: Figure, operation: str) -> str:
    cells = read_cells(operation)
    dtypes = [dtype for dtype in DTYPES if any(by_dtype.get(dtype) for by_dtype in cells.values())]
    figure.set_size_inches(7.2, 0.75 + 0.17 * len(cells))
    panels = figure.subplots(1, len(dtypes), sharey=True, squeeze=False)[0]
    for axes, dtype in zip(panels, dtypes, strict=True):
        draw_share_axes(axes, dtype, list(cells))
        for row, by_dtype in enumerate(cells.values()):
            draw_cell(axes, row, by_dtype.get(dtype) or {})
    reached = {cell.get("class") for by_dtype in cells.values() for cell in by_dtype.values()}
    handles = [
        panels[0].plot([], [], MARKERS[kind], color=CLASSES[kind], label=kind, markersize=5)[0]
        for kind in CLASSES
        if kind in reached
    ]
    figure.legend(handles=handles, loc="outside lower right", ncols=4)
    figure.supxlabel("largest share of the allowed error; 1 is the limit, × is beyond", x=0.02, ha="left", fontsize=9)
    return describe(operation, cells)


def read_cells(operation: str) -> Cells:
    data = "gradients.json" if operation.endswith("_vjp") else "conformance.json"
    entries = json.loads((MEASURED / data).read_text())
    cells = {name: entry.get("cells", {}).get(operation, {}) for name, entry in entries.items()}
    return {name: by_dtype for name, by_dtype in cells.items() if any(by_dtype.values())}


def draw_cell(axes: Any, row: int, cell: dict[str, Any]) -> None:
    if cell.get("broken"):
        axes.plot(1.06, row, "x", color=ORANGE, markersize=5, markeredgewidth=1.5)
    if cell.get("worst") is not None and cell["worst"] <= 1:
        axes.hlines(row, 0, cell["worst"], color=CLASSES[cell["class"]], linewidth=1.5, alpha=0.6)
        axes.plot(cell["worst"], row, MARKERS[cell["class"]], color=CLASSES[cell["class"]], markersize=4.5)


def describe(operation: str, cells: Cells) -> str:
    tried = [(name, dtype, cell) for name, by_dtype in cells.items() for dtype, cell in by_dtype.items() if cell]
    conforming = [(name, dtype, cell) for name, dtype, cell in tried if not cell["broken"] and cell.get("worst") is not None]
    name, dtype, cell = max(conforming, key=lambda entry: entry[2]["worst"])
    failing = sum(bool(entry[2]["broken"]) for entry in tried)
    return (
        f"{operation}, {len(cells)} backends: among those that conform {name} uses most of the allowed error, {cell['worst']:.2f}"
        f" of it in {dtype}, class {cell['class']}; in {failing} of {len(tried)} dtypes some statement fails."
    )
