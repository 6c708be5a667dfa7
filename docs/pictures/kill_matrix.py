"""Draw which laws catch the deviations of which operation, from docs/measured/kill_matrix.json."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from palette import BLUE, GREY

from spec_tests.trials.collection import invariants
from spec_tests.trials.trial import GENERAL

MATRIX = Path(__file__).parent.parent / "measured" / "kill_matrix.json"
OWN = "its own laws"
CHARACTER_INCHES = 0.065  # width of a character of a name, in the picture's font
COMMON = {test.invariant.id.partition(".")[2] for test in invariants() if test.invariant.operations[0] in GENERAL}


def draw(figure: Figure, operation: str = "") -> str:
    return draw_operation(figure, operation) if operation else draw_all(figure)


def draw_all(figure: Figure) -> str:
    """Draw all operations and the laws that hold of every operation; laws that catch nothing are left out."""
    caught = read_matrix()
    catching = {law for deviations in caught.values() for laws in deviations.values() for law in laws}
    columns = [OWN, *sorted(COMMON & catching, key=lambda law: (law != "reference", law))]
    names = sorted(caught, key=lambda name: (name.endswith("_vjp"), name))
    shares = np.array([[share_caught(caught[name], law) for law in columns] for name in names])
    figure.set_size_inches(7.2, 1.5 + 0.17 * len(names))
    draw_tiles(figure.subplots(), shares, columns, [f"{name}  {len(caught[name])}" for name in names])
    by_reference = np.average(shares[:, 1], weights=[len(caught[name]) for name in names])
    return (
        f"A table of {len(names)} operations and {len(columns)} statements, shaded by the part of the operation's deviations"
        f" that the statement catches. The comparison with the oracle catches {by_reference:.0%} of all."
    )


def draw_operation(figure: Figure, operation: str) -> str:
    """Draw the deviations of one operation and the laws that catch them."""
    caught = read_matrix()[operation]
    count = {law: sum(law in laws for laws in caught.values()) for laws in caught.values() for law in laws}
    columns = sorted(count, key=lambda law: (-count[law], law))
    rows = sorted(caught, key=lambda name: (-len(caught[name]), name))
    beside, above = (0.6 + CHARACTER_INCHES * max(map(len, names)) for names in (rows, columns))
    figure.set_size_inches(min(beside + 0.17 * len(columns), 9), above + 0.15 * len(rows))
    draw_tiles(figure.subplots(), np.array([[float(law in caught[name]) for law in columns] for name in rows]), columns, rows)
    single = sum(len(laws) == 1 for laws in caught.values())
    return (
        f"{len(rows)} deviations of {operation} and the {len(columns)} statements that catch them;"
        f" {columns[0]} catches most; {single} are caught by one statement only."
    )


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


def draw_tiles(axes: Any, shares: np.ndarray, columns: list[str], rows: list[str]) -> None:
    """Draw a square for each share above zero, darker for larger ones."""
    height, width = shares.shape
    y, x = np.nonzero(shares)
    shades = [to_rgba(BLUE, 0.25 + 0.75 * part) for part in shares[y, x]]
    axes.hlines(range(height + 1), 0, width, color=GREY, alpha=0.25, linewidth=0.4)
    axes.vlines(range(width + 1), 0, height, color=GREY, alpha=0.25, linewidth=0.4)
    axes.scatter(x + 0.5, y + 0.5, s=75, marker="s", linewidths=0, color=shades)
    axes.set_xticks(np.arange(width) + 0.5, columns, rotation=90)
    axes.set_yticks(np.arange(height) + 0.5, rows)
    axes.tick_params(length=0, labelsize=8, labeltop=True, labelbottom=False)
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.spines[:].set_visible(False)
