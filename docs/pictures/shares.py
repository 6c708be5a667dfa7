"""Draw how much of the allowed error each shipped backend uses in one operation.

The data are docs/measured/conformance.json and gradients.json.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

from drawing import CHARACTER, Drawing
from palette import CLASSES, DTYPES, MARKERS, ORANGE

MEASURED = Path(__file__).parent.parent / "measured"
Cells = dict[str, dict[str, dict[str, Any]]]  # by backend and dtype
WIDTH, ROW, TOP, GAP = 518.0, 12.2, 16.0, 10.0  # points: the picture, a row, what is above the rows, between panels
BELOW = 40.0  # points for the axis and the legend


def write(operation: str) -> Drawing:
    cells = read_cells(operation)
    dtypes = [dtype for dtype in DTYPES if any(by_dtype.get(dtype) for by_dtype in cells.values())]
    left = CHARACTER * max(map(len, cells)) + 6
    drawing = Drawing(WIDTH, TOP + ROW * len(cells) + BELOW, describe(operation, cells))
    for row, name in enumerate(cells):
        drawing.text(left - 4, TOP + ROW * (row + 0.5), name, "end")
    wide = (WIDTH - left) / len(dtypes) - GAP
    for number, dtype in enumerate(dtypes):
        draw_panel(drawing, left + number * (wide + GAP), wide, dtype, [by_dtype.get(dtype) or {} for by_dtype in cells.values()])
    reached = {cell.get("class") for by_dtype in cells.values() for cell in by_dtype.values()}
    last = drawing.height - 8
    drawing.text(2, last, "largest share of the allowed error; 1 is the limit, × is beyond", size=9)
    for number, kind in enumerate(reversed([kind for kind in CLASSES if kind in reached])):
        drawing.mark(MARKERS[kind], x := WIDTH - 44.0 * (number + 1), last, CLASSES[kind], 5)
        drawing.text(x + 5, last, kind)
    return drawing


def draw_panel(drawing: Drawing, left: float, wide: float, dtype: str, cells: list[dict[str, Any]]) -> None:
    """Draw the results in one dtype: a row for each backend, the share of the allowed error along x, and a line at the limit."""
    bottom = TOP + ROW * len(cells)

    def place(share: float) -> float:
        return left + wide * (share + 0.04) / 1.18

    drawing.text(left + wide / 2, TOP / 2, dtype, "middle")
    drawing.line(place(1), TOP, place(1), bottom, width=1, dashed=True)
    drawing.line(left, bottom, left + wide, bottom, width=0.8)
    for tick in (0, 0.5, 1):
        drawing.line(place(tick), bottom, place(tick), bottom + 3, width=0.8)
        drawing.text(place(tick), bottom + 9, f"{tick:g}", "middle")
    for row, cell in enumerate(cells):
        y = TOP + ROW * (row + 0.5)
        drawing.line(left, y, left + wide, y, width=0.15)
        if cell.get("broken"):
            drawing.mark("x", place(1.06), y, ORANGE, 5)
        if cell.get("worst") is not None and cell["worst"] <= 1:
            drawing.line(place(0), y, place(cell["worst"]), y, CLASSES[cell["class"]], 1.2)
            drawing.mark(MARKERS[cell["class"]], place(cell["worst"]), y, CLASSES[cell["class"]])


@cache
def read_entries(file: str) -> dict[str, Any]:
    entries: dict[str, Any] = json.loads((MEASURED / file).read_text())
    return entries


def read_cells(operation: str) -> Cells:
    entries = read_entries("gradients.json" if operation.endswith("_vjp") else "conformance.json")
    cells = {name: entry.get("cells", {}).get(operation, {}) for name, entry in entries.items()}
    return {name: by_dtype for name, by_dtype in cells.items() if any(by_dtype.values())}


def describe(operation: str, cells: Cells) -> str:
    tried = [(name, dtype, cell) for name, by_dtype in cells.items() for dtype, cell in by_dtype.items() if cell]
    conforming = [(name, dtype, cell) for name, dtype, cell in tried if not cell["broken"] and cell.get("worst") is not None]
    name, dtype, cell = max(conforming, key=lambda entry: entry[2]["worst"])
    failing = sum(bool(entry[2]["broken"]) for entry in tried)
    return (
        f"{operation}, {len(cells)} backends: among those that conform {name} uses most of the allowed error, {cell['worst']:.2f}"
        f" of it in {dtype}, class {cell['class']}; in {failing} of {len(tried)} dtypes some statement fails."
    )
