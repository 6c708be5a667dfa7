"""Draw which laws catch the deviations of which operation, from docs/measured/kill_matrix.json."""

import json
from collections import defaultdict
from functools import cache
from pathlib import Path

import numpy as np
from drawing import CHARACTER, Drawing
from palette import BLUE

from spec_tests.trials.collection import invariants
from spec_tests.trials.trial import GENERAL

MATRIX = Path(__file__).parent.parent / "measured" / "kill_matrix.json"
OWN = "its own laws"
CELL, ROW, TILE, MARGIN = 12.2, 10.8, 8.6, 4.0  # points: a column, a row, the side of a square, and around
WIDEST = 648.0  # points, beyond which columns are narrower
COMMON = {test.invariant.id.partition(".")[2] for test in invariants() if test.invariant.operations[0] in GENERAL}


def write(operation: str = "") -> Drawing:
    return write_operation(operation) if operation else write_all()


def write_all() -> Drawing:
    """Draw all operations and the laws that hold of every operation; laws that catch nothing are left out."""
    caught = read_matrix()
    catching = {law for deviations in caught.values() for laws in deviations.values() for law in laws}
    columns = [OWN, *sorted(COMMON & catching, key=lambda law: (law != "reference", law))]
    names = sorted(caught, key=lambda name: (name.endswith("_vjp"), name))
    shares = np.array([[share_caught(caught[name], law) for law in columns] for name in names])
    by_reference = np.average(shares[:, 1], weights=[len(caught[name]) for name in names])
    drawing = draw_tiles(shares, columns, [f"{name}  {len(caught[name])}" for name in names])
    drawing.description = (
        f"A table of {len(names)} operations and {len(columns)} statements, shaded by the part of the operation's deviations"
        f" that the statement catches. The comparison with the oracle catches {by_reference:.0%} of all."
    )
    return drawing


def write_operation(operation: str) -> Drawing:
    """Draw the deviations of one operation and the laws that catch them."""
    caught = read_matrix()[operation]
    count = {law: sum(law in laws for laws in caught.values()) for laws in caught.values() for law in laws}
    columns = sorted(count, key=lambda law: (-count[law], law))
    rows = sorted(caught, key=lambda name: (-len(caught[name]), name))
    drawing = draw_tiles(np.array([[float(law in caught[name]) for law in columns] for name in rows]), columns, rows)
    single = sum(len(laws) == 1 for laws in caught.values())
    drawing.description = (
        f"{len(rows)} deviations of {operation} and the {len(columns)} statements that catch them;"
        f" {columns[0]} catches most; {single} are caught by one statement only."
    )
    return drawing


@cache
def read_matrix() -> dict[str, dict[str, set[str]]]:
    """Return the laws that catch each deviation, by operation and deviation. Names have no operation if it is the same."""
    found: dict[str, dict[str, set[str]]] = defaultdict(dict)
    for row in json.loads(MATRIX.read_text()):
        operation, _, name = row["id"].partition("/")
        found[operation][name] = {law.removeprefix(f"{operation}.") for law in (*row["caught"], *row["levels"])}
    return found


def share_caught(caught: dict[str, set[str]], law: str) -> float:
    """Return the share of an operation's deviations that a law catches, or for OWN that any of its own laws catches."""
    return float(np.mean([bool(laws - COMMON) if law == OWN else law in laws for laws in caught.values()]))


def draw_tiles(shares: np.ndarray, columns: list[str], rows: list[str]) -> Drawing:
    """Draw a square for each share above zero, darker for larger ones."""
    height, width = shares.shape
    left, top = (MARGIN + CHARACTER * max(map(len, names)) for names in (rows, columns))
    cell = min(CELL, (WIDEST - left) / width)
    drawing = Drawing(left + cell * width + MARGIN, top + ROW * height + MARGIN)
    for row, name in enumerate((*rows, "")):
        drawing.line(left, top + ROW * row, left + cell * width, top + ROW * row, width=0.15)
        drawing.text(left - 3, top + ROW * (row + 0.5), name, "end") if name else None
    for column, name in enumerate((*columns, "")):
        drawing.line(left + cell * column, top, left + cell * column, top + ROW * height, width=0.15)
        drawing.text(left + cell * (column + 0.5), top - 3, name, rotated=True) if name else None
    for y, x in np.argwhere(shares):
        place = left + cell * (x + 0.5), top + ROW * (y + 0.5)
        drawing.mark("s", *place, BLUE, min(TILE, cell - 1), float(0.25 + 0.75 * shares[y, x]))
    return drawing
